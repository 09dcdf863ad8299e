import { describe, expect, it } from 'vitest';
import { alphaOfClasses, alphaOfNumbers } from '../../../src/core/statistics/krippendorff.ts';

/** The values of four observers for twelve units: Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", section C. */
const fourObservers = [
  [1, 1, 1],
  [2, 2, 3, 2],
  [3, 3, 3, 3],
  [3, 3, 3, 3],
  [2, 2, 2, 2],
  [1, 2, 3, 4],
  [4, 4, 4, 4],
  [1, 1, 2, 1],
  [2, 2, 2, 2],
  [5, 5, 5],
  [1, 1],
  [3],
];
/** Two observers of ten units, in the same paper, section A. */
const twoObservers = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0].map((first, unit) => [
  first,
  [1, 1, 1, 0, 0, 1, 0, 0, 0, 0][unit]!,
]);
const asClasses = (items: number[][]): string[][] => items.map((values) => values.map(String));

describe("Krippendorff's alpha", () => {
  it('matches the published values: 0.743 for classes and 0.849 for numbers', () => {
    expect(alphaOfClasses(asClasses(fourObservers))).toBeCloseTo(0.743, 3);
    expect(alphaOfNumbers(fourObservers)).toBeCloseTo(0.849, 3);
  });

  it('matches the published value of 0.095 for two observers and two classes', () => {
    expect(alphaOfClasses(asClasses(twoObservers))).toBeCloseTo(0.095, 3);
  });

  it('is undefined where only one value was used, or no item has two values', () => {
    expect(
      alphaOfClasses([
        ['a', 'a'],
        ['a', 'a'],
      ]),
    ).toBeUndefined();
    expect(
      alphaOfNumbers([
        [0.1, 0.1],
        [0.1, 0.1, 0.1],
      ]),
    ).toBeUndefined();
    expect([alphaOfClasses([['a'], ['b']]), alphaOfNumbers([])]).toEqual([undefined, undefined]);
  });
});
