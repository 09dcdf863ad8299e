import { toSeconds } from '../../../core/timestamps.ts';
import type { ShownRow } from '../../../evaluations/rank-rows.ts';
import type { RunWithFigures } from '../../../evaluations/read-run-results.ts';
import { renderFigures } from '../../../evaluations/render-runs.ts';
import { statusWords, usageWords } from '../../../evaluations/result-words.ts';
import type { RunFigures } from '../../../evaluations/score-figures.ts';
import { pluralize } from '../../../text/page.ts';
import { tools } from '../../../tools/definition/registry.ts';
import type { EvaluationResult } from '../../../tools/read-evaluation.ts';
import { drawRecord, minTableWidth } from '../../terminal/aligned-table.ts';
import { isForPeople, type OutputForm } from '../../terminal/output-form.ts';
import { printAligned, printJson, printLine } from '../../terminal/print.ts';
import { resultWidth } from '../../terminal/terminal.ts';
import type { ToolRunner } from './with-tools.ts';

/** A run as read_evaluation returns it. */
export type Run = RunWithFigures & RunFigures;

/** The result of read_evaluation for runs, with their rows. */
export type Results = Omit<EvaluationResult, 'runs'> & { runs: Run[]; rows: ShownRow[] };

const rowsPerCall = 1000;

/** Reads runs with their rows: the first `limit` of them, or all. */
export async function readResultsOf(
  runIds: readonly string[],
  limit: number,
  runner: ToolRunner,
  args: Record<string, unknown>,
): Promise<Results> {
  const rows: ShownRow[] = [];
  for (;;) {
    const page = Math.min(rowsPerCall, limit - rows.length);
    const part = { run_ids: runIds, limit: Math.max(1, page), offset: rows.length, max_value_chars: 1000 };
    const results: Results = await runner.run('read_evaluation', { ...args, ...part });
    rows.push(...results.rows);
    if (rows.length >= limit || results.next_offset === undefined) return { ...results, rows: rows.slice(0, limit) };
  }
}

/** Prints a list of runs for people at a narrow terminal, a block for each run. */
function printRunBlocks({ runs, total }: Results): void {
  const blocks = runs.map((run) => {
    const { run_id, error = '', evaluation = '', model = '', prompt = '', baselines = [], started_at = '' } = run;
    const facts = { run_id, status: statusWords(run), error, evaluation, model, prompt };
    const scores = run.scorers?.map((figures) => [figures.scorer, renderFigures(figures)] as const) ?? [];
    const rest = {
      baseline: baselines.join(', '),
      started_at: toSeconds(started_at),
      took: usageWords(run).join(', '),
    };
    return drawRecord([...Object.entries({ ...facts, ...rest }), ...scores], resultWidth());
  });
  printLine([`${pluralize(runs.length, 'run')} of ${total}, the newest first.`, ...blocks].join('\n\n'));
}

/** Prints what a tool returned: for people the text that a model reads too, else JSON. */
export async function printResult(name: string, result: object, form: OutputForm): Promise<void> {
  if (!isForPeople(form)) return printJson(result);
  const isRunList = name === 'read_evaluation' && !('rows' in result);
  if (isRunList && resultWidth() < minTableWidth) return printRunBlocks(result as Results);
  const tool = await tools.find((each) => each.name === name)!.load();
  const option = 'rows' in result ? '--rows' : '--limit';
  printAligned(tool.render(result).replace(/(?<= More follow: )next_offset \d+(?=\.$)/m, `${option} shows them`));
}
