/**
 * Returns a generator of numbers from 0 up to but not including 1. The same seed, a whole number, gives the same numbers in
 * every version of heddle: samples that were drawn with it can be drawn again. It is mulberry32 by Tommy Ettinger.
 */
export function seededRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns `count` different places out of `total`, in ascending order, each set of places as likely as any other. */
export function drawPlaces(total: number, count: number, seed: number): number[] {
  const random = seededRandom(seed);
  const drawn = new Set<number>();
  // Floyd's algorithm: as many draws as places, and no list of all places.
  for (let last = total - Math.min(count, total); last < total; last += 1) {
    const place = Math.floor(random() * (last + 1));
    drawn.add(drawn.has(place) ? last : place);
  }
  return [...drawn].sort((a, b) => a - b);
}
