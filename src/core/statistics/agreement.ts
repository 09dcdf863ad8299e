import { countEach } from './count-each.ts';
import { type ClassPair, cohensKappa, type Kappa, weightedKappa } from './kappa.ts';
import { rounded } from './rounded.ts';

/** The agreement of two annotators on some items, as results show it. */
export interface AgreementFigures extends Pick<ConfusionTable, 'classes'> {
  /** Percentage of the items on which they agree, to one digit. */
  percent: number;
  /** Cohen's kappa, to three digits; absent where it is undefined. */
  kappa?: number;
  /** The bounds of its 95 % interval, to three digits. */
  kappa_interval?: [number, number];
  /** The reason why kappa is undefined. */
  no_kappa?: string;
  /** The counts of the confusion table. */
  confusion: number[][];
  /** Number of classes that are not in the table, if there are any. */
  other_classes?: number;
}

/**
 * Returns the figures of the agreement on at least one item.
 * @param maxClasses maximum number of classes in the confusion table.
 * @param noKappa the reason to give where kappa is undefined.
 */
export function agreementFigures(pairs: readonly ClassPair[], maxClasses: number, noKappa: string): AgreementFigures {
  const found = cohensKappa(pairs);
  const agreed = pairs.filter(([first, second]) => first === second);
  const { classes, counts, otherClasses } = confusionTable(pairs, maxClasses);
  return {
    percent: rounded((100 * agreed.length) / pairs.length, 1),
    ...(found ? roundedKappa(found) : { no_kappa: pairs.length < 2 ? 'one item is too few' : noKappa }),
    classes,
    confusion: counts,
    ...(otherClasses > 0 && { other_classes: otherClasses }),
  };
}

/** Returns a kappa and its interval to three digits. */
export function roundedKappa({ kappa, interval }: Kappa): Pick<AgreementFigures, 'kappa' | 'kappa_interval'> {
  const [low, high] = interval ?? [];
  return {
    kappa: rounded(kappa, 3),
    ...(low !== undefined && high !== undefined && { kappa_interval: [rounded(low, 3), rounded(high, 3)] }),
  };
}

/** Cohen's kappa of numbers, weighted by squared difference, with its interval; absent where it is undefined. */
export interface WeightedFigures {
  quadratic_weighted_kappa?: number | undefined;
  quadratic_weighted_kappa_interval?: [number, number] | undefined;
}

/** Returns the weighted kappa of pairs of numbers, as results show it. */
export function weightedFigures(pairs: readonly (readonly [number, number])[]): WeightedFigures {
  const found = weightedKappa(pairs);
  if (!found) return {};
  const { kappa, kappa_interval } = roundedKappa(found);
  return {
    quadratic_weighted_kappa: kappa,
    ...(kappa_interval && { quadratic_weighted_kappa_interval: kappa_interval }),
  };
}

/** Counts of each pair of classes: rows are the first annotator's classes, columns the second's. */
export interface ConfusionTable {
  /** The classes that either annotator used: numbers in their order, anything else with the most used first. */
  classes: string[];
  counts: number[][];
  /** Number of classes that were used less and are not in the table. */
  otherClasses: number;
}

/** Builds the confusion table of the `maxClasses` most used classes. */
export function confusionTable(pairs: readonly ClassPair[], maxClasses: number): ConfusionTable {
  const uses = [...countEach(pairs.flat())].sort(([a, uses], [b, others]) => others - uses || (a < b ? -1 : 1));
  const classes = uses.slice(0, maxClasses).map(([name]) => name);
  if (classes.every((name) => Number.isFinite(Number(name)))) classes.sort((a, b) => Number(a) - Number(b));
  const places = new Map(classes.map((name, place) => [name, place]));
  const counts = classes.map(() => classes.map(() => 0));
  for (const [first, second] of pairs) {
    const [row, column] = [places.get(first), places.get(second)];
    if (row !== undefined && column !== undefined) counts[row]![column]! += 1;
  }
  return { classes, counts, otherClasses: uses.length - classes.length };
}
