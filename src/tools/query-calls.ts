import * as z from 'zod';
import { ifSupported } from '../client/with-fallback.ts';
import { callColumns, type RecordedCall } from '../contract/calls.ts';
import type { BodyOf } from '../contract/endpoints.ts';
import { type SortKey, sortKey } from '../contract/sort-keys.ts';
import { invalidArgument } from '../core/errors.ts';
import { callsFilterArgument, countEvaluationCalls, leftOutSentence, selectCalls } from '../records/calls-query.ts';
import { columnsFor } from '../records/read-calls.ts';
import { readTotals, type ShownTotals, shownTotals } from '../records/read-totals.ts';
import { expandColumns, resolveReferences } from '../records/resolve-references.ts';
import { requireMatchable } from '../records/unknown-operation.ts';
import { callPath, maxPaths, valueAt, valuesAt } from '../text/call-values.ts';
import { cell, compactTable } from '../text/compact-table.ts';
import { nearest, shortName } from '../text/names.ts';
import { lastName, nearestPaths } from '../text/nearest-paths.ts';
import { pageArguments, pageMembers, pagePosition, pluralize, renderPage } from '../text/page.ts';
import { defineTool, projectArgument, projectOf, type ToolContext } from './definition/tool.ts';

const input = z.strictObject({
  filter: callsFilterArgument.optional(),
  sort_by: z
    .array(
      z.strictObject({ ...sortKey.shape, field: z.string().max(1000).describe('Like started_at or inputs.score.') }),
    )
    .max(20)
    .optional()
    .describe('Most important key first.'),
  project_id: projectArgument('Project of the calls'),
  ...pageArguments,
  limit: z
    .int()
    .min(1)
    .max(1000)
    .default(20)
    .describe('Maximum number of calls to return, or of operations of totals.'),
  fields: z.array(callPath).min(1).max(maxPaths).optional().describe('Paths like inputs.question; ["*"] for all.'),
  totals: z.boolean().optional().describe('Sums by operation instead.'),
});

const output = z.object({
  calls: z.array(z.record(z.string(), z.unknown())).describe('Values by path; those that a call lacks are omitted.'),
  ...pageMembers,
  total: z.int().optional().describe('Number of matching calls, if known.'),
  total_at_least: z.int().optional(),
  missing: z.array(z.string()).optional().describe('Fields that no call of this page has.'),
  nearest: z.record(z.string(), z.array(z.string())).optional().describe('Paths that are nearest to missing ones.'),
  evaluation_calls: z.int().optional().describe('Number of matching calls of evaluations, which are left out.'),
  totals: shownTotals.optional().describe('Instead of calls.'),
  warning: z.string().optional(),
});

type CallPage = z.output<typeof output>;
type Total = Pick<CallPage, 'total' | 'total_at_least'>;

const newestFirst: SortKey[] = [{ field: 'started_at', direction: 'desc' }];
const defaultFields = ['op_name', 'started_at', 'exception', 'inputs', 'output'];
/** Minimum length of a serialized call, in characters; it limits how many calls are requested. */
const minCallChars = 50;
/** Length at which a value is cut: values of the default fields, and values that were asked for. */
const maxDefaultChars = 200;
const maxFieldChars = 1000;
/** Number of calls at which counting ends if a service reads the values of each, for a text or the latency. */
const maxCountedByValue = 10_000;

export const queryCallsTool = defineTool({
  name: 'query_calls',
  title: 'Find recorded calls',
  groups: ['queue'],
  uses: ['queryCalls'],
  description: `Finds recorded calls, newest first, or what they cost (totals).
Example: {"filter":{"op_name":"support.answer","text":"refund"},"fields":["inputs.question","output"]}`,
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input,
  output,
  hasTimes: true,

  async run({ filter, sort_by: keys, limit, offset = 0, fields, totals, ...query }, context): Promise<CallPage> {
    const { service } = context;
    const sort_by = keys?.map((key) => (key.field === 'latency' ? { ...key, field: latencyPath } : key));
    const project_id = projectOf(query, context);
    for (const [index, { field }] of (sort_by ?? []).entries()) checkSortField(field, index);
    const selected = await selectCalls(filter, project_id, service);
    const { matching, warning } = selected;
    const readsValues = filter?.text !== undefined || filter?.latency_above !== undefined;
    const limits = readsValues ? { limit: maxCountedByValue } : {};
    const evaluation_calls =
      offset === 0 ? await countEvaluationCalls(selected, { project_id, ...limits }, service) : undefined;
    const facts = {
      ...(evaluation_calls !== undefined && { evaluation_calls }),
      ...(warning !== undefined && { warning }),
    };
    if (totals) {
      const summed = await readTotals(matching, project_id, { limit, offset }, service);
      const { calls: total } = summed.totals;
      if (total === 0) await requireMatchable(filter ?? {}, project_id, service);
      const unused = keys || fields ? ['sort_by and fields change nothing with totals.'] : [];
      const warnings = [...(warning === undefined ? [] : [warning]), ...unused].join(' ');
      return { calls: [], ...summed, total, ...facts, ...(warnings !== '' && { warning: warnings }) };
    }
    const paths = fields ?? defaultFields;
    const sortPaths = (sort_by ?? []).map(({ field }) => field).filter(isValuePath);
    const pageSize = Math.min(limit, Math.ceil(context.maxResultChars / minCallChars));
    const found = await service.call('queryCalls', {
      body: {
        project_id,
        ...matching,
        sort_by: sort_by ?? newestFirst,
        // Asking for one call more than needed tells whether there is a next page.
        limit: pageSize + 1,
        offset,
        ...columnsOf(paths, sortPaths),
      },
    });
    if (found.length === 0) await requireMatchable(filter ?? {}, project_id, service);
    if (offset === 0) await checkSortValues(found, sortPaths, { project_id, ...matching }, context);
    const page = found.slice(0, pageSize);
    if (fields) await resolveReferences(page, fields, service);
    const calls = page.map((call) => toRow(call, paths, fields ? maxFieldChars : maxDefaultChars));
    const hasMore = found.length > pageSize;
    const total = await totalOf(
      { project_id, ...matching, ...limits },
      { offset, count: page.length, hasMore },
      context,
    );
    const missing = (calls.length > 0 ? (fields ?? []) : []).filter(
      (path) => path !== '*' && !calls.some((call) => Object.hasOwn(call, path)),
    );
    return {
      calls,
      ...pagePosition(offset, calls.length, hasMore),
      ...total,
      ...(missing.length > 0 && { missing, ...(await nearestTo(missing, { project_id, ...matching }, context)) }),
      ...facts,
      ...(missing.some(isTotal) && {
        warning: [...(warning === undefined ? [] : [warning]), 'totals adds up tokens and cost.'].join(' '),
      }),
    };
  },

  render(page: CallPage) {
    const { calls, offset, next_offset, total, total_at_least, missing, nearest: near = {} } = page;
    const { evaluation_calls, totals, warning } = page;
    const leftOut = evaluation_calls === undefined ? [] : [leftOutSentence(evaluation_calls)];
    const notes = [...leftOut, ...(warning === undefined ? [] : [warning])].map((sentence) => ` ${sentence}`).join('');
    if (totals) return renderTotals(totals, next_offset, notes);
    if (calls.length === 0) {
      return total === 0
        ? `No calls match.${notes}`
        : `No calls at offset ${offset}: ${total === undefined ? 'fewer' : `only ${total}`} match.${notes}`;
    }
    const known = total === undefined ? total_at_least && `at least ${total_at_least}` : total;
    const count = known === undefined ? '' : ` of ${known}`;
    const paths = Object.entries(near).map(([path, known]) => ` Nearest to ${path}: ${known.map(cell).join(', ')}.`);
    const lacking = missing ? ` No call of this page has ${missing.join(', ')}.${paths.join('')}` : '';
    const summary = `${pluralize(calls.length, 'call')}${count} from offset ${offset}.${lacking}${notes}`;
    return renderPage(summary, calls, ['id', ...defaultFields], next_offset);
  },

  rows: 'calls',
});

/** Fields by which calls can be sorted, with the one that the service computes. */
const latencyPath = 'summary.weave.latency_ms';
const sortFields = [...callColumns, 'thread_id', 'turn_id', latencyPath];

/** @throws HeddleError `invalid_arguments` for a field that no call can have. */
function checkSortField(field: string, index: number): void {
  const [member = ''] = field.split('.', 1);
  if (sortFields.includes(member) || member === 'feedback') return;
  const near = nearest(field, sortFields, (name) => [name, lastName(name)]);
  throw invalidArgument(['sort_by', String(index), 'field'], {
    fault: `No call has a member ${JSON.stringify(shortName(member))}`,
    hint: `The nearest are ${near.join(', ')}; recorded values are below inputs and output, like inputs.${shortName(field)}.`,
  });
}

/** Returns whether a path leads to a recorded value, which calls may lack. */
function isValuePath(path: string): boolean {
  return /^(inputs|output|attributes|summary)\./.test(path);
}

/** Returns whether a path asks for what only totals tell. */
function isTotal(path: string): boolean {
  return ['cost', 'costs', 'tokens', 'usage'].includes(path);
}

/** Matching calls among whose paths the nearest are looked for, and missing paths for which they are. */
const maxSampled = 200;
const maxSearched = 20;

/** Reads the newest calls that match, to find the paths that calls have; none where they cannot be read at once. */
async function newestMatching(matching: BodyOf<'queryCalls'>, { service }: ToolContext): Promise<RecordedCall[]> {
  const body = { ...matching, sort_by: newestFirst, limit: maxSampled };
  return service.call('queryCalls', { body }).catch(() => []);
}

/** Returns the paths nearest to those that no call of a page has, except for members of a call and what other calls have. */
async function nearestTo(
  missing: readonly string[],
  matching: BodyOf<'queryCalls'>,
  context: ToolContext,
): Promise<Pick<CallPage, 'nearest'>> {
  const unknown = missing.filter((path) => !callColumns.includes(path) && !isTotal(path)).slice(0, maxSearched);
  if (unknown.length === 0) return {};
  const calls = await newestMatching(matching, context);
  const found = unknown
    .filter((path) => calls.every((call) => valueAt(call, path) === undefined))
    .map((path) => [path, nearestPaths(calls, path).map(shortName)] as const);
  return calls.length === 0 || found.length === 0 ? {} : { nearest: Object.fromEntries(found) };
}

/**
 * Checks that some call has a value at each path by which calls are sorted. Only where no call of the first page has one, another
 * request looks at the call with the greatest value.
 * @throws HeddleError `invalid_arguments` with the nearest paths.
 */
async function checkSortValues(
  found: readonly RecordedCall[],
  paths: readonly string[],
  matching: BodyOf<'queryCalls'>,
  context: ToolContext,
): Promise<void> {
  const hasValue = (call: RecordedCall, path: string): boolean => (valueAt(call, path) ?? null) !== null;
  for (const path of found.length === 0 ? [] : paths) {
    if (found.some((call) => hasValue(call, path))) continue;
    const sort_by = [{ field: path, direction: 'desc' as const }];
    const [greatest] = await context.service.call('queryCalls', { body: { ...matching, sort_by, limit: 1 } });
    if (!greatest || hasValue(greatest, path)) continue;
    const calls = await newestMatching(matching, context);
    throw invalidArgument('sort_by', {
      fault: `No matching call has a value at ${JSON.stringify(shortName(path))}`,
      hint: `The nearest paths are ${nearestPaths([greatest, ...calls], path)
        .map(shortName)
        .join(', ')}.`,
    });
  }
}

function renderTotals(
  { operations, partial, unpriced_models, ...sums }: ShownTotals,
  nextOffset: number | undefined,
  notes: string,
): string {
  const facts = Object.entries(sums).map(([name, value]) => `${name} ${value}${name === 'cost' ? ' USD' : ''}`);
  const of = partial === undefined ? '' : ` (of ${partial})`;
  const unpriced = unpriced_models
    ? ` No price is known for ${unpriced_models.map(cell).join(', ')} (\`heddle price\` stores it).`
    : '';
  const more = nextOffset === undefined ? '' : ` More operations follow: next_offset ${nextOffset}.`;
  const summary = `Totals${of}: ${facts.join(', ')}.${unpriced}${notes}${more}`;
  return operations.length === 0
    ? summary
    : `${summary}\n${compactTable(operations, ['operation', ...Object.keys(sums)])}`;
}

/** Returns the columns to ask for, which are all of them for `*`. */
function columnsOf(
  paths: readonly string[],
  sortPaths: readonly string[],
): Pick<BodyOf<'queryCalls'>, 'columns' | 'expand_columns'> {
  const columns = paths.includes('*') ? undefined : columnsFor([...paths, ...sortPaths]);
  const expand_columns = expandColumns(paths);
  return { ...(columns && { columns }), ...(expand_columns.length > 0 && { expand_columns }) };
}

/** Returns the values of a call at the paths, each cut; `*` stands for every member that has a value. */
function toRow(call: RecordedCall, paths: readonly string[], maxChars: number): Record<string, unknown> {
  const members = paths.includes('*') ? Object.keys(call) : [];
  const values = Object.entries(valuesAt(call, [...members, ...paths], maxChars));
  const isEmpty = (value: unknown): boolean =>
    value === null || (typeof value === 'object' && Object.keys(value).length === 0);
  return { id: call.id, ...Object.fromEntries(values.filter(([, value]) => !isEmpty(value))) };
}

/** Returns the number of matching calls where a page tells it, and else counts them with the first page, up to a limit. */
async function totalOf(
  matching: BodyOf<'countCalls'>,
  { offset, count, hasMore }: { offset: number; count: number; hasMore: boolean },
  { service }: ToolContext,
): Promise<Total> {
  if (!hasMore && (count > 0 || offset === 0)) return { total: offset + count };
  if (hasMore && offset > 0) return {};
  const total = (await ifSupported(service.call('countCalls', { body: matching })))?.count;
  if (total === undefined) return {};
  // Some services do not tell whether there are more.
  return matching.limit != null && total >= matching.limit ? { total_at_least: total } : { total };
}
