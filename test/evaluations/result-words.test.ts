import { describe, expect, it } from 'vitest';
import { compareScores, type RowScores } from '../../src/evaluations/compare-runs.ts';
import { renderFigures } from '../../src/evaluations/render-runs.ts';
import {
  changeWords,
  comparisonNote,
  comparisonWords,
  figureWords,
  probabilityWords,
  scoreWords,
  withoutCommonBeginning,
} from '../../src/evaluations/result-words.ts';

/** Returns the sentence on rows of which some got better, some worse, and the others passed both times. */
function sentenceOn(better: number, worse: number, same: number): string {
  const rows = (count: number, before: unknown, after: unknown): [RowScores, RowScores][] =>
    Array.from({ length: count }, () => [
      new Map([['exact', before as boolean]]),
      new Map([['exact', after as boolean]]),
    ]);
  const all = [...rows(better, false, true), ...rows(worse, true, false), ...rows(same, true, true)];
  return comparisonWords(compareScores(all)[0]!);
}

describe('figureWords', () => {
  it('tells a scorer that applies to no row from one without scores', () => {
    expect(figureWords({ scorer: 'a', n: 0 })).toBe('applies to no row');
    expect(figureWords({ scorer: 'a', n: 0, errors: 2 })).toBe('0 values, 2 without a score');
    const commonest_error = { error: 'Not JSON:\n{', n: 1 };
    expect(renderFigures({ scorer: 'a', n: 0, errors: 2, commonest_error })).toBe(
      '0 values, 2 without a score (1 of them: Not JSON:\\u000a{)',
    );
  });
});

describe('the words of a result', () => {
  it('say of a score whether it passed, and what it was in each run', () => {
    expect(changeWords([true, false, undefined].map((score) => scoreWords(score)))).toBe(
      'passed → not passed → no score',
    );
    expect(changeWords([0.2, 0.2].map((score) => scoreWords(score)))).toBe('0.2');
    expect([0.75, 0.0009].map((p) => probabilityWords(p))).toEqual(['0.75', '< 0.001']);
  });
});

describe('withoutCommonBeginning', () => {
  it('shortens a long beginning that all texts share, and nothing else', () => {
    const beginning = 'The capital of the country that you asked for is ';
    expect(withoutCommonBeginning([`${beginning}Oslo.`, `${beginning}Bergen.`, null])).toEqual([
      'The capital …sked for is Oslo.',
      'The capital …sked for is Bergen.',
      null,
    ]);
    for (const texts of [[beginning, beginning], ['Is it Oslo?', 'Is it Bergen?'], [`${beginning}Oslo.`, 'Oslo.'], []])
      expect(withoutCommonBeginning(texts)).toEqual(texts);
  });
});

describe('comparisonWords', () => {
  it('says by how many points a run is better or worse, with the interval, and which rows were lost', () => {
    expect(sentenceOn(36, 12, 352)).toBe(
      'better: +6 points (+2.7 to +9.6) on 400 rows; 12 rows that passed before fail now',
    );
    expect(sentenceOn(12, 36, 352)).toBe(
      'worse: -6 points (-9.6 to -2.7) on 400 rows; 36 rows that passed before fail now',
    );
  });

  it('says which difference would show where the one found could be chance', () => {
    expect(sentenceOn(6, 4, 90)).toBe(
      'could be chance: +2 points (-4.8 to +9.2) on 100 rows; a difference of 8.8 points would show; 4 rows that passed before fail now',
    );
    expect(sentenceOn(0, 0, 400)).toBe(
      'no difference: 0 points (-0.9 to +0.9) on 400 rows; 0 rows that passed before fail now',
    );
  });

  it('explains p where there is one, and p_holm where several scorers are tested', () => {
    const scorers = compareScores([[new Map([['exact', false]]), new Map([['exact', true]])]]);
    const brackets = 'Passed or a higher number counts as better, and + is better; 95 % intervals in brackets.';
    expect(comparisonNote([{ scorers }])).toBe(
      `${brackets} p: exact McNemar test, for numbers the sign test. From 0.05 on, the difference could be chance.`,
    );
    expect(comparisonNote([{ scorers: [{ ...scorers[0]!, p_holm: 1 }] }])).toContain(
      'the sign test; p_holm is corrected for several scorers.',
    );
    expect(comparisonNote([{ scorers: [] }])).toBe(brackets);
  });

  it('has no points for numbers, and no numbers for labels', () => {
    const numbers = Array.from({ length: 10 }, (_, row): [RowScores, RowScores] => [
      new Map([['stars', 1 + (row % 3)]]),
      new Map([['stars', 2 + (row % 4)]]),
    ]);
    expect(comparisonWords(compareScores(numbers)[0]!)).toBe(
      'could be chance: +1.4 (+0.5 to +2.3) on 10 rows; 8 rows differ, too few to tell',
    );
    const labels = [1, 2, 3].map((): [RowScores, RowScores] => [
      new Map([['tone', 'kind']]),
      new Map([['tone', 'curt']]),
    ]);
    expect(comparisonWords(compareScores(labels)[0]!)).toBe('labels differ on 3 rows');
  });

  it('counts the rows that have lost their score', () => {
    const rows: [RowScores, RowScores][] = [
      [new Map([['exact', true]]), new Map([['exact', true]])],
      [new Map([['exact', true]]), new Map()],
    ];
    expect(comparisonWords(compareScores(rows)[0]!)).toMatch(/; 1 row without a score now left out$/);
  });
});
