import { describe, expect, it } from 'vitest';
import { passAllK, passAtK } from '../../../src/core/statistics/pass-at-k.ts';

describe('passAtK', () => {
  // 1 - C(n - c, k) / C(n, k), the estimator of Chen and others, Evaluating large language models trained on code (2021).
  it.each([
    [10, 3, 1, 0.3],
    [10, 3, 5, 0.9166667],
    [200, 10, 100, 0.999229],
    [5, 0, 5, 0],
    [5, 1, 5, 1],
  ])('of %i trials with %i passed is the published estimate for k = %i', (n, passed, k, expected) => {
    expect(passAtK(n, passed, k)).toBeCloseTo(expected, 6);
  });
});

describe('passAllK', () => {
  // C(c, k) / C(n, k), the estimator of Yao and others, τ-bench (2024).
  it.each([
    [10, 7, 1, 0.7],
    [5, 3, 2, 0.3],
    [8, 6, 4, 0.2142857],
    [8, 3, 4, 0],
    [8, 8, 8, 1],
  ])('of %i trials with %i passed is the published estimate for k = %i', (n, passed, k, expected) => {
    expect(passAllK(n, passed, k)).toBeCloseTo(expected, 6);
  });
});
