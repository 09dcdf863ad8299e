import { describe, expect, it } from 'vitest';
import {
  disputedCalls,
  isHeldOut,
  type JudgedCall,
  measureJudge,
  verdictOf,
} from '../../src/evaluations/judge-calibration.ts';

/** Returns so many calls with a value of people and one of the judge, with ids from a letter. */
const callsOf = (letter: string, count: number, expected: unknown, given: unknown): JudgedCall[] =>
  Array.from({ length: count }, (_, index) => ({ call_id: `${letter}${index}`, expected, given }));

describe('measureJudge', () => {
  it('gives kappa, sensitivity and specificity of a judge of yes and no', () => {
    // The table of Cohen's kappa on Wikipedia: 20 and 15 agreed, 5 and 10 not; kappa 0.4.
    const calls = [
      ...callsOf('a', 20, true, { score: true }),
      ...callsOf('b', 5, true, { score: false }),
      ...callsOf('c', 10, false, { score: true }),
      ...callsOf('d', 15, false, { score: false }),
    ];
    expect(measureJudge(calls)).toEqual({
      n: 50,
      percent: 70,
      kappa: 0.4,
      kappa_interval: [0.151, 0.649],
      sensitivity: { value: true, rate: 0.8, n: 25, interval: [0.6087, 0.9114] },
      specificity: { value: false, rate: 0.6, n: 25, interval: [0.4074, 0.766] },
      classes: ['true', 'false'],
      confusion: [
        [20, 5],
        [10, 15],
      ],
    });
  });

  it('gives errors by value and weighted kappa of a judge of numbers', () => {
    const calls = [...callsOf('a', 2, 1, 1), ...callsOf('b', 1, 1, 2), ...callsOf('c', 1, 5, 3)];
    expect(measureJudge(calls)).toMatchObject({
      n: 4,
      percent: 50,
      quadratic_weighted_kappa: 0.667,
      by_value: [
        { value: '1', n: 3, rate: 0.666667 },
        { value: '5', n: 1, rate: 0 },
      ],
    });
  });

  it('tells by how much more a judge passes longer outputs than people do', () => {
    const short = callsOf('s', 10, false, { score: false });
    const long = [...callsOf('l', 5, false, { score: true }), ...callsOf('m', 5, false, { score: false })];
    const lengths = new Map<string, number>(short.map(({ call_id }) => [call_id, 10]));
    for (const { call_id } of long) lengths.set(call_id, 500);
    expect(measureJudge([...short, ...long], lengths).longer_outputs).toEqual({
      difference: 0.5,
      interval: [0.1733, 0.8267],
      n: 20,
    });
  });

  it('tells how often a pairwise judge prefers the first answer, and whether both orders agree', () => {
    const calls = [
      ...callsOf('a', 3, true, { score: 1, output_was: 'first' }),
      ...callsOf('b', 1, true, { score: 1, output_was: 'second' }),
      ...callsOf('c', 1, false, { score: 0.5, output_was: 'first' }),
    ];
    expect(measureJudge(calls)).toMatchObject({ percent: 80, first_answer: { rate: 0.75, n: 4 } });
    const both = callsOf('d', 4, true, { score: 1, same_in_both_orders: true });
    expect(measureJudge(both)).toMatchObject({ same_in_both_orders: { rate: 1, n: 4 } });
  });
});

describe('verdictOf', () => {
  it.each([
    ['the score of a judge', 'good', { reasoning: 'Fine.', score: 'good' }, 'good'],
    ['1 as true where people say yes or no', true, { score: 1 }, true],
    ['1 as a number where people give numbers', 5, { score: 1 }, 1],
    ['whether an output passed', true, { passed: false, score: 0.4 }, false],
    ['a plain output', false, false, false],
  ])('returns %s', (_, expected, given, verdict) => {
    expect(verdictOf({ expected, given })).toBe(verdict);
  });
});

describe('isHeldOut', () => {
  it('leaves a call in its part whatever else is judged, and about the share of all calls in the part', () => {
    const ids = Array.from({ length: 1000 }, (_, index) => `call-${index}`);
    const drawn = (share: number, seed = 0): string[] => ids.filter((id) => isHeldOut(id, { share, seed }));
    expect([drawn(0.5).length, drawn(0.2).length]).toEqual([498, 218]);
    expect(drawn(0.5)).toEqual(expect.arrayContaining(drawn(0.2)));
    expect(drawn(0.5, 1)).not.toEqual(drawn(0.5));
  });
});

describe('disputedCalls', () => {
  it('puts the greatest distance first, then what most people agree on', () => {
    const calls = [
      ...callsOf('a', 1, 4, 5),
      ...callsOf('b', 1, 1, 5),
      ...callsOf('c', 1, 2, 2),
      ...callsOf('d', 1, 3, 4),
    ];
    const support = new Map([
      ['a0', 1],
      ['d0', 3],
    ]);
    expect(disputedCalls(calls, support).map(({ call_id }) => call_id)).toEqual(['b0', 'd0', 'a0']);
  });
});
