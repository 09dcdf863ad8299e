import type { ShownRow } from '../../../evaluations/rank-rows.ts';
import type { Results, Run } from './print-results.ts';

const maxNameChars = 120;

/**
 * Formats runs as a JUnit report: a suite for each run, a test for each row, a failure for each scorer that did not pass and an
 * error for a prediction that failed, and one more test for each threshold that the run missed.
 */
export function junitReport({ runs, rows }: Pick<Results, 'runs' | 'rows'>, missed: readonly string[]): string {
  const suites = runs.map((run, index) => suiteOf(run, rows, runs.length > 1 ? index : undefined, missed));
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="heddle evaluation">\n${suites.join('\n')}\n</testsuites>\n`;
}

function suiteOf(run: Run, rows: readonly ShownRow[], place: number | undefined, missed: readonly string[]): string {
  const name = `${run.evaluation ?? 'evaluation'} ${run.run_id}`;
  const cases = rows.map((row) => caseOf(row, run, place));
  const thresholds = missed.map((reason) =>
    element('testcase', { classname: run.evaluation ?? 'evaluation', name: 'threshold' }, [
      element('failure', { message: reason }, []),
    ]),
  );
  const all = [...cases.map(({ xml }) => xml), ...thresholds];
  const failures = cases.filter(({ state }) => state === 'failed').length + thresholds.length;
  const errors = cases.filter(({ state }) => state === 'error').length;
  const counts = { name, tests: all.length, failures, errors, ...(run.started_at && { timestamp: run.started_at }) };
  return element('testsuite', counts, all);
}

function caseOf(row: ShownRow, run: Run, place: number | undefined) {
  const of = <T>(single: T | undefined, several: readonly (T | null)[] | undefined): T | undefined =>
    place === undefined ? single : (several?.[place] ?? undefined);
  const error = of(row.error, row.errors);
  const output = of(row.output, row.outputs);
  const failed = Object.entries(row.scores).filter(
    ([, value]) => (place === undefined ? value : (value as unknown[])[place]) === false,
  );
  const state = error !== undefined ? 'error' : failed.length > 0 ? 'failed' : 'passed';
  const text = typeof output === 'string' ? output : (JSON.stringify(output) ?? '');
  const children = [
    ...(error === undefined ? [] : [element('error', { message: error }, [])]),
    ...(error === undefined
      ? failed.map(([name]) => element('failure', { message: `${name} did not pass` }, [escapeXml(text)]))
      : []),
  ];
  const name = JSON.stringify(row.inputs ?? {}).slice(0, maxNameChars);
  return { state, xml: element('testcase', { classname: run.evaluation ?? 'evaluation', name }, children) };
}

function element(name: string, attributes: Record<string, string | number>, children: readonly string[]): string {
  const written = Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${escapeXml(String(value))}"`)
    .join('');
  return children.length === 0 ? `<${name}${written}/>` : `<${name}${written}>${children.join('')}</${name}>`;
}

/** Escapes text for XML 1.0, which cannot hold most control characters or half characters at all. */
function escapeXml(text: string): string {
  const entities = new Map(Object.entries({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }));
  return text
    .toWellFormed()
    .replace(/(?![\t\n\r])\p{Cc}|[\ufffe\uffff]/gu, '\ufffd')
    .replace(/[&<>"]/g, (character) => entities.get(character)!)
    .replace(/[\t\n\r]/g, (character) => `&#${character.charCodeAt(0)};`);
}
