/**
 * Calls `work` for every entry, at most `limit` at a time, and returns the results in the order of the entries. After
 * the first failure, which is thrown, no further entry is started.
 */
export async function concurrently<In, Out>(
  entries: readonly In[],
  limit: number,
  work: (entry: In) => Promise<Out>,
): Promise<Out[]> {
  const results: Out[] = new Array(entries.length);
  const remaining = entries.entries();
  let failed = false;
  const worker = async (): Promise<void> => {
    for (const [index, entry] of remaining) {
      results[index] = await work(entry).catch((error: unknown) => {
        failed = true;
        throw error;
      });
      if (failed) return;
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, entries.length) }, worker));
  return results;
}
