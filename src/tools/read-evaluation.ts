import * as z from 'zod';
import { ifSupported } from '../client/with-fallback.ts';
import type { EvaluationRun } from '../contract/evaluation-runs.ts';
import { splitProjectId } from '../contract/identifiers.ts';
import { HeddleError, invalidArgument } from '../core/errors.ts';
import {
  agreementWithExpected,
  rowColumnsOf,
  type ScorerAgreement,
  scorerAgreement,
} from '../evaluations/agreement-with-column.ts';
import { findNamedRun, readBaselines } from '../evaluations/baselines.ts';
import { judgesOfRuns } from '../evaluations/calibrations.ts';
import { applicableScores, compareScores, scorerComparison } from '../evaluations/compare-runs.ts';
import { nameInReference, runsOfEvaluation } from '../evaluations/find-evaluation.ts';
import { orderByInputs, rankRows, rowChoice, type ShownRow, shownRow, toShownRows } from '../evaluations/rank-rows.ts';
import {
  type ResultRow,
  readFigures,
  readRunResults,
  resolveRows,
  runFacts,
  runWithFigures,
  unknownRun,
  withFigures,
} from '../evaluations/read-run-results.ts';
import { renderFigures, renderRunList, renderRuns, renderRunTable } from '../evaluations/render-runs.ts';
import {
  changeWords,
  comparisonColumns,
  comparisonNote,
  comparisonWords,
  isProbability,
  probabilityWords,
  scoreWords,
  withoutCommonBeginning,
} from '../evaluations/result-words.ts';
import { figuresOf, type RunFigures } from '../evaluations/score-figures.ts';
import { withSdkRuns } from '../evaluations/sdk-runs.ts';
import { requireColumn, type Slice, slice, sliceRows } from '../evaluations/slice-rows.ts';
import { cell, compactTable, escapeInvisible } from '../text/compact-table.ts';
import { shortName } from '../text/names.ts';
import { pageMembers, pagePosition, pluralize, withFirstRows } from '../text/page.ts';
import { renderAgreement } from '../text/render-agreement.ts';
import { defineTool, projectArgument, projectOf, type ToolContext } from './definition/tool.ts';

const maxRuns = 10;

const input = z
  .strictObject({
    run_ids: z
      .array(z.string().min(1).max(256))
      .min(1)
      .max(maxRuns)
      .optional()
      .describe('Ids or names of baselines, the first is compared with.'),
    evaluation: z.string().min(1).optional().describe('Name or reference, for its newest runs.'),
    compare: z.boolean().optional().describe('Compare the newest two.'),
    expected: z.string().optional().describe("Column with people's judgements, for agreement."),
    only: rowChoice.optional(),
    slice_by: z.string().optional().describe('Column: figures by value.'),
    limit: z.int().min(1).max(1000).default(10).describe('Maximum number of rows, or of runs of an evaluation.'),
    offset: z.int().min(0).default(0),
    max_value_chars: z.int().min(1).max(1000).default(200),
    project_id: projectArgument('Project of the runs'),
  })
  .superRefine(({ run_ids, evaluation, compare, only }, context) => {
    const refuse = (message: string): void => context.addIssue({ code: 'custom', message });
    if ((run_ids === undefined) === (evaluation === undefined)) refuse('needs either run_ids or evaluation');
    const isCompared = (run_ids?.length ?? 0) > 1 || (evaluation !== undefined && compare === true);
    if (only === 'changed' && !isCompared) refuse('only "changed" needs two run_ids, or evaluation with compare');
  });

/** A run compared with the first one. */
const runComparison = z.object({
  baseline: z.string(),
  run_id: z.string(),
  shared_rows: z.int().describe('Rows that both runs have.'),
  other_rows: z.int().optional().describe('Rows that only one of them has.'),
  scorers: z.array(scorerComparison),
});
export type RunComparison = z.output<typeof runComparison>;

const output = z.object({
  runs: z.array(runWithFigures).describe('Figures by run.'),
  comparisons: z.array(runComparison).optional(),
  agreement: z.array(scorerAgreement).optional(),
  slices: z.array(slice).optional().describe('By slice_by.'),
  rows: z.array(shownRow).optional().describe('Absent in a list of runs.'),
  ...pageMembers,
  total: z.int().describe('Rows that match, or runs.'),
  note: z.string().optional(),
  warnings: z.array(z.string()).optional(),
});

/** The result of read_evaluation: runs with their rows, or a list of runs. */
export type EvaluationResult = z.output<typeof output>;

export const readEvaluationTool = defineTool({
  name: 'read_evaluation',
  title: 'Read results of evaluations',
  groups: ['evaluation'],
  uses: ['listEvaluationRuns', 'queryCalls', 'queryEvaluationResults'],
  description: `Reads runs: status, figures of each scorer, and rows, the worst first. Of several runs it compares the shared rows: better, worse, or chance.
Example: {"evaluation":"Support answers"}`,
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  view: 'ui://heddle/evaluation',
  input,
  output,
  hasTimes: true,

  async run({ run_ids, evaluation, compare = false, ...args }, context): Promise<EvaluationResult> {
    const project = projectOf(args, context);
    if (evaluation === undefined) return readRuns(await knownRuns(run_ids!, project, context), args, project, context);
    const runs = await runsOfEvaluation(evaluation, project, context.service);
    const [newest] = runs;
    const { expected, only, slice_by } = args;
    if (!compare && newest && (expected ?? only ?? slice_by) !== undefined) {
      const results = await readRuns([newest], args, project, context);
      return { ...results, note: `The newest of ${pluralize(runs.length, 'run')}; pass run_ids for others.` };
    }
    if (!compare) return listRuns(runs, args, project, context);
    const finished = runs.filter(({ status }) => status !== 'running');
    // A run of a sample has other rows than a run of the whole.
    const earlierOf = (run: EvaluationRun, index: number): EvaluationRun | undefined =>
      finished.slice(index + 1).find((other) => nameOf(other) === nameOf(run));
    const newer = finished.find(earlierOf);
    const older = newer && earlierOf(newer, finished.indexOf(newer));
    if (older) return readRuns([older, newer], args, project, context);
    throw new HeddleError({
      code: 'not_found',
      message: `Nothing can be compared: the evaluation has ${pluralize(finished.length, 'finished run')}${finished.length > 1 ? ', each on other rows' : ''}.`,
      hint: 'Run it with run_evaluation, or pass run_ids of two runs of any evaluations.',
    });
  },

  render(result: EvaluationResult) {
    const {
      runs,
      comparisons = [],
      agreement = [],
      slices = [],
      rows,
      offset,
      next_offset,
      total,
      note,
      warnings = [],
    } = result;
    const more = next_offset === undefined ? '' : ` More follow: next_offset ${next_offset}.`;
    if (rows === undefined) {
      const heading = runs.length === 0 ? `No runs at offset ${offset}: there are ${total}.` : '';
      return [
        heading || `${pluralize(runs.length, 'run')} of ${total} from offset ${offset}, the newest first.${more}`,
        ...renderRunList(runs),
        ...warnings.map(escapeInvisible),
      ].join('\n');
    }
    return [
      ...renderRuns(runs),
      ...renderRunTable(runs),
      ...comparisons.map((comparison) => renderComparison(comparison, runs)),
      ...(note === undefined ? [] : [note]),
      ...agreement.map((entry) => renderAgreementWithColumn(entry, runs)),
      ...renderSlices(slices, runs),
      ...warnings.map(escapeInvisible),
      ...(rows.length > 0
        ? [
            `${pluralize(rows.length, 'row')} of ${total} from offset ${offset}.${more}`,
            compactTable(rows.map(tableRow), ['call_id']),
          ]
        : total === 0
          ? [comparisons.length > 0 ? 'No rows to show.' : 'No rows match.']
          : offset > 0
            ? [`No rows at offset ${offset}: ${total} match.`]
            : []),
    ].join('\n');
  },

  shrink(result, share) {
    if (result.rows === undefined) return withFirstRows(result, 'runs', share);
    return result.rows.length === 0 ? undefined : withFirstRows(result, 'rows', share);
  },
});

type RowArguments = Pick<
  z.output<typeof input>,
  'expected' | 'only' | 'slice_by' | 'limit' | 'offset' | 'max_value_chars'
>;

/**
 * Reads the runs with these ids, or names of baselines or evaluations, in their order.
 * @throws HeddleError `not_found` for an unknown one.
 */
async function knownRuns(ids: readonly string[], project: string, context: ToolContext): Promise<EvaluationRun[]> {
  const wanted = [...new Set(ids)];
  const runs = await findRuns(wanted, project, context);
  const evaluations = [...runs.values()].flatMap(({ evaluation }) => (evaluation ? nameInReference(evaluation) : []));
  for (const name of wanted.filter((id) => !runs.has(id))) {
    const id = await findNamedRun(name, evaluations, project, context.service);
    const run = (await findRuns([id], project, context)).get(id);
    if (!run) throw await unknownRun(name, project, context.service);
    runs.set(name, run);
  }
  return [...new Map(wanted.map((id) => [runs.get(id)!.evaluation_run_id, runs.get(id)!])).values()];
}

/** Finds runs by their ids, also those that SDKs recorded. */
async function findRuns(
  ids: readonly string[],
  project: string,
  { service }: ToolContext,
): Promise<Map<string, EvaluationRun>> {
  const found = await service.call('listEvaluationRuns', {
    path: splitProjectId(project),
    query: { evaluation_run_ids: [...ids] },
  });
  const listed = new Set(found.map((run) => run.evaluation_run_id));
  const missing = ids.filter((id) => !listed.has(id));
  const all =
    missing.length === 0
      ? found
      : await withSdkRuns(found, { call_ids: missing }, { project, limit: missing.length, service });
  return new Map(all.map((run) => [run.evaluation_run_id, run]));
}

function nameOf({ evaluation }: EvaluationRun): string {
  return nameInReference(evaluation ?? '');
}

/** Lists runs with the figures that the service computes. */
async function listRuns(
  runs: readonly EvaluationRun[],
  { limit, offset }: RowArguments,
  project: string,
  context: ToolContext,
): Promise<EvaluationResult> {
  const page = runs.slice(offset, offset + limit);
  const position = pagePosition(offset, page.length, runs.length > offset + limit);
  if (page.length === 0) return { runs: [], ...position, total: runs.length };
  const facts = await runFacts(page, project, context);
  const runIds = page.map(({ evaluation_run_id }) => evaluation_run_id);
  const judges = await judgesOfRuns(page, project, context.service);
  const { figures, warnings } = await readFigures(runIds, project, context, judges);
  const named = (await ifSupported(readBaselines(project, context.service))) ?? [];
  return {
    runs: facts.map((fact) => {
      const baselines = named.flatMap(({ run_id, name }) => (run_id === fact.run_id ? name : []));
      return { ...withFigures(fact, figures.get(fact.run_id)), ...(baselines.length > 0 && { baselines }) };
    }),
    ...position,
    total: runs.length,
    ...(warnings.length > 0 && { warnings }),
  };
}

/** Reads runs with their rows, and compares each with the first. */
async function readRuns(
  runs: readonly EvaluationRun[],
  { expected, only, slice_by, limit, offset, max_value_chars }: RowArguments,
  project: string,
  context: ToolContext,
): Promise<EvaluationResult> {
  const runIds = runs.map(({ evaluation_run_id }) => evaluation_run_id);
  const facts = await runFacts(runs, project, context);
  const { rows, warnings } = await readRunResults(runIds, project, context);
  if (expected !== undefined || slice_by !== undefined) await resolveRows(rows, context);
  const agreement = expected === undefined ? [] : agreementOfRuns(rows, runIds, expected);
  const pause = (): Promise<void> => context.service.pause();
  const judges = await judgesOfRuns(runs, project, context.service);
  const figures = new Map<string, RunFigures>();
  for (const run_id of runIds) {
    const trials = rows.map((row) => row.runs.get(run_id)?.trials ?? []);
    figures.set(run_id, figuresOf(trials, judges.get(run_id)));
    await pause();
  }
  const comparisons: RunComparison[] = [];
  for (const run_id of runIds.slice(1)) {
    comparisons.push(compareWith(runIds[0]!, run_id, rows));
    await pause();
  }
  const sliced = slice_by === undefined ? undefined : await sliceRows(rows, runIds, slice_by, judges, pause);
  const choice = only ?? (runIds.length > 1 && expected === undefined ? 'changed' : 'worst');
  const last = runIds.at(-1)!;
  const scorers = agreement.filter(({ run_id }) => run_id === last).map(({ scorer }) => scorer);
  const expectedColumn = expected === undefined ? undefined : { column: expected, scorers };
  const comparedScorers = new Set(comparisons.at(-1)?.scorers.map(({ scorer }) => scorer));
  const flaky = figures.get(last)!.scorers.filter(({ flaky_rows }) => flaky_rows);
  const flakyScorers = new Set(flaky.map(({ scorer }) => scorer));
  const ranked = rankRows(rows, runIds, { only: choice, expectedColumn, comparedScorers, flakyScorers });
  const page = ranked.slice(offset, offset + limit);
  await resolveRows(
    page.map(({ row }) => row),
    context,
  );
  const unfinished = facts.filter(({ status }) => status === 'running').length;
  const notices = [
    ...warnings,
    ...(unfinished > 0 ? [`${pluralize(unfinished, 'run')} not finished: figures and rows are of what is done.`] : []),
    ...(sliced?.others ? [`${pluralize(sliced.others, 'smaller slice')} left out.`] : []),
  ];
  return {
    runs: facts.map((fact) => withFigures(fact, figures.get(fact.run_id), rows)),
    ...(comparisons.length > 0 && {
      comparisons,
      note:
        choice !== 'changed' || only !== undefined
          ? comparisonNote(comparisons)
          : `${comparisonNote(comparisons)} Rows that did not change are left out${context.terminal ? '' : '; only "worst" returns them too'}.`,
    }),
    ...(agreement.length > 0 && { agreement }),
    ...(sliced && { slices: sliced.slices }),
    rows: toShownRows(orderByInputs(page), runIds, max_value_chars),
    ...pagePosition(offset, page.length, ranked.length > offset + limit),
    total: ranked.length,
    ...(notices.length > 0 && { warnings: notices }),
  };
}

function compareWith(baseline: string, run_id: string, rows: readonly ResultRow[]): RunComparison {
  const inEither = rows.filter(({ runs }) => runs.has(baseline) || runs.has(run_id));
  const shared = inEither.filter(({ runs }) => runs.has(baseline) && runs.has(run_id));
  const scores = shared.map(({ runs }) => {
    const [before, after] = [runs.get(baseline)!, runs.get(run_id)!];
    return [applicableScores(before.scores, after.trials), after.scores] as const;
  });
  const other_rows = inEither.length - shared.length;
  return {
    baseline,
    run_id,
    shared_rows: shared.length,
    ...(other_rows > 0 && { other_rows }),
    scorers: compareScores(scores),
  };
}

/** @throws HeddleError `invalid_arguments` for a column that no row has, or with whose values no scorer can be compared. */
function agreementOfRuns(rows: readonly ResultRow[], runIds: readonly string[], column: string): ScorerAgreement[] {
  if (rows.length > 0) requireColumn('expected', column, rowColumnsOf(rows));
  const agreement = runIds.flatMap((runId) => agreementWithExpected(rows, runId, column));
  if (rows.length === 0 || agreement.length > 0) return agreement;
  throw invalidArgument('expected', {
    fault: `No scorer has a value that the column ${JSON.stringify(shortName(column))} has, so nothing can agree`,
    hint: 'Compare with a column whose values are those of the scorer, like true and false. Read the rows without expected to see both.',
  });
}

/** Returns the number of a run in the text, from 1. */
function placeOf(runId: string, runs: EvaluationResult['runs']): string {
  return `run ${runs.findIndex(({ run_id }) => run_id === runId) + 1}`;
}

function renderComparison(
  { baseline, run_id, shared_rows, other_rows, scorers }: RunComparison,
  runs: EvaluationResult['runs'],
): string {
  const others = other_rows === undefined ? '' : `, ${other_rows} more in one of them only`;
  const heading = `${placeOf(run_id, runs)} against ${placeOf(baseline, runs)}: ${pluralize(shared_rows, 'shared row')}${others}.`;
  if (scorers.length === 0) return heading;
  const columns = comparisonColumns.filter((column) => scorers.some((each) => each[column] !== undefined));
  const lines = scorers.map(({ scorer, verdict, ...counts }) => {
    const cells = columns.map((column) => {
      const value = counts[column] ?? '';
      return value !== '' && isProbability(column) ? probabilityWords(value) : value;
    });
    return [cell(scorer), ...cells, verdict].join('\t');
  });
  const sentences = scorers.map((each) => `${cell(each.scorer)}: ${comparisonWords(each)}`);
  return [heading, ...sentences, ['scorer', ...columns, 'verdict'].join('\t'), ...lines].join('\n');
}

/** Returns a class as a cell; numbers and truth values are not taken for text. */
function classCell(name: string | undefined): string {
  return name !== undefined && /^(true|false|-?\d{1,15}(\.\d{1,15})?)$/.test(name) ? name : cell(name);
}

function renderAgreementWithColumn(agreement: ScorerAgreement, runs: EvaluationResult['runs']): string {
  const { run_id, scorer, n } = agreement;
  const place = runs.length > 1 ? ` of ${placeOf(run_id, runs)}` : '';
  const heading = `agreement of ${cell(scorer)}${place} with the column: ${pluralize(n, 'row')}`;
  return renderAgreement(heading, `expected \\ ${cell(scorer)}`, agreement, classCell).join('\n');
}

/** Renders the figures of each slice: a line for each of its scorers, with a column for each run. */
function renderSlices(slices: readonly Slice[], runs: EvaluationResult['runs']): string[] {
  if (slices.length === 0) return [];
  const headings = runs.map((_, index) => (runs.length > 1 ? `run ${index + 1}` : 'result'));
  const lines = slices.flatMap(({ value, rows, runs: parts }) => {
    const names = new Set(parts.flatMap(({ scorers }) => scorers.map(({ scorer }) => scorer)));
    return [...names].map((name) => {
      const figures = parts.map(({ scorers }) => scorers.find(({ scorer }) => scorer === name));
      return [classCell(value), rows, cell(name), ...figures.map((each) => (each ? renderFigures(each) : ''))];
    });
  });
  return [['slice', 'rows', 'scorer', ...headings], ...lines].map((line) => line.join('\t'));
}

/** Returns a row as a line of the table; scores have the names of their scorers. */
function tableRow({
  call_id,
  call_ids: _ids,
  inputs = {},
  scores,
  changes,
  ...rest
}: ShownRow): Record<string, unknown> {
  const { output, outputs, ...others } = rest;
  const named = Object.entries(scores).map(([name, value]) => {
    const words = changeWords((outputs ? (value as unknown[]) : [value]).map((each) => scoreWords(each)));
    return [`score ${name}`, typeof value === 'number' ? Number(words) : words];
  });
  return {
    call_id,
    ...inputs,
    ...(output !== undefined && { output }),
    ...(outputs &&
      Object.fromEntries(withoutCommonBeginning(outputs).map((each, at) => [`output of run ${at + 1}`, each]))),
    ...Object.fromEntries(named),
    ...(changes && {
      changes: Object.entries(changes)
        .map(([name, change]) => `${name} ${change}`)
        .join(', '),
    }),
    ...others,
  };
}
