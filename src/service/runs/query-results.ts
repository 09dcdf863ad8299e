import type { RecordedCall } from '../../contract/calls.ts';
import type { BodyOf, ResultOf } from '../../contract/endpoints.ts';
import type { EvaluationRow, EvaluationSummary, EvaluationTrial } from '../../contract/evaluation-runs.ts';
import { parsePartReference } from '../../contract/references.ts';
import { appendTo } from '../../core/append-to.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { plainNumber } from '../../core/json/exact-number.ts';
import { type Members, objectOrEmpty } from '../../core/json/json-object.ts';
import { meanOf, ScoreLists, sumOf } from '../../core/statistics/score-lists.ts';
import { createCostAdder } from '../operations/costs.ts';
import { ComparedRecord, compileCondition } from '../query/condition.ts';
import { compareValues, fieldAt, sortValueOf } from '../query/sort-records.ts';
import type { RequestBudget } from '../request-budget.ts';
import type { Database, ProjectFilter } from '../storage/database.ts';
import { memoryBytesOf } from '../storage/memory-bytes.ts';
import { createPartReader, type PartReader } from '../storage/read-part.ts';
import { attributesOf, isRun, readCallsById, readTrees, readTrials, rowDigestOf } from './recorded-runs.ts';
import { outputOf, scoresOf, toTrial } from './recorded-trials.ts';
import { statisticsOf } from './score-statistics.ts';

type SortKey = NonNullable<BodyOf<'queryEvaluationResults'>['sort_by']>[number];

/** A row of the dataset, without its contents: where its trials are, and what decides on its place. */
interface IndexedRow {
  digest: string;
  /** Ids of the trials by run. */
  trials: Map<string, string[]>;
  /** For each filter: the result for the first trial that it applies to. */
  passes: (boolean | undefined)[];
  /** For each sort key: the values by run. */
  keys: Map<string, SortValues>[];
}

interface SortValues {
  numbers: number[];
  /** The first value that is no number. */
  text: string | undefined;
}

/** The parts of a request that every step needs. */
interface ResultsQuery {
  database: Database;
  project_id: string;
  runIds: string[];
  request: BodyOf<'queryEvaluationResults'>;
  readPart: PartReader;
  addCosts: (calls: readonly RecordedCall[]) => Promise<void>;
  budget: RequestBudget;
}

/**
 * Reads the results of runs from recorded calls, whatever program recorded them.
 * @throws Refusal 400 for a field that results cannot be sorted or filtered by, 413 for rows that are too large together,
 * 422 for a filter that cannot be evaluated.
 */
export async function readResults(
  database: Database,
  project_id: string,
  request: BodyOf<'queryEvaluationResults'>,
  maySee: ProjectFilter,
  budget: RequestBudget,
): Promise<ResultOf<'queryEvaluationResults'>> {
  const runIds = [...new Set([...(request.evaluation_call_ids ?? []), ...(request.evaluation_run_ids ?? [])])];
  const readPart = createPartReader(database, maySee, budget);
  const addCosts = createCostAdder(database, project_id, budget);
  const query: ResultsQuery = { database, project_id, runIds, request, readPart, addCosts, budget };
  const index = await indexRows(query);
  const runs = await readRuns(query);
  const selected = selectRows(index, query, request.require_intersection ?? false);
  const offset = request.offset ?? 0;
  const page = selected.slice(offset, request.limit == null ? undefined : offset + request.limit);
  const includeRows = request.include_rows ?? true;
  const summary = request.include_summary ? await summarize(query, index, runs) : null;
  return {
    rows: includeRows ? await readRows(query, page) : [],
    total_rows: includeRows ? selected.length : 0,
    summary,
    warnings: warningsOf(query, runs),
  };
}

async function readRuns({ database, project_id, runIds, budget }: ResultsQuery): Promise<Map<string, RecordedCall>> {
  const runs = new Map<string, RecordedCall>();
  for await (const calls of readCallsById(database, project_id, runIds, budget)) {
    for (const run of calls.filter(isRun)) {
      budget.hold(memoryBytesOf(JSON.stringify(run)), 'ask for fewer runs at once');
      runs.set(run.id, run);
    }
  }
  return runs;
}

function warningsOf({ runIds }: ResultsQuery, runs: ReadonlyMap<string, RecordedCall>): string[] {
  return runIds.flatMap((id) => {
    const run = runs.get(id);
    if (!run) return [`There is no run ${id}.`];
    const { left_out_scorers } = attributesOf(run);
    const { reused_scores } = objectOrEmpty(run.summary);
    const leftOut = (Array.isArray(left_out_scorers) ? left_out_scorers : []).map((entry) => {
      const { scorer, reason } = objectOrEmpty(entry);
      return `Run ${id} left out the scorer ${scorer}: ${reason}`;
    });
    if (!reused_scores) return leftOut;
    return [...leftOut, `Run ${id} used ${reused_scores} kept scores of the same scorer, row and output again.`];
  });
}

/** Reads every trial once and returns the rows with what decides on their order, but not their contents. */
async function indexRows(query: ResultsQuery): Promise<Map<string, IndexedRow>> {
  const { budget } = query;
  const { sort_by, filters } = query.request;
  const keys = (sort_by ?? []).map(checkSortKey);
  const tests = (filters ?? []).map(({ evaluation_call_id, query: { $expr } }) => {
    checkFields($expr);
    return { run: evaluation_call_id ?? undefined, test: compileCondition($expr) };
  });
  const needsRow = JSON.stringify([sort_by, filters]).includes('"inputs.');
  const index = new Map<string, IndexedRow>();
  const columns = tests.length + keys.length > 0 ? (['inputs', 'output'] as const) : (['inputs'] as const);
  for await (const calls of readTrials(query.database, query.project_id, query.runIds, budget, columns)) {
    for (const call of calls) {
      const { example } = objectOrEmpty(call.inputs);
      const digest = rowDigestOf(example);
      const run = call.parent_id!;
      budget.hold(bytesPerTrial, 'ask for fewer runs at once');
      const row = index.get(digest) ?? {
        digest,
        trials: new Map<string, string[]>(),
        passes: tests.map(() => undefined),
        keys: keys.map(() => new Map<string, SortValues>()),
      };
      index.set(digest, row);
      appendTo(row.trials, run, call.id);
      const output = outputOf(call);
      if (tests.length === 0 && keys.length === 0) continue;
      const inputs = needsRow ? await resolveRow(query, example) : example;
      const record = { scores: scoresOf(call), inputs, output, outputs: output };
      const compared = new ComparedRecord(record);
      const bytes = memoryBytesOf(JSON.stringify(record));
      for (const [number, { run: ofRun, test }] of tests.entries()) {
        if ((ofRun !== undefined && ofRun !== run) || row.passes[number] !== undefined) continue;
        await budget.scan(bytes, test.scans);
        row.passes[number] = test.accepts(compared);
      }
      for (const [number, key] of keys.entries()) {
        if (key.mode === 'difference' || key.evaluation_call_id == null || key.evaluation_call_id === run) {
          await budget.scan(bytes, 1);
          const text = addSortValue(row.keys[number]!, run, fieldAt(record, key.field));
          if (text) budget.hold(text.length, 'sort by fewer or smaller members');
        }
      }
    }
  }
  return index;
}

/** The memory of what is kept of a trial, in bytes. */
const bytesPerTrial = 300;

/** Adds a value of a row. Returns its text if that is kept. */
function addSortValue(values: Map<string, SortValues>, run: string, found: unknown): string | undefined {
  const value = plainNumber(found);
  const known = values.get(run) ?? { numbers: [], text: undefined };
  values.set(run, known);
  if (typeof value === 'boolean' || typeof value === 'number') {
    known.numbers.push(Number(value));
    return undefined;
  }
  if (known.text !== undefined) return undefined;
  known.text = sortValueOf(value) as string | undefined;
  return known.text;
}

const fieldPattern = /^(scores|inputs|outputs?)(\.|$)/;

function checkSortKey(key: SortKey): SortKey {
  if (!fieldPattern.test(key.field)) throw unsupported('sort', key.field);
  if (key.mode === 'difference' && !key.field.startsWith('scores')) {
    throw new Refusal(400, `mode difference needs a field of scores, not ${key.field}`);
  }
  return key;
}

/** @throws Refusal 400 for a condition on anything but results. */
function checkFields(expression: unknown): void {
  if (typeof expression !== 'object' || expression === null) return;
  for (const [name, value] of Object.entries(expression)) {
    if (name === '$literal') continue;
    if (name === '$getField') {
      if (!fieldPattern.test(String(value))) throw unsupported('filter', String(value));
    } else checkFields(value);
  }
}

function unsupported(use: string, field: string): Refusal {
  return new Refusal(400, `Unsupported ${use} field: ${field}. Supported: scores.*, inputs.*, output.*`);
}

/** Returns the rows that a request asks for, in its order. */
function selectRows(
  index: ReadonlyMap<string, IndexedRow>,
  { request, runIds }: ResultsQuery,
  intersection: boolean,
): IndexedRow[] {
  const filters = request.filters ?? [];
  // Filters of one run must all match; with `or`, those of any run.
  const groups = new Map<string | undefined, number[]>();
  for (const [number, { evaluation_call_id }] of filters.entries()) {
    const run = request.filter_logic_operator === 'and' ? undefined : (evaluation_call_id ?? undefined);
    appendTo(groups, run, number);
  }
  const matches = ({ passes }: IndexedRow): boolean =>
    groups.size === 0 || [...groups.values()].some((group) => group.every((number) => passes[number]));
  return [...index.values()]
    .filter(({ trials }) => !intersection || runIds.every((id) => trials.has(id)))
    .filter(matches)
    .map((row) => ({ row, keys: (request.sort_by ?? []).map((key, number) => sortableOf(row.keys[number]!, key)) }))
    .sort((a, b) => compareValues(a.keys, b.keys, request.sort_by ?? []) || (a.row.digest < b.row.digest ? -1 : 1))
    .map(({ row }) => row);
}

/** Returns the mean of the values of a row, the difference between its runs, or its first text. */
function sortableOf(values: ReadonlyMap<string, SortValues>, { mode }: SortKey): number | string | undefined {
  const all = [...values.values()];
  if (mode === 'difference') {
    const means = all.flatMap(({ numbers }) => meanOf(numbers) ?? []);
    return means.length === 0 ? undefined : Math.max(...means) - Math.min(...means);
  }
  return meanOf(all.flatMap(({ numbers }) => numbers)) ?? all.find(({ text }) => text !== undefined)?.text;
}

/** Returns the row that a reference leads to; another value, or a reference that leads to none, as it is. */
async function resolveRow({ readPart }: ResultsQuery, example: unknown): Promise<unknown> {
  const reference = typeof example === 'string' ? parsePartReference(example) : undefined;
  return (reference && (await readPart(reference))) ?? example;
}

/** Reads the trials of rows, and the rows of the dataset themselves if the request asks for those. */
async function readRows(query: ResultsQuery, page: readonly IndexedRow[]): Promise<EvaluationRow[]> {
  const { database, project_id, request, budget } = query;
  const holdValue = (value: unknown): void =>
    budget.hold(memoryBytesOf(JSON.stringify(value)), 'ask for fewer rows at once, with limit and offset');
  const found = page.map((row) => ({ ...row, ids: [...row.trials.values()].flat() }));
  const firstIds = new Set(found.map(({ ids }) => ids[0]));
  const trials = new Map<string, EvaluationTrial>();
  const examples = new Map<string, unknown>();
  const allIds = found.flatMap(({ ids }) => ids);
  for await (const calls of readCallsById(database, project_id, allIds, budget)) {
    for await (const trial of toTrials(query, calls)) {
      holdValue(trial);
      trials.set(trial.predict_and_score_call_id, trial);
    }
    if (!request.include_raw_data_rows) continue;
    for (const { id, inputs } of calls.filter(({ id }) => firstIds.has(id))) {
      const recorded = objectOrEmpty(inputs).example ?? null;
      const row = request.resolve_row_refs ? await resolveRow(query, recorded) : recorded;
      holdValue(row);
      examples.set(id, row);
    }
  }
  return found.map(({ digest, ids, trials: idsByRun }) => ({
    row_digest: digest,
    raw_data_row: examples.get(ids[0]!) ?? null,
    evaluations: [...idsByRun].map(([evaluation_call_id, idsOfRun]) => ({
      evaluation_call_id,
      trials: idsOfRun.flatMap((id) => trials.get(id) ?? []),
    })),
  }));
}

/** Returns calls as trials, with what the calls that they made add to them. */
async function* toTrials(
  { database, project_id, request, addCosts, budget }: ResultsQuery,
  calls: readonly RecordedCall[],
): AsyncGenerator<EvaluationTrial, void, undefined> {
  if (request.include_predict_and_score_children === false) {
    yield* calls.map((call) => toTrial(call, []));
    return;
  }
  for await (const trees of readTrees(database, project_id, calls, budget)) {
    for (const { call, children } of trees) {
      if (request.include_costs) await addCosts(children);
      yield toTrial(call, children, { hasCosts: request.include_costs });
    }
  }
}

/** Computes the statistics of each run from its trials, which are read in batches. */
async function summarize(
  query: ResultsQuery,
  index: ReadonlyMap<string, IndexedRow>,
  runs: ReadonlyMap<string, RecordedCall>,
): Promise<ResultOf<'queryEvaluationResults'>['summary']> {
  const { request, database, project_id, budget } = query;
  const intersection = request.summary_require_intersection ?? request.require_intersection ?? false;
  const isCounted = ({ trials }: IndexedRow): boolean => !intersection || query.runIds.every((id) => trials.has(id));
  const counted = [...index.values()].filter(isCounted);
  const countedIds = new Set(counted.flatMap(({ trials }) => [...trials.values()].flat()));
  const evaluations: EvaluationSummary[] = [];
  for (const id of query.runIds) {
    const lists = new ScoreLists({ keepsTexts: false });
    const scorerErrors = new Map<string, number>();
    const tokens: number[] = [];
    const costs: number[] = [];
    const judgeTokens: number[] = [];
    const judgeCosts: number[] = [];
    const unpriced = new Set<string>();
    let [trial_count, error_count] = [0, 0];
    for await (const calls of readTrials(database, project_id, [id], budget)) {
      const included = calls.filter((call) => countedIds.has(call.id));
      for await (const trial of toTrials(query, included)) {
        trial_count += 1;
        if (trial.error != null) error_count += 1;
        if (trial.total_tokens != null) tokens.push(trial.total_tokens);
        if (trial.total_cost != null) costs.push(trial.total_cost);
        if (trial.judge_tokens != null) judgeTokens.push(trial.judge_tokens);
        if (trial.judge_cost != null) judgeCosts.push(trial.judge_cost);
        for (const model of trial.unpriced_models ?? []) unpriced.add(model);
        lists.add(trial.scores);
        for (const scorer of Object.keys(trial.scorer_errors ?? {})) {
          scorerErrors.set(scorer, (scorerErrors.get(scorer) ?? 0) + 1);
        }
      }
    }
    const run = runs.get(id);
    if (!run && trial_count === 0) continue;
    const { self, this: itself, model } = objectOrEmpty(run?.inputs) as Members;
    evaluations.push({
      evaluation_call_id: id,
      trial_count,
      scorer_stats: statisticsOf(lists, scorerErrors),
      predict_total_tokens: sumOf(tokens) ?? null,
      predict_total_cost: sumOf(costs) ?? null,
      judge_total_tokens: sumOf(judgeTokens) ?? null,
      judge_total_cost: sumOf(judgeCosts) ?? null,
      ...(unpriced.size > 0 && { unpriced_models: [...unpriced].sort() }),
      evaluation_ref: textOf(self ?? itself),
      model_ref: textOf(model),
      display_name: run?.display_name ?? null,
      trace_id: run?.trace_id ?? null,
      started_at: run?.started_at ?? null,
      error_count,
      row_count: counted.filter(({ trials }) => trials.has(id)).length,
    });
  }
  return { row_count: counted.length, evaluations };
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
