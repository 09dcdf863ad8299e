/**
 * Returns the exact two-sided p-value of the sign test: the probability that a fair coin deviates from one half at least as much
 * as `better` of `better + worse` does. Ties must not be counted. Without any difference it is 1.
 */
export function signTest(better: number, worse: number): number {
  const n = better + worse;
  const fewer = Math.min(better, worse);
  if (fewer * 2 === n) return 1;
  // Sums the terms of the tail relative to its largest, because 2 ** n overflows and the largest is the last.
  let logOfTerm = -n * Math.LN2;
  for (let i = 0; i < fewer; i += 1) logOfTerm += Math.log((n - i) / (i + 1));
  let [sum, ratio] = [1, 1];
  for (let i = fewer; i > 0 && ratio > Number.EPSILON / 8; i -= 1) {
    ratio *= i / (n - i + 1);
    sum += ratio;
  }
  return Math.min(1, 2 * Math.exp(logOfTerm) * sum);
}

/**
 * Returns p-values corrected by Holm's method, in their order: one that is below a limit then stays below it although several
 * tests were made.
 */
export function holmCorrected(pValues: readonly number[]): number[] {
  const ascending = [...pValues.keys()].sort((a, b) => pValues[a]! - pValues[b]!);
  const corrected = [...pValues];
  let largest = 0;
  for (const [rank, place] of ascending.entries()) {
    largest = Math.max(largest, Math.min(1, (pValues.length - rank) * pValues[place]!));
    corrected[place] = largest;
  }
  return corrected;
}
