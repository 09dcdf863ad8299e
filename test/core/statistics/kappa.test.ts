import { describe, expect, it } from 'vitest';
import { cohensKappa, weightedKappa } from '../../../src/core/statistics/kappa.ts';

/** Returns the pairs behind a confusion table, whose rows are the classes of the first annotator. */
const pairsOf = (table: number[][]): [number, number][] =>
  table.flatMap((row, first) =>
    row.flatMap((count, second) => Array.from({ length: count }, (): [number, number] => [first + 1, second + 1])),
  );
const classesOf = (table: number[][]) => pairsOf(table).map(([a, b]) => [String(a), String(b)] as const);

// The expected values are those of cohens_kappa in statsmodels 0.15.0, without weights and with wt='quadratic'.
const fleiss = [
  [75, 1, 4],
  [5, 4, 1],
  [0, 0, 10],
];
const neurologists = [
  [38, 5, 0, 1],
  [33, 11, 3, 0],
  [10, 14, 5, 6],
  [3, 7, 3, 10],
];

describe('kappa and its 95 % interval', () => {
  it.each([
    ['Fleiss 1981', fleiss, 0.6764705882, 0.5045759581, 0.8483652184],
    ['Landis and Koch 1977', neurologists, 0.20794246404, 0.1090517653, 0.3068331628],
  ])('match statsmodels: %s', (_, table, kappa, low, high) => {
    const found = cohensKappa(classesOf(table))!;
    expect(found.kappa).toBeCloseTo(kappa, 9);
    expect(found.interval![0]).toBeCloseTo(low, 6);
    expect(found.interval![1]).toBeCloseTo(high, 6);
  });

  it.each([
    ['Fleiss 1981', fleiss, 0.7553191489, 0.585376292, 0.9252620058],
    ['Landis and Koch 1977', neurologists, 0.5245764643, 0.4068706335, 0.6422822951],
  ])('match statsmodels with quadratic weights: %s', (_, table, kappa, low, high) => {
    const found = weightedKappa(pairsOf(table))!;
    expect(found.kappa).toBeCloseTo(kappa, 9);
    expect(found.interval![0]).toBeCloseTo(low, 6);
    expect(found.interval![1]).toBeCloseTo(high, 6);
  });

  it('has no interval for perfect agreement, which would have no width', () => {
    expect(
      cohensKappa(
        classesOf([
          [5, 0],
          [0, 5],
        ]),
      ),
    ).toEqual({ kappa: 1 });
    expect(
      weightedKappa([
        [1, 1],
        [2, 2],
        [3, 3],
      ]),
    ).toEqual({ kappa: 1 });
  });

  it('ends at 1 at most', () => {
    const almost = [
      ...Array.from({ length: 9 }, (_, n): [string, string] => [`${n % 2}`, `${n % 2}`]),
      ['0', '1'] as const,
    ];
    expect(cohensKappa(almost)!.interval![1]).toBe(1);
  });

  it('is undefined where both used the same number only', () => {
    expect(
      weightedKappa([
        [0.1, 0.1],
        [0.1, 0.1],
      ]),
    ).toBeUndefined();
    expect(weightedKappa([])).toBeUndefined();
  });
});
