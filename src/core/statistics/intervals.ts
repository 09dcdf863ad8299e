import { seededRandom } from './seeded-random.ts';

/** The bounds between which a figure lies with a confidence of 95 %. */
export type Interval = [low: number, high: number];

/** The sum of the values of one row, and their number: those of its trials. Rows are independent, trials of one row are not. */
export interface RowTotal {
  sum: number;
  count: number;
}

/** Deviation, in standard errors, that chance exceeds in 5 % of all cases, to both sides together. */
export const z95 = 1.959963984540054;
/** Deviation that chance exceeds in 20 % of all cases, to one side: a difference is to be noticed in the other 80 %. */
const z80 = 0.8416212335729143;

/** Samples of the bootstrap: the 50th value from each end is a bound. */
const resamples = 1999;
const boundPlace = 49;
/** Rows up to which the bootstrap is used, which needs about two million draws. Beyond, the normal distribution says the same. */
const maxBootstrapRows = 1000;
/** Any seed will do, but always the same: the same scores have the same interval. */
const bootstrapSeed = 1;

/**
 * Returns the Wilson score interval of a rate.
 * @param rate share from 0 to 1.
 * @param n number of independent outcomes, which need not be whole.
 */
export function wilsonInterval(rate: number, n: number): Interval {
  const weight = z95 ** 2 / n;
  const centre = (rate + weight / 2) / (1 + weight);
  const reach = (z95 / (1 + weight)) * Math.sqrt((rate * (1 - rate)) / n + weight / (4 * n));
  return [Math.max(0, centre - reach), Math.min(1, centre + reach)];
}

/**
 * Returns the interval of a rate: Wilson's, for as many independent outcomes as the trials are worth. Trials of rows that
 * always have the same outcome are worth one a row; if nothing else is known, that is assumed.
 * @param rows the number of passed trials of each row, and of all its trials; at least one row.
 */
export function rateInterval(rows: readonly RowTotal[]): Interval {
  return wilsonInterval(ratioOf(rows).mean, independentOutcomes(rows));
}

/** Returns as how many independent outcomes the trials of rows count, which need not be whole. */
export function independentOutcomes(rows: readonly RowTotal[]): number {
  const { mean, count, variance } = ratioOf(rows);
  return variance > 0 ? Math.min(count, (mean * (1 - mean)) / variance) : rows.length;
}

/** The error rates of a judge, with the numbers of cases by which they were measured. */
export interface JudgeErrors {
  /** Share of the right cases that the judge passes, from 0 to 1. */
  sensitivity: number;
  /** Number of right cases. */
  positives: number;
  /** Share of the wrong cases that the judge fails, from 0 to 1. */
  specificity: number;
  /** Number of wrong cases. */
  negatives: number;
}

/**
 * Returns the rate that people would have given where a judge passes a share of the cases: the estimate of Rogan and Gladen
 * (American Journal of Epidemiology 107, 1978), with the interval of Lang and Reiczigel (Preventive Veterinary Medicine 113, 2014),
 * which counts in that the errors of the judge were measured on few cases.
 * @param rate share that the judge passes, from 0 to 1.
 * @param n number of independent outcomes of the rate, which need not be whole.
 * @returns undefined for a judge that is no better than chance, or that was not measured on both kinds of cases.
 */
export function correctedRate(
  rate: number,
  n: number,
  { sensitivity, positives, specificity, negatives }: JudgeErrors,
): { rate: number; interval: Interval } | undefined {
  const excess = sensitivity + specificity - 1;
  const [right, wrong] = [positives + 2, negatives + 2];
  const [se, sp] = [(positives * sensitivity + 1) / right, (negatives * specificity + 1) / wrong];
  const range = se + sp - 1;
  if (positives === 0 || negatives === 0 || excess <= 0 || range <= 0) return undefined;
  const count = n + z95 ** 2;
  const passed = (n * rate + z95 ** 2 / 2) / count;
  const centre = (passed + sp - 1) / range;
  const [ofSe, ofSp] = [(se * (1 - se)) / right, (sp * (1 - sp)) / wrong];
  const shift = 2 * z95 ** 2 * (centre * ofSe - (1 - centre) * ofSp);
  const variance = (passed * (1 - passed)) / count + centre ** 2 * ofSe + (1 - centre) ** 2 * ofSp;
  const reach = (z95 * Math.sqrt(variance)) / range;
  const asShare = (value: number): number => Math.min(1, Math.max(0, value));
  return {
    rate: asShare((rate + specificity - 1) / excess),
    interval: [asShare(centre + shift - reach), asShare(centre + shift + reach)],
  };
}

/** Returns the difference of the means of two groups of at least two values each, the first less the second, with its interval. */
export function meanDifference(
  first: readonly number[],
  second: readonly number[],
): { difference: number; interval: Interval } {
  const [a, b] = [first, second].map((values) => {
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
    return { mean, variance: squares / (values.length - 1) / values.length };
  }) as [{ mean: number; variance: number }, { mean: number; variance: number }];
  const difference = a.mean - b.mean;
  const reach = z95 * Math.sqrt(a.variance + b.variance);
  return { difference, interval: [difference - reach, difference + reach] };
}

/**
 * Returns the interval of a mean: the percentile bootstrap, which draws rows with all their trials. It is undefined where all
 * rows have the same mean, because chance in drawing them then tells nothing.
 */
export function meanInterval(rows: readonly RowTotal[]): Interval | undefined {
  const { mean, variance } = ratioOf(rows);
  if (rows.every(({ sum, count }) => sum * rows[0]!.count === rows[0]!.sum * count)) return undefined;
  if (rows.length > maxBootstrapRows) {
    const reach = z95 * Math.sqrt((variance * rows.length) / (rows.length - 1));
    return [mean - reach, mean + reach];
  }
  const sums = Float64Array.from(rows, ({ sum }) => sum);
  const counts = Float64Array.from(rows, ({ count }) => count);
  const places = placesOfDraws(rows.length);
  const means = new Float64Array(resamples);
  for (let sample = 0, draw = 0; sample < resamples; sample += 1) {
    let [sum, count] = [0, 0];
    for (const end = draw + sums.length; draw < end; draw += 1) {
      const place = places[draw]!;
      sum += sums[place]!;
      count += counts[place]!;
    }
    means[sample] = sum / count;
  }
  means.sort();
  return [means[boundPlace]!, means[resamples - 1 - boundPlace]!];
}

let drawnPlaces = new Uint16Array();

/**
 * Returns the places of the rows that the resamples draw, one after another. They are kept for the next interval of as many rows,
 * since drawing takes most of the time.
 */
function placesOfDraws(rowCount: number): Uint16Array {
  if (drawnPlaces.length !== resamples * rowCount) {
    const random = seededRandom(bootstrapSeed);
    drawnPlaces = new Uint16Array(resamples * rowCount).map(() => Math.floor(random() * rowCount));
  }
  return drawnPlaces;
}

/** Returns the mean of all values of some rows, their number, and the variance of this mean over the choice of rows. */
function ratioOf(rows: readonly RowTotal[]): { mean: number; count: number; variance: number } {
  let [total, count] = [0, 0];
  for (const row of rows) {
    total += row.sum;
    count += row.count;
  }
  const mean = total / count;
  const squares = rows.reduce((squared, row) => squared + (row.sum - mean * row.count) ** 2, 0);
  return { mean, count, variance: squares / count ** 2 };
}

/**
 * Returns the interval of the difference of two rates on the same rows: Tango's score interval (Statistics in Medicine 17, 1998).
 * @param better number of rows that passed only the second time.
 * @param worse number of rows that passed only the first time.
 * @param n number of all rows, at least one.
 */
export function pairedRateInterval(better: number, worse: number, n: number): Interval {
  const difference = (better - worse) / n;
  /** Returns by how many standard errors the difference that was found is above a supposed one. */
  const deviation = (supposed: number): number => {
    const b = (2 * n - better + worse) * supposed - better - worse;
    const c = -worse * supposed * (1 - supposed);
    const onlyFirst = (Math.sqrt(Math.max(0, b * b - 8 * n * c)) - b) / (4 * n);
    const variance = n * (2 * onlyFirst + supposed * (1 - supposed));
    const excess = better - worse - n * supposed;
    return variance > 0 ? excess / Math.sqrt(variance) : Math.sign(excess) * Number.POSITIVE_INFINITY || 0;
  };
  return [
    crossing((supposed) => deviation(supposed) > z95, -1, difference),
    crossing((supposed) => deviation(supposed) >= -z95, difference, 1),
  ];
}

/** Returns where a condition that holds at the low end ends to hold, by halving; the high end if it always holds. */
function crossing(holds: (value: number) => boolean, low: number, high: number): number {
  if (holds(high)) return high;
  let [below, above] = [low, high];
  for (let step = 0; step < 50; step += 1) {
    const middle = (below + above) / 2;
    if (holds(middle)) below = middle;
    else above = middle;
  }
  return below;
}

/**
 * Returns the smallest difference of two means on the same rows that a comparison notices in 80 of 100 cases.
 * @param deviation standard deviation of the differences of the rows.
 * @param n number of rows.
 */
export function detectableDifference(deviation: number, n: number): number {
  return ((z95 + z80) * deviation) / Math.sqrt(n);
}
