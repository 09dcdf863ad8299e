/** Returns the entries in lists of at most `size`, in their order. */
export function inBatches<Entry>(entries: readonly Entry[], size: number): Entry[][] {
  const batches: Entry[][] = [];
  for (let start = 0; start < entries.length; start += size) batches.push(entries.slice(start, start + size));
  return batches;
}
