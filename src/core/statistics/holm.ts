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
