import { type RawBuilder, sql } from 'kysely';
import type { ResultOf } from '../../contract/endpoints.ts';
import { type ModelUsage, maxTotalledCalls, type StatsBucket } from '../../contract/usage.ts';
import { appendTo } from '../../core/append-to.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { inBatches } from '../../core/in-batches.ts';
import { floatNumber, parseStoredJson } from '../../core/json/exact-number.ts';
import { isJsonObject, objectOrEmpty } from '../../core/json/json-object.ts';
import { ownMember } from '../../core/json/member-at.ts';
import { CallTotals, firstNumber, totalledColumns } from '../../core/statistics/call-totals.ts';
import { microsecondsOf, normalizeTimestamp, shortTimestamp } from '../../core/timestamps.ts';
import { nextTurn } from '../../core/turns.ts';
import type { CallsSelection, QueryAccess } from '../query/calls-plan.ts';
import { findCallRows, findCalls, measureCalls, sumCalls } from '../query/find-calls.ts';
import { type CallSums, toCallSums } from '../query/scan-calls.ts';
import { operationOf } from '../runs/recorded-runs.ts';
import type { Database } from '../storage/database.ts';
import { selectInProject } from '../storage/in-chunks.ts';
import { createCostAdder } from './costs.ts';
import type { OperationHandler } from './operation.ts';

/** Number of traces that one query reads, of which each statement sorts the calls of all. */
const tracesPerQuery = 50;

/** Adds up the usage of calls and of those that they made. Unknown calls are skipped. @throws Refusal 413 for too many calls. */
export const callsUsage: OperationHandler<'callsUsage'> = async ({ body, budget }, { database }) => {
  const { project_id, call_ids, include_costs } = body;
  if (call_ids.length === 0) return { call_usage: {}, unfinished_call_ids: [] };
  const traces = new Set<string>();
  const selection = { project_id, filter: { call_ids }, columns: ['trace_id'] };
  for await (const calls of findCalls(database, selection, { budget })) {
    for (const { trace_id } of calls) if (trace_id) traces.add(trace_id);
  }
  if (traces.size === 0) return { call_usage: {}, unfinished_call_ids: [] };
  const selections = Array.from(inBatches([...traces], tracesPerQuery), (trace_ids) => ({
    project_id,
    filter: { trace_ids },
  }));
  return addUp(await readUsage(database, selections, include_costs ?? false, { budget }), call_ids);
};

/**
 * Adds up the usage of each matching call and of the matching calls that it made.
 * @throws Refusal 422 for a query that cannot be evaluated, 413 for too many calls.
 */
export const traceUsage: OperationHandler<'traceUsage'> = async ({ body, maySee, budget }, { database }) => {
  const calls = await readUsage(database, [body], body.include_costs ?? false, { maySee, budget });
  return addUp(calls, [...calls.keys()]);
};

interface CallUsage {
  parent: string | null;
  hasEnded: boolean;
  models: Map<string, ModelUsage>;
}

const usageColumns = ['parent_id', 'ended_at', 'summary'] as const;

/** The memory of the usage of a call, in bytes. */
const bytesPerCall = 500;

async function readUsage(
  database: Database,
  selections: readonly CallsSelection[],
  withCosts: boolean,
  access: QueryAccess,
): Promise<Map<string, CallUsage>> {
  const addCosts = createCostAdder(database, selections[0]!.project_id, access.budget);
  const found = new Map<string, CallUsage>();
  for (const selection of selections) {
    for await (const rows of findCallRows(database, selection, usageColumns, access)) {
      const calls = rows.map((row) => ({ ...row, summary: parseStoredJson(row.summary ?? 'null') }));
      if (withCosts) await addCosts(calls);
      for (const { id, parent_id, ended_at, summary } of calls) {
        const models = usageOf(summary, withCosts);
        access.budget.hold(bytesPerCall * (1 + models.size), 'ask for fewer calls at once');
        found.set(id, { parent: parent_id, hasEnded: ended_at !== null, models });
      }
    }
  }
  return found;
}

const prices = ['prompt_tokens_total_cost', 'completion_tokens_total_cost'] as const;

function usageOf(recorded: unknown, withCosts: boolean): Map<string, ModelUsage> {
  const summary = objectOrEmpty(recorded);
  const costs = objectOrEmpty(objectOrEmpty(summary.weave).costs);
  return new Map(
    Object.entries(objectOrEmpty(summary.usage))
      .filter(([, usage]) => isJsonObject(usage))
      .map(([model, usage]) => {
        const cost = ownMember(costs, model);
        const priceOf = (name: string): number | null => (withCosts ? firstNumber(cost, name) : undefined) ?? null;
        return [
          model,
          {
            requests: firstNumber(usage, 'requests') ?? 0,
            prompt_tokens: firstNumber(usage, 'prompt_tokens', 'input_tokens') ?? 0,
            completion_tokens: firstNumber(usage, 'completion_tokens', 'output_tokens') ?? 0,
            total_tokens: firstNumber(usage, 'total_tokens') ?? 0,
            prompt_tokens_total_cost: priceOf(prices[0]),
            completion_tokens_total_cost: priceOf(prices[1]),
          },
        ];
      }),
  );
}

/** Adds the usage of each call to the calls above it, and returns that of some calls. */
function addUp(calls: ReadonlyMap<string, CallUsage>, ids: readonly string[]): ResultOf<'callsUsage'> {
  const children = new Map<string, string[]>();
  for (const [id, { parent }] of calls) if (parent !== null && calls.has(parent)) appendTo(children, parent, id);
  const totals = new Map<string, Map<string, ModelUsage>>();
  // Children come before their parents; a call that is its own ancestor is added once.
  const total = (start: string): Map<string, ModelUsage> => {
    const order = [start];
    const seen = new Set(order);
    for (const id of order) {
      for (const child of children.get(id) ?? []) {
        if (seen.has(child) || totals.has(child)) continue;
        order.push(child);
        seen.add(child);
      }
    }
    for (const id of order.reverse()) {
      const sum = new Map([...(calls.get(id)?.models ?? [])].map(([model, usage]) => [model, { ...usage }]));
      for (const child of children.get(id) ?? []) addTo(sum, totals.get(child));
      totals.set(id, sum);
    }
    return totals.get(start)!;
  };
  const known = [...new Set(ids)].filter((id) => calls.has(id));
  return {
    call_usage: Object.fromEntries(known.map((id) => [id, Object.fromEntries(totals.get(id) ?? total(id))])),
    unfinished_call_ids: known.filter((id) => !calls.get(id)!.hasEnded),
  };
}

function addTo(sum: Map<string, ModelUsage>, usages: ReadonlyMap<string, ModelUsage> | undefined): void {
  for (const [model, usage] of usages ?? []) {
    const known = sum.get(model);
    if (!known) {
      sum.set(model, { ...usage });
      continue;
    }
    known.requests += usage.requests;
    known.prompt_tokens += usage.prompt_tokens;
    known.completion_tokens += usage.completion_tokens;
    known.total_tokens += usage.total_tokens;
    for (const price of prices) {
      if (usage[price] != null) known[price] = (known[price] ?? 0) + usage[price];
    }
  }
}

/**
 * Adds up the newest calls that match, by operation.
 * @throws Refusal 422 for a query that cannot be evaluated, 413 for one that takes too much work.
 */
export const callTotals: OperationHandler<'callTotals'> = async ({ body, maySee, budget }, { database }) => {
  const { limit, ...selection } = body;
  const most = limit ?? maxTotalledCalls;
  const addCosts = createCostAdder(database, body.project_id, budget);
  const totals = new CallTotals();
  const query = {
    ...selection,
    columns: totalledColumns,
    sort_by: [{ field: 'started_at', direction: 'desc' as const }],
    limit: most + 1,
  };
  let has_more = false;
  for await (const calls of findCalls(database, query, { maySee, budget })) {
    const added = calls.slice(0, most - totals.size);
    has_more = added.length < calls.length;
    budget.hold(bytesPerCall * added.length, 'ask for fewer calls at once');
    await addCosts(added);
    for (const call of added) totals.add(operationOf(call), call);
  }
  return { ...totals.report(), has_more };
};

/** Maximum number of spans of time in a response. */
const maxBuckets = 10_000;
const usageMetrics = [
  ['input_tokens', 'prompt_tokens'],
  ['output_tokens', 'completion_tokens'],
  ['total_tokens', 'total_tokens'],
] as const;
interface Figures {
  count: number;
  sum: number;
  min: number;
  max: number;
}
/** The figures of a span of time, by metric. */
type Values = Map<string, Figures>;

function addFigures(values: Values, metric: string, added: Figures): void {
  const known = values.get(metric);
  if (!known) {
    values.set(metric, { ...added });
    return;
  }
  known.count += added.count;
  known.sum += added.sum;
  known.min = Math.min(known.min, added.min);
  known.max = Math.max(known.max, added.max);
}

function addCalls(values: Values, { count, failed, timed, latency, min_latency, max_latency }: CallSums): void {
  addFigures(values, 'call_count', { count, sum: count, min: 1, max: 1 });
  addFigures(values, 'error_count', { count, sum: failed, min: failed < count ? 0 : 1, max: failed > 0 ? 1 : 0 });
  if (timed > 0)
    addFigures(values, 'latency_ms', { count: timed, sum: latency!, min: min_latency!, max: max_latency! });
}

/** A time whose first 13, 16 and 19 characters are whole hours, minutes and seconds. */
const firstTime = '0000-01-01T00:00:00.000000Z';

/**
 * Adds up calls and their usage by spans of time, each of which has a bucket, also without calls. As in the public service, spans begin
 * at multiples of their length since 1970, so that the first and the last can be cut.
 * @throws Refusal 400 for times in the wrong order or too many spans, 413 for too many calls.
 */
export const callsStats: OperationHandler<'callsStats'> = async ({ body, budget }, { database }) => {
  const { project_id, filter, granularity, usage_metrics, call_metrics } = body;
  const seconds = granularity ?? 3600;
  const start = normalizeTimestamp(body.start)!;
  const end = normalizeTimestamp(body.end ?? new Date().toISOString())!;
  const [since, before] = [start, end].map((time) => microsecondsOf(time) / 1e6) as [number, number];
  if (before <= since) throw new Refusal(400, 'end must be after start');
  const first = Math.floor(since / seconds) * seconds;
  const spans = Math.ceil((before - first) / seconds);
  if (spans > maxBuckets) throw new Refusal(400, `More than ${maxBuckets} spans of time: use a larger granularity`);
  const ofModel = new Map<string, Values[]>();
  const ofCalls: Values[] = Array.from({ length: spans }, () => new Map());
  const field = { $getField: 'started_at' };
  const $expr = { $and: [{ $gte: [field, { $literal: since }] }, { $lt: [field, { $literal: before }] }] };
  const selection = { project_id, filter, query: { $expr } };
  const spanAt = (beginning: string): number => {
    const startedAt = microsecondsOf(beginning + firstTime.slice(beginning.length)) / 1e6;
    return Math.floor((startedAt - first) / seconds);
  };
  if (usage_metrics?.length) {
    for await (const rows of findCallRows(database, selection, ['exception', 'latency', 'summary'], { budget })) {
      for (const row of rows) {
        const span = spanAt(row.started_at);
        addCalls(ofCalls[span]!, toCallSums(row));
        for (const [model, usage] of usageOf(parseStoredJson(row.summary ?? 'null'), false)) {
          let known = ofModel.get(model);
          if (!known) {
            budget.hold(spans * bytesPerCall, 'use a larger granularity');
            known = Array.from({ length: spans }, () => new Map());
            ofModel.set(model, known);
          }
          for (const [metric, member] of usageMetrics) {
            const value = usage[member];
            addFigures(known[span]!, metric, { count: 1, sum: value, min: value, max: value });
          }
        }
      }
    }
  } else if (call_metrics?.length) {
    const chars = seconds % 3600 === 0 ? 13 : seconds % 60 === 0 ? 16 : 19;
    for await (const sums of sumCalls(database, selection, chars, { budget })) {
      for (const sum of sums) addCalls(ofCalls[spanAt(sum.started_at)]!, sum);
    }
  }
  const models = [...ofModel].sort(([a], [b]) => (a < b ? -1 : 1));
  const timeOf = (span: number): string => new Date((first + span * seconds) * 1000).toISOString().slice(0, 19);
  return {
    start: shortTime(start),
    end: shortTime(end),
    granularity: seconds,
    timezone: 'UTC',
    usage_buckets: ofCalls.flatMap((_, span) =>
      models.map(([model, values]) => ({
        timestamp: timeOf(span),
        model,
        ...figures(values[span]!, usage_metrics ?? [], floatNumber),
        count: values[span]!.get('total_tokens')?.count ?? 0,
      })),
    ),
    call_buckets: call_metrics?.length
      ? ofCalls.map((values, span) => ({
          timestamp: timeOf(span),
          ...figures(values, call_metrics, (value) => value),
          count: values.get('call_count')?.count ?? 0,
        }))
      : [],
  };
};

/** Writes a time without a fraction that is zero. */
function shortTime(utc: string): string {
  return shortTimestamp(utc).replace('.000Z', 'Z');
}

function figures(
  values: Values,
  metrics: readonly { metric: string; aggregations: readonly ('sum' | 'avg' | 'min' | 'max')[] }[],
  written: (value: number) => number,
): Omit<StatsBucket, 'timestamp' | 'count'> {
  return Object.fromEntries(
    metrics.flatMap(({ metric, aggregations }) => {
      const known = values.get(metric);
      const found = known ? { ...known, avg: known.sum / known.count } : { sum: 0, avg: null, min: null, max: null };
      return aggregations.map((name) => {
        const value = found[name];
        return [`${name}_${metric}`, value === null ? null : written(value)];
      });
    }),
  );
}

/** Measures what a project stores, in bytes: its JSON and its files. */
export const projectStats: OperationHandler<'projectStats'> = async ({ body, budget }, { database }) => {
  const { project_id } = body;
  const isWanted = (flag: boolean | null | undefined): boolean => flag ?? true;
  return {
    trace_storage_size_bytes: isWanted(body.include_trace_storage_size)
      ? (await measureCalls(database, { project_id }, { budget })).total_storage_size_bytes
      : null,
    objects_storage_size_bytes: isWanted(body.include_object_storage_size)
      ? await objectBytes(database, project_id)
      : null,
    tables_storage_size_bytes: isWanted(body.include_table_storage_size) ? await rowBytes(database, project_id) : null,
    files_storage_size_bytes: isWanted(body.include_file_storage_size) ? await fileBytes(database, project_id) : null,
  };
};

/** Measures the files of a project, in bytes. */
export const filesStats: OperationHandler<'filesStats'> = async ({ body }, { database }) => ({
  total_size_bytes: await fileBytes(database, body.project_id),
});

async function fileBytes(database: Database, project_id: string): Promise<number> {
  const { size } = await database.read((transaction) =>
    selectInProject(transaction, 'files', project_id)
      .select(({ fn }) => fn.sum<number | null>('size_bytes').as('size'))
      .executeTakeFirstOrThrow(),
  );
  // PostgreSQL's driver returns sums as strings.
  return Number(size ?? 0);
}

async function objectBytes(database: Database, project_id: string): Promise<number> {
  const { size } = await database.read((transaction) =>
    selectInProject(transaction, 'objects', project_id)
      .select(({ fn }) => fn.sum<number | null>(fn('octet_length', ['content'])).as('size'))
      .executeTakeFirstOrThrow(),
  );
  return Number(size ?? 0);
}

/** Number of rows that one statement measures. */
const rowsPerMeasure = 5000;

/** Adds up the bytes of the rows of tables, range by range, so that other requests can proceed. */
async function rowBytes(database: Database, project_id: string): Promise<number> {
  let total = 0;
  let after: string | null = '';
  while (after !== null) {
    await nextTurn();
    const next: RawBuilder<{ bytes: number | null; last: string | null }> = sql`
      select sum(octet_length(content)) as bytes, max(digest) as last from (
        select digest, content from row_contents where project_id = ${project_id} and digest > ${after}
        order by digest limit ${sql.lit(rowsPerMeasure)}
      ) as measured`;
    const { rows } = await database.read((transaction) => next.execute(transaction));
    total += Number(rows[0]!.bytes ?? 0);
    after = rows[0]!.last;
  }
  return total;
}
