import { describe, expect, it } from 'vitest';
import { holmCorrected, signTest } from '../../../src/core/statistics/sign-test.ts';

describe('signTest', () => {
  it.each([
    ['hind and foreleg of ten deer (Zar 1999)', 8, 2, 0.109375],
    ['nine shoppers who prefer one of two products', 8, 1, 0.0390625],
    ['births in London, 1629 to 1710 (Arbuthnot 1710), both sides', 82, 0, 4.135903062765138e-25],
    ['60 heads of 100 throws of a coin', 60, 40, 0.0568879336],
    ['59 heads of 100 throws of a coin', 59, 41, 0.0886260801],
    ['five of five, which is the least that a sign test can tell', 5, 0, 0.0625],
    ['six of six', 6, 0, 0.03125],
  ])('matches the published value: %s', (_, better, worse, p) => {
    expect(signTest(better, worse) / p).toBeCloseTo(1, 6);
    expect(signTest(worse, better)).toBe(signTest(better, worse));
  });

  it('is 1 without a difference, and when as many rows are better as worse', () => {
    expect([signTest(0, 0), signTest(1, 1), signTest(500, 500), signTest(1, 2)]).toEqual([1, 1, 1, 1]);
  });

  // Computed with fractions of whole numbers.
  it.each([
    [5050, 4950, 0.322174199795312],
    [10_300, 9700, 2.2766981381795824e-5],
    [682, 243, 7.087290775071164e-49],
  ])('is exact where binomial coefficients overflow: %i and %i', (better, worse, p) => {
    expect(signTest(better, worse) / p).toBeCloseTo(1, 8);
  });

  it('is 0 where the probability is too small for a number', () => {
    expect(signTest(100_000, 0)).toBe(0);
  });
});

const toDigits = (values: readonly number[]): number[] => values.map((value) => Number(value.toFixed(6)));

describe('holmCorrected', () => {
  // R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")
  it('matches R, and keeps the order of the tests', () => {
    expect(toDigits(holmCorrected([0.01, 0.04, 0.03, 0.005]))).toEqual([0.03, 0.06, 0.06, 0.02]);
  });

  it('leaves a single p-value alone, and none is above 1', () => {
    expect(holmCorrected([0.03])).toEqual([0.03]);
    expect(holmCorrected([0.7, 0.6])).toEqual([1, 1]);
    expect(holmCorrected([])).toEqual([]);
  });
});
