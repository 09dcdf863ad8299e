/** Items of a queue, rows or runs that a View asks for at once. */
export const pageSize = 50;
/** Items that the board claims at once: few, so that several people who begin together all get some. */
export const claimedAtOnce = 20;
/** Minutes for which the board claims the items that it shows, from the last thing that the person did. */
export const claimMinutes = 15;
/** Queues among which a person chooses. */
export const queuePageSize = 100;
/** Characters of a value in a closed row of an evaluation. */
export const closedRowChars = 200;
