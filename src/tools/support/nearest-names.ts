import { distance } from 'fastest-levenshtein';

/** Characters of a name that are compared: the time of a comparison grows with the product of both lengths. */
const maxComparedChars = 256;

/** Returns the `count` candidates with a name nearest to a wanted one, nearest first. Case does not count. */
export function nearestTo<Candidate>(
  wanted: string,
  candidates: readonly Candidate[],
  namesOf: (candidate: Candidate) => string[],
  count: number,
): Candidate[] {
  const compared = (name: string): string => name.slice(0, maxComparedChars).toLowerCase();
  const goal = compared(wanted);
  return candidates
    .map((candidate) => ({
      candidate,
      far: Math.min(...namesOf(candidate).map((name) => distance(compared(name), goal))),
    }))
    .sort((a, b) => a.far - b.far)
    .slice(0, count)
    .map(({ candidate }) => candidate);
}
