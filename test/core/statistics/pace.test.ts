import { describe, expect, it } from 'vitest';
import { secondsPerItem } from '../../../src/core/statistics/pace.ts';

const at = (by: string, item: string, seconds: number) => ({ by, item, atMs: 1_700_000_000_000 + seconds * 1000 });

describe('secondsPerItem', () => {
  it('is the median of the times between items, without breaks, and shared by items that were written together', () => {
    const judgements = [
      at('ana', 'a', 0),
      at('ana', 'b', 60),
      at('ana', 'c', 100),
      at('ana', 'd', 7200),
      at('ana', 'e', 7290),
      at('ana', 'f', 7291),
    ];
    // 60, 40, 45.5 and 45.5 seconds.
    expect(secondsPerItem(judgements)).toEqual(new Map([['ana', 46]]));
  });

  it('counts an item once, at its last judgement, and each person alone', () => {
    const judgements = [
      at('ana', 'a', 0),
      at('ben', 'a', 5),
      at('ana', 'a', 10),
      at('ana', 'b', 40),
      at('ben', 'b', 15),
    ];
    expect(secondsPerItem(judgements)).toEqual(
      new Map([
        ['ana', 30],
        ['ben', 10],
      ]),
    );
  });

  it('says nothing of someone who judged once, or only after breaks', () => {
    expect(secondsPerItem([at('ana', 'a', 0), at('ben', 'a', 0), at('ben', 'b', 1801)])).toEqual(new Map());
  });
});
