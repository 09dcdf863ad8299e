import { describe, expect, it } from 'vitest';
import {
  changeRow,
  type EvaluationState,
  noResults,
  runsToCompare,
  toggleRun,
  withFirstResults,
  withMoreResults,
  withWholes,
} from '../../src/board/view/evaluation/evaluation-state.ts';
import { cutPaths, outcomesOf } from '../../src/board/view/evaluation/row-outcomes.ts';
import { Formats } from '../../src/board/view/shared/theme.ts';
import { connecting } from '../../src/board/view/shared/view.ts';
import { compareScores } from '../../src/evaluations/compare-runs.ts';
import { comparisonWords, figureWords, statusWords, usageWords } from '../../src/evaluations/result-words.ts';
import type { EvaluationResult } from '../../src/tools/read-evaluation.ts';

const connected: EvaluationState = { ...connecting, ...noResults };
const runs = (...ids: string[]) => ids.map((run_id) => ({ run_id, status: 'complete' }));
const rows = (...ids: string[]) => ids.map((call_id) => ({ call_id, scores: {} }));

function page(more: Partial<EvaluationResult>): EvaluationResult {
  return { runs: runs('new'), offset: 0, total: 3, ...more };
}

describe('the state of the results of evaluations', () => {
  it('keeps rows open that a new first page has too, and adds further ones in their order', () => {
    const first = withFirstResults(connected, page({ rows: rows('a', 'b') }), {});
    const open = changeRow(first, 'b', { isOpen: true });
    const again = withFirstResults(open, page({ rows: rows('b', 'c') }), {});
    expect([...again.rows.values()].map(({ row, isOpen }) => [row.call_id, isOpen])).toEqual([
      ['b', true],
      ['c', false],
    ]);
    const more = withMoreResults(again, page({ rows: rows('a') }));
    expect([...more.rows.keys()]).toEqual(['b', 'c', 'a']);
    expect(more.message).toBe('3 of 3 rows shown.');
  });

  it('lists the runs of every page, of which two can be chosen, and compares the older with the newer', () => {
    const first = withFirstResults(connected, page({ runs: runs('new', 'old') }), {});
    const list = withMoreResults(first, page({ runs: runs('old', 'oldest') }));
    expect(list.message).toBe('3 of 3 runs shown.');
    const chosen = ['new', 'oldest', 'old'].reduce(toggleRun, list);
    expect(runsToCompare(chosen)).toEqual(['oldest', 'new']);
    expect(runsToCompare(toggleRun(chosen, 'new'))).toEqual(['oldest']);
  });

  it.each([
    [{}, 'changed'],
    [{ expected: 'liked' }, 'worst'],
    [{ only: 'failed' }, 'failed'],
  ])('shows of two runs with the arguments %j the rows that are %s', (args, choice) => {
    const both = page({ runs: runs('old', 'new'), rows: [] });
    expect(withFirstResults(connected, both, args).choice).toBe(choice);
  });

  it('loads each value that was cut once', () => {
    const cut = 'begin…[+20 characters]';
    const row = {
      call_id: 'last',
      call_ids: ['first', 'last'],
      inputs: { row: cut },
      outputs: [cut, 'short'],
      scores: {},
    };
    const opened = withFirstResults(connected, page({ rows: [row] }), {});
    const paths = ['inputs.example.row', 'inputs.example'];
    const outputs = ['output.output', 'output.model_output'];
    expect([...cutPaths(row, () => false)]).toEqual([
      ['last', paths],
      ['first', outputs],
    ]);
    const loaded = withWholes(opened, 'last', 'last', paths, new Map([['inputs.example.row', 'whole']]));
    const { wholes } = loaded.rows.get('last')!;
    expect([...cutPaths(row, (key) => wholes.has(key)).keys()]).toEqual(['first']);
    expect(wholes.get('last inputs.example.row')).toEqual({ value: 'whole', isAlone: false });
  });
});

describe('the outcomes of a row', () => {
  it('has one for each run, with the scores and the error of that run', () => {
    const row = {
      call_id: 'b',
      call_ids: [null, 'b'],
      outputs: [null, 'out'],
      errors: ['failed', null],
      scores: { exact: [null, true], constructor: [1, 2] },
    };
    expect(outcomesOf(row)).toEqual([
      {
        output: undefined,
        error: 'failed',
        scores: new Map<string, unknown>([
          ['exact', undefined],
          ['constructor', 1],
        ]),
      },
      {
        callId: 'b',
        output: 'out',
        scores: new Map<string, unknown>([
          ['exact', true],
          ['constructor', 2],
        ]),
      },
    ]);
  });
});

describe('the words of a result', () => {
  it("are the same on a page and in a terminal, besides the numbers of the reader's language", () => {
    const figures = { scorer: 'exact', n: 1200, pass_rate: 0.4385, interval: [0.4107, 0.46666] as [number, number] };
    expect(figureWords(figures)).toBe('43.85% (41.1 to 46.7) of 1200 passed');
    expect(figureWords(figures, new Formats({ locale: 'en-GB' }))).toBe('43.85% (41.1 to 46.7) of 1,200 passed');
    expect(figureWords(figures, new Formats({ locale: 'de-DE' }))).toBe('43,85\u00a0% (41,1 to 46,7) of 1.200 passed');
    const mean = { scorer: 'stars', n: 12, mean: 0.45678, interval: [-0.0001234, 1234.5678] as [number, number] };
    for (const formats of [undefined, new Formats({ locale: 'en' })])
      expect(figureWords(mean, formats).replace(',', '')).toBe('mean 0.457 (-0.000123 to 1234.568) of 12');
    const [comparison] = compareScores([[new Map([['exact', true]]), new Map([['exact', false]])]]);
    for (const formats of [undefined, new Formats({ locale: 'en' })])
      expect(comparisonWords(comparison!, formats)).toMatch(
        /^could be chance: -100 points \(-100 to \+\d+\.\d\) on 1 row;/,
      );
    const run = {
      run_id: 'r',
      status: 'running',
      completed: 2,
      total: 4,
      predictions: 2,
      errors: 1,
      latency_seconds: 0.5,
    };
    expect(statusWords(run)).toBe('running (2 of 4 predictions)');
    expect(usageWords(run, new Formats({ locale: 'de' }))).toEqual([
      '2 predictions',
      '1 of them failed',
      'mean latency 0,5 s',
    ]);
  });
});
