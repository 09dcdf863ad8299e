import { isJsonObject, type Members, objectOrEmpty } from '../../../core/json/json-object.ts';
import { valueText } from '../../../core/json/value-text.ts';
import type { ExportedTrial } from '../../../evaluations/exported-trials.ts';
import { renderRuns, renderRunTable } from '../../../evaluations/render-runs.ts';
import { scoreWords } from '../../../evaluations/result-words.ts';
import { csvLine } from '../../../text/csv-line.ts';
import type { Run } from './print-results.ts';

export const exportForms = ['jsonl', 'csv', 'html'] as const;
export type RunExportForm = (typeof exportForms)[number];

/** A part of an export, and how many of its cells a spreadsheet would run, so that they got an apostrophe in front. */
interface ExportPart {
  text: string;
  defused: number;
}

/**
 * Formats the trials of a run in parts: as lines of JSON, as CSV, or as one HTML file without a script.
 * @param read reads the trials; for a table twice, because its columns come before its lines.
 */
export async function* exportRun(
  run: Run,
  form: RunExportForm,
  read: () => AsyncIterable<ExportedTrial[]>,
): AsyncGenerator<ExportPart> {
  if (form === 'jsonl') {
    for await (const trials of read()) yield { text: linesOf(trials, JSON.stringify), defused: 0 };
    return;
  }
  const names = new Set<string>();
  for await (const trials of read())
    for (const trial of trials) for (const name of cellsOf(trial).keys()) names.add(name);
  const format = form === 'csv' ? csvOf : htmlRowsOf;
  if (form === 'html') yield { text: htmlHeadOf(run, [...names]), defused: 0 };
  else yield csvOf([[...names]]);
  for await (const trials of read()) {
    yield format(
      trials.map(cellsOf).map((cells) =>
        [...names].map((name) => {
          const cell = cells.get(name) ?? '';
          // The page is for people; programs that read CSV take the values.
          return form === 'html' && name.startsWith('scores.') ? scoreWords(cell) : cell;
        }),
      ),
    );
  }
  if (form === 'html') yield { text: '</tbody>\n</table>\n</body>\n</html>\n', defused: 0 };
}

function linesOf<Value>(values: readonly Value[], format: (value: Value) => string): string {
  return values.map((value) => `${format(value)}\n`).join('');
}

/** Returns the members of a trial as cells, with the path of each. */
function cellsOf({ inputs, scores, scorer_errors, ...others }: ExportedTrial): Map<string, unknown> {
  const under = (prefix: string, members: Members): [string, unknown][] =>
    Object.entries(members).map(([name, value]) => [`${prefix}.${name}`, value]);
  return new Map([
    ...(isJsonObject(inputs) ? under('inputs', inputs) : [['inputs', inputs] as [string, unknown]]),
    ...under('scores', scores),
    ...under('scorer_errors', objectOrEmpty(scorer_errors)),
    ...Object.entries(others),
  ]);
}

function csvOf(rows: readonly (readonly unknown[])[]): ExportPart {
  const lines = rows.map(csvLine);
  const defused = lines.reduce((sum, { changed }) => sum + changed.length, 0);
  return { text: lines.map(({ line }) => `${line}\r\n`).join(''), defused };
}

const style = `body{font:15px/1.5 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%}th,td{border:1px solid #8886;padding:.4rem .6rem;text-align:left;vertical-align:top}
td{white-space:pre-wrap;overflow-wrap:anywhere}.failed{color:#b00020}:root{color-scheme:light dark}`;

/** Formats the beginning of a page that loads and runs nothing, up to the lines of the table of the trials. */
function htmlHeadOf(run: Run, names: readonly string[]): string {
  const [head = [], ...figures] = renderRunTable([run]).map((line) => line.split('\t'));
  const title = `Evaluation ${run.evaluation ?? run.run_id}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>
<body>
<h1>${escapeHtml(title)}</h1>
${linesOf(renderRuns([run]), (line) => `<p>${escapeHtml(line)}</p>`)}${tableHeadOf(head)}${htmlRowsOf(figures).text}</tbody>
</table>
<h2>Rows</h2>
${tableHeadOf(names)}`;
}

function tableHeadOf(names: readonly string[]): string {
  return `<table>\n<thead>${htmlRowOf(names, 'th')}</thead>\n<tbody>\n`;
}

function htmlRowsOf(rows: readonly (readonly unknown[])[]): ExportPart {
  return { text: linesOf(rows, (cells) => htmlRowOf(cells.map(valueText), 'td')), defused: 0 };
}

function htmlRowOf(cells: readonly string[], tag: string): string {
  const attributeOf = (cell: string): string => (cell === 'not passed' ? ' class="failed"' : '');
  return `<tr>${cells.map((cell) => `<${tag}${attributeOf(cell)}>${escapeHtml(cell)}</${tag}>`).join('')}</tr>`;
}

function escapeHtml(text: string): string {
  const entities = new Map(Object.entries({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }));
  return text.toWellFormed().replace(/[&<>"']/g, (character) => entities.get(character)!);
}
