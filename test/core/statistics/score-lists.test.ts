import { describe, expect, it } from 'vitest';
import { meanOf, ScoreLists } from '../../../src/core/statistics/score-lists.ts';

describe('ScoreLists', () => {
  it('collects the values of each member of outputs, and skips lists, null and NaN', () => {
    const lists = new ScoreLists();
    lists.add({ exact: true, judge: { passed: false, detail: { score: 3 } }, list: [1], none: null, nan: Number.NaN });
    lists.add({ exact: false, judge: { passed: 'unsure' } });
    lists.add(undefined);
    expect(lists.toArray()).toEqual([
      { scorer: 'exact', path: [], values: [true, false], rows: [] },
      { scorer: 'judge', path: ['passed'], values: [false, 'unsure'], rows: [] },
      { scorer: 'judge', path: ['detail', 'score'], values: [3], rows: [] },
    ]);
  });

  it('keeps scorers apart whose names have dots', () => {
    const lists = new ScoreLists();
    lists.add({ 'a.b': 1, a: { b: 2 } });
    expect(lists.toArray()).toEqual([
      { scorer: 'a.b', path: [], values: [1], rows: [] },
      { scorer: 'a', path: ['b'], values: [2], rows: [] },
    ]);
  });

  it('counts texts without keeping them if keepsTexts is false', () => {
    const lists = new ScoreLists({ keepsTexts: false });
    lists.add({ reason: 'Because', stars: 4 });
    expect(lists.toArray().map(({ values }) => values)).toEqual([[''], [4]]);
  });

  it('leaves out members that are deeper than 20, and paths beyond the first thousand', () => {
    let nested: object = { deep: true };
    for (let depth = 0; depth < 10_000; depth += 1) nested = { in: nested };
    const lists = new ScoreLists();
    lists.add({ nested });
    expect(lists.toArray()).toEqual([]);
    lists.add(Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`scorer ${index}`, true])));
    lists.add({ 'scorer 0': false });
    expect(lists.toArray()).toHaveLength(1000);
    expect(lists.toArray()[0]).toEqual({ scorer: 'scorer 0', path: [], values: [true, false], rows: [] });
  });
});

describe('meanOf', () => {
  it('is the sum divided by the number, and undefined without numbers', () => {
    expect(meanOf([1, 2, 6])).toBe(3);
    expect(meanOf([])).toBeUndefined();
  });
});
