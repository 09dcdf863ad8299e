import { describe, expect, it } from 'vitest';
import { orderByInputs, rankRows } from '../../src/evaluations/rank-rows.ts';
import type { ResultRow } from '../../src/evaluations/read-run-results.ts';

/** Returns a row whose score in a run was the one, and in a later run the other. */
function rowOf(digest: string, question: string, [before, after]: readonly [number, number]): ResultRow {
  const runs = [before, after].map((score, index) => {
    const run = { call_id: `${digest}-${index}`, trials: [], scores: new Map([['score', score]]), output: '' };
    return [`run-${index}`, run] as const;
  });
  return { digest, datasetRow: { question }, runs: new Map(runs) };
}

describe('rankRows', () => {
  it('puts the largest losses first, and rows with equal ones into the order of their inputs', () => {
    const rows = [
      rowOf('a', 'row 10', [0.15, 0.2]),
      // The difference of these two is not exactly that of the others.
      rowOf('b', 'row 9', [0.65, 0.7]),
      rowOf('c', 'row 2', [0.15, 0.2]),
      rowOf('d', 'row 30', [0.4, 0.2]),
    ];
    const ranked = rankRows(rows, ['run-0', 'run-1'], {
      only: 'changed',
      expectedColumn: undefined,
      comparedScorers: new Set(['score']),
      flakyScorers: new Set(),
    });
    expect(orderByInputs(ranked).map(({ row }) => row.datasetRow)).toEqual([
      { question: 'row 30' },
      { question: 'row 2' },
      { question: 'row 9' },
      { question: 'row 10' },
    ]);
  });
});
