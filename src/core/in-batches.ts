/** Returns the entries in lists of at most `size`, in their order. */
export function inBatches<Entry>(entries: readonly Entry[], size: number): Entry[][] {
  const batches: Entry[][] = [];
  for (let start = 0; start < entries.length; start += size) batches.push(entries.slice(start, start + size));
  return batches;
}

/** Yields the entries in lists whose sizes together are at most `maxSize`, in their order; a larger entry is a list of its own. */
export function* inBatchesBySize<Entry>(
  entries: Iterable<Entry>,
  maxSize: number,
  sizeOf: (entry: Entry) => number,
): Generator<Entry[]> {
  let batch: Entry[] = [];
  let total = 0;
  for (const entry of entries) {
    const size = sizeOf(entry);
    if (batch.length > 0 && total + size > maxSize) {
      yield batch;
      batch = [];
      total = 0;
    }
    batch.push(entry);
    total += size;
  }
  if (batch.length > 0) yield batch;
}
