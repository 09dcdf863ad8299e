/** Rows of one request; 5,000 rows of the usual size are far below the client's limit for a response. */
const pageSize = 5000;

/** Reads every page of a query. */
export async function* readPages<Row>(
  read: (page: { limit: number; offset: number }) => Promise<Row[]>,
): AsyncGenerator<Row[]> {
  for (let offset = 0; ; offset += pageSize) {
    const rows = await read({ limit: pageSize, offset });
    yield rows;
    if (rows.length < pageSize) return;
  }
}
