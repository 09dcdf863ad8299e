import * as z from 'zod';
import type { BodyOf } from '../contract/endpoints.ts';
import { secondsOf, timeArgument } from './time-argument.ts';

/** Argument that selects recorded calls; a call must match every member. */
export const callsFilterArgument = z.strictObject({
  op_name: z.string().min(1).optional().describe('Plain name, or a weave:/// reference.'),
  started_after: timeArgument.optional().describe('Date or time, or like 24h, 7d ago.'),
  started_before: timeArgument.optional(),
  has_error: z.boolean().optional(),
  trace_id: z.string().min(1).optional(),
  text: z.string().min(1).optional().describe('Text in inputs or output.'),
});
export type CallsFilterArgument = z.infer<typeof callsFilterArgument>;

type Expression = Record<string, unknown>;

/** Returns the members of a request for the recorded calls that match a filter. */
export function callsQuery(filter: CallsFilterArgument = {}): Pick<BodyOf<'queryCalls'>, 'filter' | 'query'> {
  const { op_name, started_after, started_before, has_error, trace_id, text } = filter;
  const isReference = op_name?.includes(':///') ?? false;
  const opReference = op_name !== undefined && isReference ? { op_names: [withVersion(op_name)] } : {};
  const conditions: Expression[] = [
    ...(op_name === undefined || isReference ? [] : [isNamed(op_name)]),
    ...(started_after === undefined ? [] : [startedFrom(started_after)]),
    ...(started_before === undefined ? [] : [not(startedFrom(started_before))]),
    ...(has_error === undefined ? [] : [has_error ? not(isNull('exception')) : isNull('exception')]),
    ...(text === undefined ? [] : [hasText(text)]),
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

/** Adds the version that stands for all of them to a reference to an operation that has none. */
function withVersion(reference: string): string {
  return /[/]op[/][^/:]+$/.test(reference) ? `${reference}:*` : reference;
}

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
