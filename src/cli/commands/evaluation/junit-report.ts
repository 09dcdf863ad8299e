import { objectOrEmpty } from '../../../core/json/json-object.ts';
import type { ShownRow } from '../../../evaluations/rank-rows.ts';
import type { Run } from './print-results.ts';

const maxNameChars = 120;

/** A run with all its rows, and what it has not reached. */
export interface JunitSuite {
  run: Run;
  rows: readonly ShownRow[];
  /** The thresholds that the run missed. */
  missed: readonly string[];
  /** The reason, if the run failed. */
  failure: string | undefined;
}

/**
 * Formats runs as a JUnit report, each as a suite: a test for each row with what its scorers said, one more that is an error if
 * the run failed, and one more that fails for each threshold that the run missed. Nothing else fails: whether a row that
 * did not pass matters is what the thresholds say.
 */
export function junitReport(suites: readonly JunitSuite[]): string {
  const texts = suites.map(suiteOf);
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="heddle evaluation">\n${texts.join('\n')}\n</testsuites>\n`;
}

function suiteOf({ run, rows, missed, failure }: JunitSuite): string {
  const classname = run.evaluation ?? 'evaluation';
  const test = (name: string, children: readonly string[]): string =>
    element('testcase', { classname, name }, children);
  const all = [
    ...rows.map((row) => test(nameOfRow(row), outcomeOf(row))),
    ...(failure === undefined ? [] : [test('run', [element('error', { message: failure }, [])])]),
    ...missed.map((reason) => test('threshold', [element('failure', { message: reason }, [])])),
  ];
  const counts = {
    name: `${classname} ${run.run_id}`,
    tests: all.length,
    failures: missed.length,
    errors: failure === undefined ? 0 : 1,
    ...(run.started_at && { timestamp: run.started_at }),
  };
  return element('testsuite', counts, all);
}

/** Returns the name of a row: its member `id`, or else its first one. */
export function nameOfRow({ inputs, call_id }: ShownRow): string {
  const members = Object.entries(objectOrEmpty(inputs));
  const [, value] = members.find(([name]) => name === 'id') ?? members[0] ?? [];
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return (text || call_id || 'row').slice(0, maxNameChars).toWellFormed();
}

/** Returns what the scorers said of a row, and the output; or the error of its prediction. */
function outcomeOf({ error, output, scores }: ShownRow): string[] {
  if (error !== undefined) return [element('system-err', {}, [escapeXml(error)])];
  const lines = Object.entries(scores).map(([name, score]) => `${name}: ${JSON.stringify(score) ?? 'no score'}`);
  const text = typeof output === 'string' ? output : (JSON.stringify(output) ?? '');
  return [element('system-out', {}, [escapeXml([...lines, text].join('\n'))])];
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
