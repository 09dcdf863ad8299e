import { describe, expect, it } from 'vitest';
import { changeOf, compareScores, type RowScores, rowScores } from '../../src/evaluations/compare-runs.ts';

const row = (before: object, after: object): [RowScores, RowScores] => [
  new Map(Object.entries(before)),
  new Map(Object.entries(after)),
];

describe('rowScores', () => {
  it('returns the mean of the trials, or a value that all have, or the label of the first trial', () => {
    const trials = [
      { scores: { exact: true, safe: true, stars: 1, tone: 'kind' } },
      { scores: { exact: false, safe: true, stars: 4, tone: 'rude' } },
    ];
    expect([...rowScores(trials)]).toEqual([
      ['exact', 0.5],
      ['safe', true],
      ['stars', 2.5],
      ['tone', 'kind'],
    ]);
  });
});

describe('changeOf', () => {
  it('counts passed and higher numbers as better, and other labels as changed', () => {
    expect([changeOf(false, true), changeOf(0.5, false), changeOf(3, 3), changeOf('kind', 'rude')]).toEqual([
      'better',
      'worse',
      'same',
      'changed',
    ]);
  });

  it('ignores rounding differences of a mean', () => {
    expect(changeOf((0.1 + 0.2 + 0.3) / 3, (0.3 + 0.2 + 0.1) / 3)).toBe('same');
    expect(changeOf(1_000_000_000_000, 1_000_000_000_000.0002)).toBe('same');
  });

  it('is undefined where one of the runs has no score', () => {
    expect([changeOf(undefined, 1), changeOf(1, undefined)]).toEqual([undefined, undefined]);
  });
});

describe('compareScores', () => {
  it('calls six better rows out of six significant, but five out of five could be chance', () => {
    const six = Array.from({ length: 6 }, () => row({ exact: false }, { exact: true }));
    const same = row({ exact: true }, { exact: true });
    expect(compareScores([...six, same])).toEqual([
      { scorer: 'exact', better: 6, worse: 0, same: 1, p: 0.031, verdict: 'better' },
    ]);
    expect(compareScores(six.slice(1))).toEqual([
      { scorer: 'exact', better: 5, worse: 0, same: 0, p: 0.063, verdict: 'could be chance' },
    ]);
  });

  it('compares each scorer on the rows in which both runs have its score', () => {
    const rows = [
      row({ exact: true, stars: 1 }, { exact: true, stars: 5 }),
      row({ exact: true }, { exact: true, stars: 5 }),
      row({ tone: 'kind' }, { tone: 'rude' }),
      row({ tone: 'kind' }, { tone: 'kind' }),
    ];
    expect(compareScores(rows)).toEqual([
      { scorer: 'exact', better: 0, worse: 0, same: 2, verdict: 'no difference' },
      { scorer: 'stars', better: 1, worse: 0, same: 0, p: 1, verdict: 'could be chance' },
      { scorer: 'tone', better: 0, worse: 0, same: 1, changed: 1, verdict: 'labels differ' },
    ]);
  });

  it('leaves out a score with more than ten different texts', () => {
    const rows = Array.from({ length: 11 }, (_, n) => row({ why: `a ${n}` }, { why: `b ${n}` }));
    expect(compareScores(rows)).toEqual([]);
  });

  it('compares nothing without shared rows', () => {
    expect(compareScores([])).toEqual([]);
  });
});
