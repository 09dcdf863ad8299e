import { isJsonObject, type Members, objectOrEmpty } from '../../../core/json/json-object.ts';
import { valueText } from '../../../core/json/value-text.ts';
import type { ExportedTrial } from '../../../evaluations/exported-trials.ts';
import { renderRuns, renderRunTable } from '../../../evaluations/render-runs.ts';
import { csvLine } from '../../../text/csv-line.ts';
import type { Run } from './print-results.ts';

export const exportForms = ['jsonl', 'csv', 'html'] as const;
export type RunExportForm = (typeof exportForms)[number];

/**
 * Formats the trials of a run as lines of JSON, as CSV, or as one HTML file without a script.
 * @returns the text, and the number of cells of CSV that a spreadsheet would run and that got an apostrophe in front.
 */
export function exportRun(
  run: Run,
  trials: readonly ExportedTrial[],
  form: RunExportForm,
): { text: string; defused: number } {
  if (form === 'csv') return csvOf(trials);
  const text = form === 'html' ? htmlOf(run, trials) : trials.map((trial) => `${JSON.stringify(trial)}\n`).join('');
  return { text, defused: 0 };
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

function csvOf(trials: readonly ExportedTrial[]): { text: string; defused: number } {
  const rows = trials.map(cellsOf);
  const names = [...new Set(rows.flatMap((cells) => [...cells.keys()]))];
  const lines = [names, ...rows.map((cells) => names.map((name) => cells.get(name) ?? ''))].map(csvLine);
  const defused = lines.reduce((sum, { changed }) => sum + changed, 0);
  return { text: lines.map(({ line }) => `${line}\r\n`).join(''), defused };
}

const style = `body{font:15px/1.5 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%}th,td{border:1px solid #8886;padding:.4rem .6rem;text-align:left;vertical-align:top}
td{white-space:pre-wrap;overflow-wrap:anywhere}.failed{color:#b00020}:root{color-scheme:light dark}`;

/** Formats a run as a page that loads and runs nothing. */
function htmlOf(run: Run, trials: readonly ExportedTrial[]): string {
  const rows = trials.map(cellsOf);
  const names = [...new Set(rows.flatMap((cells) => [...cells.keys()]))];
  const figures = renderRunTable([run]).map((line) => line.split('\t'));
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
${renderRuns([run])
  .map((line) => `<p>${escapeHtml(line)}</p>`)
  .join('\n')}
${tableOf(figures)}
<h2>Rows</h2>
${tableOf([names, ...rows.map((cells) => names.map((name) => valueText(cells.get(name) ?? '')))])}
</body>
</html>
`;
}

function tableOf([head = [], ...lines]: readonly (readonly string[])[]): string {
  const row = (cells: readonly string[], tag: string): string =>
    `<tr>${cells.map((cell) => `<${tag}${cell === 'false' ? ' class="failed"' : ''}>${escapeHtml(cell)}</${tag}>`).join('')}</tr>`;
  return `<table>\n<thead>${row(head, 'th')}</thead>\n<tbody>\n${lines.map((cells) => row(cells, 'td')).join('\n')}\n</tbody>\n</table>`;
}

function escapeHtml(text: string): string {
  const entities = new Map(Object.entries({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }));
  return text.toWellFormed().replace(/[&<>"']/g, (character) => entities.get(character)!);
}
