/** Returns the probability that at least one of `k` trials passes, drawn from `n` trials of which `passed` did: pass@k. */
export function passAtK(n: number, passed: number, k: number): number {
  return 1 - passAllK(n, n - passed, k);
}

/** Returns the probability that all of `k` trials pass, drawn from `n` trials of which `passed` did: pass^k. */
export function passAllK(n: number, passed: number, k: number): number {
  let probability = 1;
  for (let drawn = 0; drawn < k; drawn += 1) probability *= Math.max(0, passed - drawn) / (n - drawn);
  return probability;
}
