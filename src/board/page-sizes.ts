/** Items of a queue, rows or runs that a View asks for at once. */
export const pageSize = 50;
/** Queues among which a person chooses. */
export const queuePageSize = 100;
/** Characters of a value in a closed row of an evaluation. */
export const closedRowChars = 200;
