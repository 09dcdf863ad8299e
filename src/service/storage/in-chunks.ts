/** Values in one `in (…)` list, far below the database engines' limits on parameters. */
const chunkSize = 500;

/** Runs a query for a list of values of any length, in chunks and without duplicates, and returns all rows. */
export async function inChunks<Row>(
  values: readonly string[],
  query: (chunk: string[]) => Promise<Row[]>,
): Promise<Row[]> {
  const distinct = [...new Set(values)];
  const rows: Row[] = [];
  for (let start = 0; start < distinct.length; start += chunkSize) {
    rows.push(...(await query(distinct.slice(start, start + chunkSize))));
  }
  return rows;
}
