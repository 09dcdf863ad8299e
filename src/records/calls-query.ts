import * as z from 'zod';
import type { ServiceClient } from '../client/service-client.ts';
import { ifSupported } from '../client/with-fallback.ts';
import type { BodyOf } from '../contract/endpoints.ts';
import { pluralize } from '../text/page.ts';
import { evaluationTraces } from './evaluation-traces.ts';
import { requireTimeRange, secondsOf, timeArgument } from './time-argument.ts';

/** Argument that selects recorded calls; a call must match every member. */
export const callsFilterArgument = z.strictObject({
  op_name: z.string().min(1).optional().describe('Plain name or reference.'),
  started_after: timeArgument.optional().describe('Date, time or 7d ago.'),
  started_before: timeArgument.optional(),
  has_error: z.boolean().optional(),
  trace_id: z.string().min(1).optional(),
  latency_above: z.number().min(0).optional().describe('Seconds.'),
  text: z.string().min(1).optional().describe('Text in inputs or output.'),
  include_evaluations: z.boolean().optional().describe('Also calls of evaluations.'),
});
export type CallsFilterArgument = z.infer<typeof callsFilterArgument>;

type Expression = Record<string, unknown>;

type CallsQuery = Pick<BodyOf<'queryCalls'>, 'filter' | 'query'>;

/** The members of requests for the recorded calls that match a filter. */
export interface SelectedCalls {
  matching: CallsQuery;
  /** The calls that would match too, but were made by evaluations; absent if there are none, or if they are asked for. */
  ofEvaluations?: CallsQuery;
  /** Says that the calls of some evaluations are not left out. */
  warning?: string;
}

/**
 * Selects the recorded calls that match a filter: without those that evaluations made, unless the filter asks for them.
 * @throws HeddleError `invalid_arguments` for a time range that has no time in it.
 */
export async function selectCalls(
  filter: CallsFilterArgument = {},
  project_id: string,
  service: ServiceClient,
): Promise<SelectedCalls> {
  requireTimeRange(filter);
  const matching = callsQuery(filter);
  if (filter.include_evaluations || filter.trace_id !== undefined) return { matching };
  const { traces, warning } = await evaluationTraces(project_id, service);
  if (traces.length === 0) return { matching };
  return {
    matching: callsQuery(filter, traces),
    ofEvaluations: { ...matching, filter: { ...matching.filter, trace_ids: traces } },
    ...(warning !== undefined && { warning }),
  };
}

/** Counts the calls of evaluations that were left out; undefined if there are none, or if the service cannot count. */
export async function countEvaluationCalls(
  { ofEvaluations }: SelectedCalls,
  limits: Pick<BodyOf<'countCalls'>, 'project_id' | 'limit'>,
  service: ServiceClient,
): Promise<number | undefined> {
  if (!ofEvaluations) return undefined;
  const counted = await ifSupported(service.call('countCalls', { body: { ...ofEvaluations, ...limits } }));
  return counted?.count || undefined;
}

/** Returns the sentence about calls of evaluations that were left out. */
export function leftOutSentence(count: number): string {
  return `${pluralize(count, 'call')} of evaluations left out; include_evaluations in filter adds them.`;
}

/** Returns the members of a request for the recorded calls that match a filter and are in none of some traces. */
export function callsQuery(filter: CallsFilterArgument, otherTraces: readonly string[] = []): CallsQuery {
  const { op_name, started_after, started_before, has_error, trace_id, latency_above, text } = filter;
  const isReference = op_name?.includes(':///') ?? false;
  // A reference without a version stands for all of them.
  const reference = op_name?.replace(/[/]op[/][^/:]+$/, '$&:*');
  const opReference = reference !== undefined && isReference ? { op_names: [reference] } : {};
  const conditions: Expression[] = [
    ...(op_name === undefined || isReference ? [] : [isNamed(op_name)]),
    ...(started_after === undefined ? [] : [startedFrom(started_after)]),
    ...(started_before === undefined ? [] : [not(startedFrom(started_before))]),
    ...(has_error === undefined ? [] : [has_error ? not(isNull('exception')) : isNull('exception')]),
    ...(latency_above === undefined
      ? []
      : [{ $gt: [field('summary.weave.latency_ms'), literal(latency_above * 1000)] }]),
    ...(text === undefined ? [] : [hasText(text)]),
    ...(otherTraces.length === 0 ? [] : [not({ $in: [field('trace_id'), otherTraces.map(literal)] })]),
  ];
  const columns = { ...opReference, ...(trace_id !== undefined && { trace_ids: [trace_id] }) };
  const [condition] = conditions;
  return {
    ...(Object.keys(columns).length > 0 && { filter: columns }),
    ...(condition && { query: { $expr: conditions.length === 1 ? condition : { $and: conditions } } }),
  };
}

const field = (name: string): Expression => ({ $getField: name });
const literal = (value: unknown): Expression => ({ $literal: value });
const not = (condition: Expression): Expression => ({ $not: [condition] });
const isNull = (name: string): Expression => ({ $eq: [field(name), literal(null)] });
const contains = (name: string, text: string, options: Expression = {}): Expression => ({
  $contains: { input: field(name), substr: literal(text), ...options },
});

/** Compares the name that a program recorded, or the name in the reference that an SDK recorded. */
function isNamed(name: string): Expression {
  return { $or: [{ $eq: [field('op_name'), literal(name)] }, contains('op_name', `/op/${name}:`)] };
}

/** Compares seconds since 1970, which every service accepts. */
function startedFrom(text: string): Expression {
  return { $gte: [field('started_at'), literal(secondsOf(text))] };
}

/**
 * Looks for text in inputs and output. Services look into their JSON, in which some characters are escaped; some services
 * escape everything beyond ASCII.
 */
function hasText(text: string): Expression {
  const json = JSON.stringify(text).slice(1, -1);
  const ascii = json.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const forms = [...new Set([text, json, ascii])];
  const options = { case_insensitive: true };
  return { $or: ['inputs', 'output'].flatMap((name) => forms.map((form) => contains(name, form, options))) };
}
