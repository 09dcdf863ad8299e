// The request that every peer sends for a call. All use undici, loaded by the first call, so they differ in the server and not
// in the HTTP client; tutorials use fetch, which costs several times as much.

let pool;

/** Requests one page of a queue. */
export async function queryQueueItems({ queue_id, ...query }) {
  if (!pool) {
    // The default export works bundled and unbundled.
    const { default: undici } = await import('undici');
    pool = new undici.Pool(process.env.STUB_URL, { connections: 32 });
  }
  const { body } = await pool.request({
    method: 'POST',
    path: `/annotation_queues/${queue_id}/items/query`,
    headers: { 'content-type': 'application/json', authorization: 'Basic YTpi' },
    body: JSON.stringify(query),
  });
  return JSON.parse(await body.text());
}
