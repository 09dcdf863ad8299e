import { seededRandom } from './seeded-random.ts';

/** The bounds between which a figure lies with a confidence of 95 %. */
export type Interval = [low: number, high: number];

/** The sum of the values of one row, and their number: those of its trials. Rows are independent, trials of one row are not. */
export interface RowTotal {
  sum: number;
  count: number;
}

/** Deviation, in standard errors, that chance exceeds in 5 % of all cases, to both sides together. */
const z95 = 1.959963984540054;
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
  const { mean, count, variance } = ratioOf(rows);
  const independent = variance > 0 ? Math.min(count, (mean * (1 - mean)) / variance) : rows.length;
  return wilsonInterval(mean, independent);
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
  const random = seededRandom(bootstrapSeed);
  const means = new Float64Array(resamples);
  for (let sample = 0; sample < resamples; sample += 1) {
    let [sum, count] = [0, 0];
    for (let draw = 0; draw < sums.length; draw += 1) {
      const place = Math.floor(random() * sums.length);
      sum += sums[place]!;
      count += counts[place]!;
    }
    means[sample] = sum / count;
  }
  means.sort();
  return [means[boundPlace]!, means[resamples - 1 - boundPlace]!];
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
