import { describe, expect, it } from 'vitest';
import {
  correctedRate,
  detectableDifference,
  type Interval,
  meanDifference,
  meanInterval,
  pairedRateInterval,
  rateInterval,
  wilsonInterval,
} from '../../../src/core/statistics/intervals.ts';

/** Rounds the bounds of an interval to some digits. */
const toDigits = (interval: Interval | undefined, digits: number): number[] =>
  interval!.map((bound) => Number(bound.toFixed(digits)));

describe('wilsonInterval', () => {
  // Newcombe, Two-sided confidence intervals for the single proportion, Statistics in Medicine 17 (1998), table I, method 3.
  it.each([
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ])('matches the published bounds of %i out of %i', (passed, n, low, high) => {
    expect(toDigits(wilsonInterval(passed / n, n), 4)).toEqual([low, high]);
  });
});

describe('rateInterval', () => {
  const rowsOf = (...totals: [sum: number, count: number][]) => totals.map(([sum, count]) => ({ sum, count }));

  it('is the interval of Wilson where each row has one trial', () => {
    const rows = Array.from({ length: 29 }, (_, row) => ({ sum: row === 0 ? 1 : 0, count: 1 }));
    expect(toDigits(rateInterval(rows), 4)).toEqual([0.0061, 0.1718]);
  });

  it('counts trials that agree within each row as one, and independent ones as several', () => {
    const agreeing = Array.from({ length: 20 }, (_, row) => ({ sum: row < 10 ? 5 : 0, count: 5 }));
    expect(toDigits(rateInterval(agreeing), 4)).toEqual(toDigits(wilsonInterval(0.5, 20), 4));
    const alike = Array.from({ length: 20 }, () => ({ sum: 1, count: 2 }));
    expect(toDigits(rateInterval(alike), 4)).toEqual(toDigits(wilsonInterval(0.5, 20), 4));
    const opposed = rowsOf([2, 4], [2, 4], [2, 4], [1, 4], [3, 4]);
    expect(toDigits(rateInterval(opposed), 4)).toEqual(toDigits(wilsonInterval(0.5, 20), 4));
  });

  it('assumes that the trials of a row are worth one if all passed', () => {
    const rows = Array.from({ length: 20 }, () => ({ sum: 5, count: 5 }));
    expect(toDigits(rateInterval(rows), 4)).toEqual([0.8389, 1]);
  });
});

describe('pairedRateInterval', () => {
  // Tango's interval as published for these tables: Fagerland, Lydersen and Laake 2014; Chang and others 2024; Tang and others
  // 2010; Agresti and Min 2005. The R package ratesci computes the same.
  it.each([
    [1, 7, 21, 3, -0.517, -0.026],
    [25, 2, 102, 3, 0.139, 0.321],
    [3, 1, 14, 4, -0.167, 0.4327],
    [16, 8, 86, 3, -0.02, 0.207],
  ])('matches the published bounds of %i better and %i worse of %i', (better, worse, n, digits, low, high) => {
    expect(toDigits(pairedRateInterval(better, worse, n), digits)).toEqual([low, high]);
    expect(toDigits(pairedRateInterval(worse, better, n), digits)).toEqual([-high, -low]);
  });

  it('ends at 1 where every row got better, and is as wide to both sides where none changed', () => {
    // z² / (n + z²) and (n − z²) / (n + z²), which the equation is without changes, and without worse rows, for z = 1.959964.
    expect(toDigits(pairedRateInterval(0, 0, 10), 4)).toEqual([-0.2775, 0.2775]);
    expect(toDigits(pairedRateInterval(10, 0, 10), 4)).toEqual([0.4449, 1]);
  });
});

describe('meanInterval', () => {
  const ofRows = (values: readonly number[]) => values.map((sum) => ({ sum, count: 1 }));

  // The 2.5th and 97.5th percentiles of all 7⁷ samples, computed with numpy; scipy.stats.bootstrap draws 43.4 and 134.7.
  it('matches the bootstrap of the seven treated mice of Efron and Tibshirani (1993)', () => {
    const [low, high] = meanInterval(ofRows([94, 197, 16, 38, 99, 141, 23]))!;
    expect(Math.abs(low - 43.429)).toBeLessThan(3);
    expect(Math.abs(high - 134.429)).toBeLessThan(3);
  });

  it('is the same for the same rows, and draws rows with all their trials', () => {
    const rows = [1, 4, 2, 5, 3, 3, 4, 1].map((sum) => ({ sum, count: 1 }));
    expect(meanInterval(rows)).toEqual(meanInterval([...rows]));
    const threefold = rows.map(({ sum }) => ({ sum: 3 * sum, count: 3 }));
    expect(meanInterval(threefold)).toEqual(meanInterval(rows));
  });

  it('is undefined where all rows are alike', () => {
    expect(meanInterval(ofRows([5, 5, 5]))).toBeUndefined();
    expect(
      meanInterval([
        { sum: 2, count: 1 },
        { sum: 4, count: 2 },
      ]),
    ).toBeUndefined();
    expect(meanInterval(ofRows([5]))).toBeUndefined();
  });

  it('uses the normal distribution for more than 1000 rows', () => {
    const rows = ofRows(Array.from({ length: 2000 }, (_, row) => row % 2));
    // 0.5 ± 1.959964 · 0.5 / √1999
    expect(toDigits(meanInterval(rows), 4)).toEqual([0.4781, 0.5219]);
  });
});

describe('detectableDifference', () => {
  // statsmodels 0.14: NormalIndPower(ddof=0).solve_power(nobs1=n, power=0.8, alpha=0.05, ratio=0), times the deviation.
  it.each([
    [1, 400, 0.140078],
    [0.5, 100, 0.140078],
    [Math.SQRT1_2, 8, 0.700395],
  ])('is what a test with a power of 80 %% detects: deviation %d, %i rows', (deviation, n, difference) => {
    expect(detectableDifference(deviation, n)).toBeCloseTo(difference, 5);
  });
});

describe('correctedRate', () => {
  // The examples of epi.prev in the R package epiR; the test was measured well enough for its errors to be taken as known.
  it.each([
    [23, 150, 0.96, 0.89, 0.051],
    [6, 151, 0.964, 0.927, 0],
  ])('matches the published estimate of %i of %i', (passed, n, sensitivity, specificity, rate) => {
    const errors = { sensitivity, specificity, positives: 1e9, negatives: 1e9 };
    expect(correctedRate(passed / n, n, errors)?.rate).toBeCloseTo(rate, 3);
  });

  // The bounds come from prevSeSp of the R package asht 1.0.1, whose formulas were carried out in Python.
  it.each([
    [60, 200, 50, 60, 48, 60, [0.157895, 0, 0.314302]],
    [60, 100, 36, 40, 30, 40, [0.538462, 0.33354, 0.735022]],
    [4, 48, 114, 120, 147, 150, [0.0681, 0, 0.19294]],
  ])(
    'matches a reference implementation for %i of %i passed by a judge right in %i of %i and %i of %i',
    (passed, n, passes, positives, fails, negatives, expected) => {
      const errors = { sensitivity: passes / positives, positives, specificity: fails / negatives, negatives };
      const { rate, interval } = correctedRate(passed / n, n, errors)!;
      expect([rate, ...interval].map((value) => Number(value.toFixed(6)))).toEqual(expected);
    },
  );

  it('is undefined for a judge no better than chance, or one that saw only one kind of cases', () => {
    const chance = { sensitivity: 0.6, positives: 50, specificity: 0.4, negatives: 50 };
    expect(correctedRate(0.5, 100, chance)).toBeUndefined();
    expect(correctedRate(0.5, 100, { ...chance, sensitivity: 1, specificity: 1, negatives: 0 })).toBeUndefined();
  });
});

describe('meanDifference', () => {
  it('has the normal interval of the difference of two means', () => {
    // Variances of 1 and 2.5, so a standard error of sqrt(1/3 + 2.5/5) = 0.912871.
    const { difference, interval } = meanDifference([4, 5, 6], [1, 2, 3, 4, 5]);
    expect(difference).toBe(2);
    expect(toDigits(interval, 3)).toEqual([0.211, 3.789]);
  });
});
