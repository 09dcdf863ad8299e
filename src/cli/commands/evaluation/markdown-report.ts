import { renderFigures } from '../../../evaluations/render-runs.ts';
import { changeWords, comparisonWords, scoreWords } from '../../../evaluations/result-words.ts';
import { escapeInvisible } from '../../../text/compact-table.ts';
import { pluralize } from '../../../text/page.ts';
import { nameOfRow } from './junit-report.ts';
import type { Results } from './print-results.ts';

const maxChars = 300;

/**
 * Formats results as a summary in Markdown, such as for a pull request: how each run compares with the first one, the figures of
 * the scorers, what the runs took, and the rows of the result. Values from outside stand in code spans, where they format nothing.
 * @param options.hasBaseline whether the first run is there to be compared with.
 * @param options.missed the thresholds that runs missed.
 */
export function markdownReport(
  { runs, comparisons = [], slices = [], rows, total, warnings = [] }: Results,
  { hasBaseline, missed = [] }: { hasBaseline: boolean; missed?: readonly string[] },
): string {
  const names = runs.map((_, index) => runName(index, runs.length, hasBaseline));
  const pairOf = (id: string): string => {
    const name = names[runs.findIndex(({ run_id }) => run_id === id)]!;
    if (!hasBaseline) return `${name} against ${names[0]}, `;
    return runs.length > 2 ? `${name}, ` : '';
  };
  const sentences = comparisons.flatMap(({ run_id, scorers }) =>
    scorers.map((each) => `- ${pairOf(run_id)}${code(each.scorer)}: **${comparisonWords(each)}**`),
  );
  const scorers = [...new Set(runs.flatMap((run) => run.scorers.map(({ scorer }) => scorer)))];
  const figures = scorers.map((name) => [
    code(name),
    ...runs.map((run) => figuresCell(run.scorers.find(({ scorer }) => scorer === name))),
  ]);
  const parts = slices.flatMap(({ value, rows: count, runs: ofRuns }) =>
    [...new Set(ofRuns.flatMap((run) => run.scorers.map(({ scorer }) => scorer)))].map((name) => [
      code(value),
      String(count),
      code(name),
      ...ofRuns.map((run) => figuresCell(run.scorers.find(({ scorer }) => scorer === name))),
    ]),
  );
  const facts = runs.map((run, index) => [
    names[index]!,
    code(run.run_id),
    run.status,
    run.model === undefined ? '' : code(run.model),
    run.prompt === undefined ? '' : code(run.prompt),
    String(run.predictions),
    run.tokens === undefined ? '' : String(run.tokens),
    run.cost === undefined ? '' : `${run.cost} USD`,
  ]);
  const lines = rows.map((row) => [
    code(nameOfRow(row)),
    Object.entries(row.scores)
      .map(
        ([name, value]) =>
          `${code(name)} ${changeWords((runs.length > 1 ? (value as unknown[]) : [value]).map((score) => code(scoreWords(score))))}`,
      )
      .join('<br>'),
  ]);
  const sections = [
    [`### Evaluation ${code(runs.at(-1)!.evaluation ?? '')}`],
    missed.map((reason) => `- ❌ ${code(reason)}`),
    sentences,
    table(['scorer', ...names], figures),
    table(['slice', 'rows', 'scorer', ...names], parts),
    table(['run', 'id', 'status', 'model', 'prompt', 'predictions', 'tokens', 'cost'], facts),
    warnings.map((warning) => `- ${code(warning)}`),
    lines.length === 0
      ? []
      : [
          `<details><summary>${pluralize(rows.length, 'row')} of ${total}${comparisons.length > 0 ? ' that changed' : ', the worst first'}</summary>`,
          '',
          ...table(['row', 'scores'], lines),
          '',
          '</details>',
        ],
  ];
  return `${sections
    .filter((section) => section.length > 0)
    .map((section) => section.join('\n'))
    .join('\n\n')}\n`;
}

function runName(index: number, count: number, hasBaseline: boolean): string {
  if (count === 1) return 'result';
  if (hasBaseline && index === 0) return 'baseline';
  return hasBaseline && count === 2 ? 'this run' : `run ${index + 1}`;
}

function figuresCell(figures: Parameters<typeof renderFigures>[0] | undefined): string {
  return figures === undefined ? '' : code(renderFigures(figures));
}

function table(columns: readonly string[], lines: readonly (readonly string[])[]): string[] {
  if (lines.length === 0) return [];
  return [columns, columns.map(() => '---'), ...lines].map(
    (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`,
  );
}

/** Returns text as a code span: one line, with more backticks around it than it has in a row. */
function code(text: string): string {
  const short = text.length > maxChars ? `${text.slice(0, maxChars)}…` : text;
  const line = escapeInvisible(short.toWellFormed().replace(/\s/g, ' '));
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return longest === 0 ? `${fence}${line || ' '}${fence}` : `${fence} ${line} ${fence}`;
}
