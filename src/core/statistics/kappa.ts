import { countEach } from './count-each.ts';
import { z95 } from './intervals.ts';

/** The classes that two annotators gave to one item: the first annotator's, then the second's. */
export type ClassPair = readonly [string, string];

/** A coefficient of the agreement of two annotators beyond chance. */
export interface Kappa {
  kappa: number;
  /** The bounds of its 95 % interval; absent where no two pairs differ in what they say about it. */
  interval?: [number, number];
}

/** How far the two values of an item are apart, and how far each is from all values of the other annotator together. */
interface Distances {
  observed: number;
  first: number;
  second: number;
}

/**
 * Returns Cohen's unweighted kappa: the agreement beyond chance, as a share of what is possible beyond chance. It is
 * undefined for fewer than two items, and when both annotators used one and the same class only, where chance alone explains it.
 */
export function cohensKappa(pairs: readonly ClassPair[]): Kappa | undefined {
  const [first, second] = [countEach(pairs.map(([a]) => a)), countEach(pairs.map(([, b]) => b))];
  return kappaOf(
    pairs.map(([a, b]) => ({
      observed: a === b ? 0 : 1,
      first: pairs.length - (second.get(a) ?? 0),
      second: pairs.length - (first.get(b) ?? 0),
    })),
  );
}

/** Returns Cohen's kappa for numbers, weighted by the square of their difference; undefined as {@link cohensKappa} is. */
export function weightedKappa(pairs: readonly (readonly [number, number])[]): Kappa | undefined {
  // Differences to one of the values are exact where all values are the same.
  const [[origin] = [0]] = pairs;
  const shifted = pairs.map(([a, b]) => [a - origin, b - origin] as const);
  const [first, second] = [sumsOf(shifted.map(([a]) => a)), sumsOf(shifted.map(([, b]) => b))];
  return kappaOf(
    shifted.map(([a, b]) => ({
      observed: (a - b) ** 2,
      first: pairs.length * a ** 2 - 2 * a * second.sum + second.ofSquares,
      second: pairs.length * b ** 2 - 2 * b * first.sum + first.ofSquares,
    })),
  );
}

/** Returns the sum of numbers and that of their squares. */
export function sumsOf(numbers: readonly number[]): { sum: number; ofSquares: number } {
  let [sum, ofSquares] = [0, 0];
  for (const number of numbers) {
    sum += number;
    ofSquares += number ** 2;
  }
  return { sum, ofSquares };
}

/** Calculates kappa, with the standard error of Fleiss, Cohen and Everitt (1969) for large samples. */
function kappaOf(distances: readonly Distances[]): Kappa | undefined {
  const n = distances.length;
  const observed = distances.reduce((sum, each) => sum + each.observed, 0);
  const byChance = distances.reduce((sum, { first }) => sum + first, 0);
  // One item says nothing about chance.
  if (byChance === 0 || n < 2) return undefined;
  const kappa = 1 - (n * observed) / byChance;
  const squares = distances.reduce((sum, each) => {
    return sum + (((each.first + each.second) / n) * (1 - kappa) - each.observed) ** 2;
  }, 0);
  const variance = Math.max(0, squares / n - (observed / n) ** 2) / (n * (byChance / n ** 2) ** 2);
  if (variance < 1e-12) return { kappa };
  const half = z95 * Math.sqrt(variance);
  return { kappa, interval: [Math.max(-1, kappa - half), Math.min(1, kappa + half)] };
}
