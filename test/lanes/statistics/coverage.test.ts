import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  correctedRate,
  type Interval,
  meanInterval,
  pairedRateInterval,
  type RowTotal,
  rateInterval,
} from '../../../src/core/statistics/intervals.ts';
import { seededRandom } from '../../../src/core/statistics/seeded-random.ts';

/** The simulations of one figure: draws rows, and returns whether the interval from them has the true value in it. */
type Simulation = (random: () => number) => boolean;

/** Returns the percentage of simulations whose interval has the true value in it. */
function coverage(simulate: Simulation, times: number): number {
  const random = seededRandom(2026);
  let held = 0;
  for (let time = 0; time < times; time += 1) held += simulate(random) ? 1 : 0;
  return (100 * held) / times;
}

const holds = (interval: Interval | undefined, value: number): boolean =>
  interval !== undefined && interval[0] <= value && value <= interval[1];

/** A rate, of rows with one trial each. */
const rate =
  (n: number, passes: number): Simulation =>
  (random) => {
    const rows = Array.from({ length: n }, () => ({ sum: random() < passes ? 1 : 0, count: 1 }));
    return holds(rateInterval(rows), passes);
  };

/** A rate of five trials a row: each row has its own probability, from 0 to twice the mean or from the other end to 1. */
const rateOfTrials =
  (n: number, passes: number): Simulation =>
  (random) => {
    const reach = Math.min(passes, 1 - passes);
    const rows = Array.from({ length: n }, () => {
      const ofRow = passes + reach * (2 * random() - 1);
      return { sum: [0, 1, 2, 3, 4].filter(() => random() < ofRow).length, count: 5 };
    });
    return holds(rateInterval(rows), passes);
  };

/** The difference of two rates on the same rows, of which a third has the same outcome in both runs anyway. */
const difference =
  (n: number, passes: number): Simulation =>
  (random) => {
    let [better, worse] = [0, 0];
    for (let row = 0; row < n; row += 1) {
      const before = random() < passes;
      const after = random() < 1 / 3 ? before : random() < 0.5;
      if (after && !before) better += 1;
      if (before && !after) worse += 1;
    }
    return holds(pairedRateInterval(better, worse, n), (2 / 3) * (0.5 - passes));
  };

/** The mean of scores of 0, 0.5 and 1. */
const mean =
  (n: number, expected: number): Simulation =>
  (random) => {
    const scores = (): RowTotal => ({ sum: (Number(random() < expected) + Number(random() < expected)) / 2, count: 1 });
    return holds(meanInterval(Array.from({ length: n }, scores)), expected);
  };

/** The rate that people would give, of `n` cases judged by a judge whose errors were measured on `judged` others. */
const corrected =
  (n: number, judged: number, expected: number, [sensitivity, specificity]: readonly [number, number]): Simulation =>
  (random) => {
    const drawn = (times: number, share: number): number => {
      let count = 0;
      for (let draw = 0; draw < times; draw += 1) count += random() < share ? 1 : 0;
      return count;
    };
    const positives = drawn(judged, expected);
    const negatives = judged - positives;
    const passed = drawn(n, expected * sensitivity + (1 - expected) * (1 - specificity));
    const errors = {
      sensitivity: drawn(positives, sensitivity) / positives,
      positives,
      specificity: drawn(negatives, specificity) / negatives,
      negatives,
    };
    return holds(correctedRate(passed / n, n, errors)?.interval, expected);
  };

const rates = [0.2, 0.35, 0.5, 0.65, 0.8];
const simulations = [rate, rateOfTrials, difference, mean];

describe('intervals of 95 %', () => {
  it('hold the rate corrected by the errors of a planted judge in 93.5 to 96.5 of 100 simulations', () => {
    const judges = [
      [0.9, 0.85],
      [0.8, 0.9],
      [0.85, 0.7],
    ] as const;
    const found = rates.flatMap((value) =>
      judges.map((errors) => coverage(corrected(300, 200, value, errors), 10_000)),
    );
    expect(Math.min(...found)).toBeGreaterThanOrEqual(93.5);
    expect(Math.max(...found)).toBeLessThanOrEqual(96.5);
  });

  it.each([
    ['a rate', rate],
    ['a rate of five trials a row', rateOfTrials],
    ['a difference of two rates', difference],
  ])('hold %s in 94 to 96 of 100 simulations, for rates of 0.2 to 0.8 and 200 and 500 rows', (_, simulation) => {
    const found = rates.flatMap((value) => [200, 500].map((n) => coverage(simulation(n, value), 10_000)));
    expect(Math.min(...found)).toBeGreaterThanOrEqual(94);
    expect(Math.max(...found)).toBeLessThanOrEqual(96);
  });

  it('hold a mean in 94 to 96 of 100 simulations, for scores with a mean of 0.2 and 200 rows', () => {
    const found = coverage(mean(200, 0.2), 10_000);
    expect(found).toBeGreaterThanOrEqual(94);
    expect(found).toBeLessThanOrEqual(96);
  });

  it.each([10, 20, 50, 100])('hold for %i rows as often as docs/evaluations.md says', (n) => {
    const cells = simulations.map((simulation) => {
      const found = rates.map((value) => coverage(simulation(n, value), 1000));
      return `${Math.round(Math.min(...found))} to ${Math.round(Math.max(...found))} %`;
    });
    const page = readFileSync(new URL('../../../docs/evaluations.md', import.meta.url), 'utf8');
    expect(page.split('\n')).toContain(`| ${n} | ${cells.join(' | ')} |`);
  });
});
