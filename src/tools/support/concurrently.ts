/**
 * Runs `work` for every entry, at most `bound` at a time, and gives the results in the order of the entries. The first
 * failure ends it: no further entry is begun.
 */
export async function concurrently<In, Out>(
  entries: readonly In[],
  bound: number,
  work: (entry: In) => Promise<Out>,
): Promise<Out[]> {
  const results: Out[] = new Array(entries.length);
  let next = 0;
  let failed = false;
  const lane = async (): Promise<void> => {
    while (next < entries.length && !failed) {
      const index = next++;
      try {
        results[index] = await work(entries[index]!);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(bound, entries.length) }, lane));
  return results;
}
