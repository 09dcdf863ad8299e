/** Values of one `in (…)`: far below the engines' limits on parameters. */
const chunkSize = 500;

/** What a query finds for a list of values of any length; each value is asked for once. */
export async function inChunks<Row>(values: string[], find: (chunk: string[]) => Promise<Row[]>): Promise<Row[]> {
  const distinct = [...new Set(values)];
  const rows: Row[] = [];
  for (let start = 0; start < distinct.length; start += chunkSize) {
    rows.push(...(await find(distinct.slice(start, start + chunkSize))));
  }
  return rows;
}
