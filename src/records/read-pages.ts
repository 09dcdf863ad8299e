/** Rows of one request; 5,000 rows of the usual size are far below the client's limit for a response. */
const pageSize = 5000;

/** Reads every page of a query, or as many as have `atMost` rows. */
export async function* readPages<Row>(
  read: (page: { limit: number; offset: number }) => Promise<Row[]>,
  atMost = Infinity,
): AsyncGenerator<Row[]> {
  for (let offset = 0; offset < atMost; offset += pageSize) {
    const limit = Math.min(pageSize, atMost - offset);
    const rows = await read({ limit, offset });
    yield rows;
    if (rows.length < limit) return;
  }
}
