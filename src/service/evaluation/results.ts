import type { RecordedCall } from '../../contract/calls.ts';
import type {
  EvaluationRow,
  EvaluationSummary,
  EvaluationTrial,
  QueryEvaluationResultsRequest,
  QueryEvaluationResultsResponse,
} from '../../contract/evaluation-runs.ts';
import { parsePartReference } from '../../contract/references.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { addCosts } from '../operations/costs.ts';
import { ResponseSize } from '../operations/response-size.ts';
import { compileCondition } from '../query/condition.ts';
import { compareValues, fieldAt } from '../query/sort-records.ts';
import type { Database, ProjectFilter } from '../storage/database.ts';
import { createPartReader } from '../storage/read-part.ts';
import {
  attributesOf,
  isRun,
  membersOf,
  readCallsById,
  readChildren,
  readTrials,
  rowDigestOf,
} from './recorded-runs.ts';
import { ScoreStatistics } from './score-statistics.ts';
import { outputOf, scoresOf, toTrial } from './trials.ts';

type Members = Record<string, unknown>;
type SortKey = NonNullable<QueryEvaluationResultsRequest['sort_by']>[number];

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
  sum: number;
  count: number;
  first: unknown;
}

/** The parts of a request that every step needs. */
interface ResultsQuery {
  database: Database;
  project_id: string;
  runIds: string[];
  maySee: ProjectFilter;
  request: QueryEvaluationResultsRequest;
}

/**
 * Reads the results of runs from recorded calls, whoever recorded them.
 * @throws Refusal 400 for a field that results cannot be sorted or filtered by, 413 for rows that are too large together,
 * 422 for a filter that cannot be evaluated.
 */
export async function readResults(
  database: Database,
  project_id: string,
  request: QueryEvaluationResultsRequest,
  maySee: ProjectFilter,
): Promise<QueryEvaluationResultsResponse> {
  const runIds = [...new Set([...(request.evaluation_call_ids ?? []), ...(request.evaluation_run_ids ?? [])])];
  const query: ResultsQuery = { database, project_id, runIds, maySee, request };
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

async function readRuns({ database, project_id, runIds }: ResultsQuery): Promise<Map<string, RecordedCall>> {
  const runs = new Map<string, RecordedCall>();
  for await (const calls of readCallsById(database, project_id, runIds)) {
    for (const call of calls) if (isRun(call)) runs.set(call.id, call);
  }
  return runs;
}

function warningsOf({ runIds }: ResultsQuery, runs: ReadonlyMap<string, RecordedCall>): string[] {
  return runIds.flatMap((id) => {
    const run = runs.get(id);
    if (!run) return [`There is no run ${id}.`];
    const { left_out_scorers } = attributesOf(run);
    return (Array.isArray(left_out_scorers) ? left_out_scorers : []).map((entry) => {
      const { scorer, reason } = membersOf(entry);
      return `Run ${id} left out the scorer ${scorer}: ${reason}`;
    });
  });
}

/** Reads every trial once and returns the rows with what decides on their order, but not their contents. */
async function indexRows(query: ResultsQuery): Promise<Map<string, IndexedRow>> {
  const { sort_by, filters } = query.request;
  const keys = (sort_by ?? []).map(checkSortKey);
  const tests = (filters ?? []).map(({ evaluation_call_id, query: { $expr } }) => {
    checkFields($expr);
    return { run: evaluation_call_id ?? undefined, test: compileCondition($expr).accepts };
  });
  const needsRow = JSON.stringify([sort_by, filters]).includes('"inputs.');
  const index = new Map<string, IndexedRow>();
  for await (const calls of readTrials(query.database, query.project_id, query.runIds)) {
    const examples = calls.map((call) => membersOf(call.inputs).example);
    const rows = needsRow ? await resolveRows(query, examples) : examples;
    for (const [at, call] of calls.entries()) {
      const digest = rowDigestOf(examples[at]);
      const run = call.parent_id!;
      const row = index.get(digest) ?? {
        digest,
        trials: new Map<string, string[]>(),
        passes: tests.map(() => undefined),
        keys: keys.map(() => new Map<string, SortValues>()),
      };
      index.set(digest, row);
      const ids = row.trials.get(run);
      if (ids) ids.push(call.id);
      else row.trials.set(run, [call.id]);
      const output = outputOf(call);
      const record = { scores: scoresOf(call), inputs: rows[at], output, outputs: output };
      for (const [number, { run: ofRun, test }] of tests.entries()) {
        if (ofRun === undefined || ofRun === run) row.passes[number] ??= test(record);
      }
      for (const [number, key] of keys.entries()) {
        if (key.mode === 'difference' || key.evaluation_call_id == null || key.evaluation_call_id === run) {
          addSortValue(row.keys[number]!, run, fieldAt(record, key.field));
        }
      }
    }
  }
  return index;
}

function addSortValue(values: Map<string, SortValues>, run: string, value: unknown): void {
  const known = values.get(run) ?? { sum: 0, count: 0, first: undefined };
  values.set(run, known);
  const number = typeof value === 'boolean' ? Number(value) : value;
  if (typeof number === 'number') {
    known.sum += number;
    known.count += 1;
  } else known.first ??= typeof number === 'object' && number !== null ? JSON.stringify(number) : number;
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
    groups.set(run, [...(groups.get(run) ?? []), number]);
  }
  const fits = ({ passes }: IndexedRow): boolean =>
    groups.size === 0 || [...groups.values()].some((group) => group.every((number) => passes[number]));
  return [...index.values()]
    .filter(({ trials }) => !intersection || runIds.every((id) => trials.has(id)))
    .filter(fits)
    .map((row) => ({ row, keys: (request.sort_by ?? []).map((key, number) => sortableOf(row.keys[number]!, key)) }))
    .sort((a, b) => compareValues(a.keys, b.keys, request.sort_by ?? []) || (a.row.digest < b.row.digest ? -1 : 1))
    .map(({ row }) => row);
}

/** Returns the mean of the values of a row, the difference between its runs, or its first text. */
function sortableOf(values: ReadonlyMap<string, SortValues>, { mode }: SortKey): number | string | undefined {
  const all = [...values.values()];
  const counted = all.filter(({ count }) => count > 0);
  if (mode === 'difference') {
    const means = counted.map(({ sum, count }) => sum / count);
    return means.length === 0 ? undefined : Math.max(...means) - Math.min(...means);
  }
  const count = counted.reduce((total, entry) => total + entry.count, 0);
  if (count > 0) return counted.reduce((total, entry) => total + entry.sum, 0) / count;
  const text = all.find(({ first }) => first !== undefined && first !== null)?.first;
  return text === undefined ? undefined : String(text);
}

/** Returns the rows to which references lead, in their order; anything else, and what leads nowhere, stays as it is. */
async function resolveRows({ database, maySee }: ResultsQuery, examples: readonly unknown[]): Promise<unknown[]> {
  if (!examples.some((example) => typeof example === 'string')) return [...examples];
  return database.read(async (transaction) => {
    const read = createPartReader(transaction, maySee);
    const rows: unknown[] = [];
    for (const example of examples) {
      const reference = typeof example === 'string' ? parsePartReference(example) : undefined;
      rows.push((reference && (await read(reference))) ?? example);
    }
    return rows;
  });
}

/** Maximum number of trials that are read before they are put into their rows. */
const trialsPerRead = 500;

async function readRows(query: ResultsQuery, page: readonly IndexedRow[]): Promise<EvaluationRow[]> {
  const size = new ResponseSize('ask for fewer rows at once, with limit and offset');
  const rows: EvaluationRow[] = [];
  let start = 0;
  while (start < page.length) {
    const part: IndexedRow[] = [];
    const ids: string[] = [];
    while (start < page.length && (part.length === 0 || ids.length < trialsPerRead)) {
      const row = page[start]!;
      part.push(row);
      ids.push(...[...row.trials.values()].flat());
      start += 1;
    }
    const { trials, examples } = await readTrialsById(query, ids, size);
    for (const { digest, trials: idsByRun } of part) {
      const evaluations = [...idsByRun].map(([evaluation_call_id, ofRun]) => ({
        evaluation_call_id,
        trials: ofRun.flatMap((id) => trials.get(id) ?? []),
      }));
      const first = [...idsByRun.values()].flat().find((id) => examples.has(id));
      rows.push({ row_digest: digest, raw_data_row: first === undefined ? null : examples.get(first), evaluations });
    }
  }
  return rows;
}

/** Reads trials, and the rows of the dataset that they are about if the request asks for those. */
async function readTrialsById(query: ResultsQuery, ids: readonly string[], size: ResponseSize) {
  const { database, project_id, request } = query;
  const trials = new Map<string, EvaluationTrial>();
  const examples = new Map<string, unknown>();
  for await (const calls of readCallsById(database, project_id, ids)) {
    for (const trial of await toTrials(query, calls)) {
      size.add(JSON.stringify(trial).length);
      trials.set(trial.predict_and_score_call_id, trial);
    }
    if (!request.include_raw_data_rows) continue;
    const recorded = calls.map(({ inputs }) => membersOf(inputs).example ?? null);
    const rows = request.resolve_row_refs ? await resolveRows(query, recorded) : recorded;
    for (const [at, { id }] of calls.entries()) {
      size.add(JSON.stringify(rows[at]).length);
      examples.set(id, rows[at]);
    }
  }
  return { trials, examples };
}

async function toTrials(
  { database, project_id, request }: ResultsQuery,
  calls: readonly RecordedCall[],
): Promise<EvaluationTrial[]> {
  const children =
    (request.include_predict_and_score_children ?? true)
      ? await readChildren(
          database,
          project_id,
          calls.map(({ id }) => id),
        )
      : new Map<string, RecordedCall[]>();
  if (request.include_costs) {
    const made = [...children.values()].flat();
    await database.read((transaction) => addCosts(transaction, project_id, made));
  }
  return calls.map((call) => toTrial(call, children.get(call.id) ?? []));
}

/** Computes the statistics of each run from its trials, which are read in batches. */
async function summarize(
  query: ResultsQuery,
  index: ReadonlyMap<string, IndexedRow>,
  runs: ReadonlyMap<string, RecordedCall>,
): Promise<QueryEvaluationResultsResponse['summary']> {
  const { request, database, project_id } = query;
  const intersection = request.summary_require_intersection ?? request.require_intersection ?? false;
  const isCounted = ({ trials }: IndexedRow): boolean => !intersection || query.runIds.every((id) => trials.has(id));
  const counted = new Set([...index.values()].filter(isCounted).map(({ digest }) => digest));
  const evaluations: EvaluationSummary[] = [];
  for (const id of query.runIds) {
    const statistics = new ScoreStatistics();
    const totals = {
      trials: 0,
      errors: 0,
      tokens: undefined as number | undefined,
      cost: undefined as number | undefined,
    };
    for await (const calls of readTrials(database, project_id, [id])) {
      const included = calls.filter((call) => counted.has(rowDigestOf(membersOf(call.inputs).example)));
      for (const trial of await toTrials(query, included)) {
        totals.trials += 1;
        totals.errors += trial.error == null ? 0 : 1;
        totals.tokens = added(totals.tokens, trial.total_tokens);
        totals.cost = added(totals.cost, trial.total_cost);
        statistics.add(trial.scores ?? {});
        for (const scorer of Object.keys(trial.scorer_errors ?? {})) statistics.addError(scorer);
      }
    }
    const run = runs.get(id);
    if (!run && totals.trials === 0) continue;
    const { self, this: itself, model } = membersOf(run?.inputs) as Members;
    evaluations.push({
      evaluation_call_id: id,
      trial_count: totals.trials,
      scorer_stats: statistics.toList(),
      predict_total_tokens: totals.tokens ?? null,
      predict_total_cost: totals.cost ?? null,
      evaluation_ref: textOf(self ?? itself),
      model_ref: textOf(model),
      display_name: run?.display_name ?? null,
      trace_id: run?.trace_id ?? null,
      started_at: run?.started_at ?? null,
      error_count: totals.errors,
    });
  }
  return { row_count: counted.size, evaluations };
}

function added(sum: number | undefined, value: number | null | undefined): number | undefined {
  return value == null ? sum : (sum ?? 0) + value;
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
