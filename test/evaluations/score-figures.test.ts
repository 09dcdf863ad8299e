import { describe, expect, it } from 'vitest';
import { figuresOf, type ScoredTrial, summarizedFigures } from '../../src/evaluations/score-figures.ts';

/** Returns the rows of trials of which each is the only one of its row. */
const single = (trials: readonly ScoredTrial[]): ScoredTrial[][] => trials.map((trial) => [trial]);

describe('figuresOf', () => {
  it('counts passes, means, labels, and trials without a score', () => {
    const figures = figuresOf(
      single([
        { scores: { exact: true, stars: 5, tone: 'kind' }, total_tokens: 10, model_latency_seconds: 1 },
        { scores: { exact: false, stars: 4, tone: 'rude' }, total_tokens: 20, model_latency_seconds: 2 },
        { scores: { exact: true, stars: 4, tone: 'kind' }, scorer_errors: { judge: 'not JSON' }, total_cost: 0.5 },
        { scores: {}, error: 'status 500' },
      ]),
    );
    expect(figures).toEqual({
      predictions: 4,
      errors: 1,
      tokens: 30,
      cost: 0.5,
      latency_seconds: 1.5,
      scorers: [
        { scorer: 'exact', n: 3, errors: 1, pass_rate: 0.6667, interval: [0.2077, 0.9385] },
        {
          scorer: 'stars',
          n: 3,
          errors: 1,
          mean: 4.3333,
          interval: [4, 5],
          values: [
            [4, 2],
            [5, 1],
          ],
        },
        {
          scorer: 'tone',
          n: 3,
          errors: 1,
          values: [
            ['kind', 2],
            ['rude', 1],
          ],
        },
        { scorer: 'judge', n: 0, errors: 4, commonest_error: { error: 'not JSON', n: 1 } },
      ],
    });
  });

  it('leaves a scorer out of trials where its score is null, unless it failed', () => {
    const figures = figuresOf(
      single([
        { scores: { short: true, tone: null } },
        { scores: { short: null, tone: null }, error: 'status 500' },
        { scores: { short: null, tone: null }, scorer_errors: { short: 'no text' } },
      ]),
    );
    expect(figures.scorers).toEqual([
      {
        scorer: 'short',
        n: 1,
        errors: 1,
        commonest_error: { error: 'no text', n: 1 },
        pass_rate: 1,
        interval: [0.2065, 1],
      },
      { scorer: 'tone', n: 0 },
    ]);
  });

  it('describes more than ten different numbers by quartiles, and leaves out as many different texts', () => {
    const trials = Array.from({ length: 12 }, (_, n) => ({ scores: { judge: { score: n, reason: `Because ${n}` } } }));
    expect(figuresOf(single(trials)).scorers).toEqual([
      { scorer: 'judge.score', n: 12, mean: 5.5, interval: [3.5, 7.5], quartiles: [0, 2.75, 5.5, 8.25, 11] },
    ]);
  });

  it('draws rows with all their trials, counts flaky rows, and tells pass@k and pass^k', () => {
    const trials = (...passed: boolean[]): ScoredTrial[] => passed.map((exact) => ({ scores: { exact } }));
    const rows = [
      trials(true, true, true),
      trials(true, false, true),
      trials(false, false, false),
      trials(false, true, false),
    ];
    expect(figuresOf(rows).scorers).toEqual([
      {
        scorer: 'exact',
        n: 12,
        pass_rate: 0.5,
        interval: [0.2051, 0.7949],
        flaky_rows: 2,
        pass_at_k: [
          { k: 2, any: 0.6667, any_interval: [0.2451, 0.9249], all: 0.3333, all_interval: [0.0751, 0.7549] },
          { k: 3, any: 0.75, any_interval: [0.3006, 0.9544], all: 0.25, all_interval: [0.0456, 0.6994] },
        ],
      },
    ]);
  });

  it('returns no figures for a run without trials', () => {
    expect(figuresOf([])).toEqual({ predictions: 0, scorers: [] });
  });
});

describe('summarizedFigures', () => {
  it('reads what the service has computed', () => {
    const stats = { path: null, trial_count: 4 };
    expect(
      summarizedFigures({
        trial_count: 4,
        error_count: 1,
        predict_total_tokens: 30,
        scorer_stats: [
          { ...stats, scorer_key: 'exact', pass_known_count: 3, pass_true_count: 2, pass_rate: 2 / 3, error_count: 1 },
          { ...stats, scorer_key: 'judge', path: 'score', numeric_count: 4, numeric_mean: 2.5 },
          { ...stats, scorer_key: 'judge', path: 'reason', value_type: 'text' },
        ],
      }),
    ).toEqual({
      predictions: 4,
      errors: 1,
      tokens: 30,
      scorers: [
        { scorer: 'exact', n: 3, errors: 1, pass_rate: 0.6667 },
        { scorer: 'judge.score', n: 4, mean: 2.5 },
      ],
    });
  });

  it('has an interval for a share if the service tells that each row has one trial', () => {
    const exact = { scorer_key: 'exact', trial_count: 20, pass_known_count: 20, pass_true_count: 0, pass_rate: 0 };
    const scorersOf = (row_count: number) =>
      summarizedFigures({ trial_count: 20, row_count, scorer_stats: [exact] }).scorers;
    expect(scorersOf(20)).toEqual([{ scorer: 'exact', n: 20, pass_rate: 0, interval: [0, 0.1611] }]);
    expect(scorersOf(10)).toEqual([{ scorer: 'exact', n: 20, pass_rate: 0 }]);
  });
});
