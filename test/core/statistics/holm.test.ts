import { describe, expect, it } from 'vitest';
import { holmCorrected } from '../../../src/core/statistics/holm.ts';

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
