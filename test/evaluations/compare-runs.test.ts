import { describe, expect, it } from 'vitest';
import {
  applicableScores,
  changeOf,
  compareScores,
  type RowScores,
  rowScores,
} from '../../src/evaluations/compare-runs.ts';

const row = (before: object, after: object): [RowScores, RowScores] => [
  new Map(Object.entries(before)),
  new Map(Object.entries(after)),
];

describe('applicableScores', () => {
  it('leaves out the scores of scorers that do not apply in the other run, but not of those that failed', () => {
    const before = new Map<string, boolean>(['good.passed', 'short', 'shorter', 'lost'].map((name) => [name, true]));
    const after = [{ scores: { good: null, short: null, lost: null }, scorer_errors: { lost: 'no text' } }];
    expect([...applicableScores(before, after).keys()]).toEqual(['shorter', 'lost']);
  });
});

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
      {
        scorer: 'exact',
        better: 6,
        worse: 0,
        same: 1,
        lost: 0,
        difference: 0.8571,
        interval: [0.1991, 0.9743],
        detectable: 0.3705,
        p: 0.031,
        verdict: 'better',
      },
    ]);
    expect(compareScores(six.slice(1))).toMatchObject([
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
      {
        scorer: 'exact',
        better: 0,
        worse: 0,
        same: 2,
        lost: 0,
        difference: 0,
        interval: [-0.6576, 0.6576],
        verdict: 'no difference',
      },
      { scorer: 'stars', better: 1, worse: 0, same: 0, difference: 4, p: 1, verdict: 'could be chance' },
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

  it('corrects the p-values of several scorers, and takes the verdict from those', () => {
    const rows = Array.from({ length: 6 }, (_, n) =>
      row({ exact: false, stars: n }, { exact: true, stars: n === 0 ? -1 : n + 1 }),
    );
    expect(compareScores(rows)).toMatchObject([
      { scorer: 'exact', p: 0.031, p_holm: 0.063, verdict: 'could be chance' },
      { scorer: 'stars', p: 0.22, p_holm: 0.22, verdict: 'could be chance' },
    ]);
  });

  it('calls a run neither better nor worse if most rows gain little and few lose much', () => {
    const gains = Array.from({ length: 30 }, () => row({ stars: 4 }, { stars: 4.1 }));
    const losses = Array.from({ length: 6 }, () => row({ stars: 5 }, { stars: 1 }));
    expect(compareScores([...gains, ...losses])).toMatchObject([{ better: 30, worse: 6, verdict: 'mixed' }]);
  });

  it('counts rows that always passed and never do now, and those that have lost their score', () => {
    const rows = [
      row({ exact: true }, { exact: false }),
      row({ exact: true }, { exact: 0.5 }),
      row({ exact: true }, {}),
      row({}, { exact: true }),
    ];
    expect(compareScores(rows)).toMatchObject([{ better: 0, worse: 2, same: 0, lost: 1, unscored: 1 }]);
  });
});
