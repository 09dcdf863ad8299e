import { describe, expect, it } from 'vitest';
import { drawPlaces, seededRandom } from '../../../src/core/statistics/seeded-random.ts';

describe('seededRandom', () => {
  // An implementation of mulberry32 in Python.
  it('returns the numbers of mulberry32', () => {
    const random = seededRandom(1);
    expect([random(), random(), random()].map((number) => number * 2 ** 32)).toEqual([
      2_693_262_067, 11_749_833, 2_265_367_787,
    ]);
  });
});

describe('drawPlaces', () => {
  it('draws the same different places for the same seed, in their order', () => {
    expect(drawPlaces(20, 5, 0)).toEqual([0, 2, 4, 9, 17]);
    expect(drawPlaces(20, 5, 1)).toEqual([0, 9, 10, 18, 19]);
  });

  it('draws all places if there are no more', () => {
    expect(drawPlaces(3, 3, 7)).toEqual([0, 1, 2]);
    expect(drawPlaces(3, 10, 7)).toEqual([0, 1, 2]);
  });

  it('draws each place about as often as any other', () => {
    const times = Array.from({ length: 10 }, () => 0);
    for (let seed = 0; seed < 10_000; seed += 1) for (const place of drawPlaces(10, 3, seed)) times[place]! += 1;
    // 3000 of each are expected; 200 are more than four standard deviations.
    expect(Math.max(...times.map((count) => Math.abs(count - 3000)))).toBeLessThan(200);
  });
});
