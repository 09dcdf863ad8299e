import * as z from 'zod';
import { withFallback } from '../client/with-fallback.ts';
import type { RecordedCall } from '../contract/calls.ts';
import type { BodyOf } from '../contract/endpoints.ts';
import { type SortKey, sortKey } from '../contract/sort-keys.ts';
import { callsFilterArgument, callsQuery } from '../records/calls-query.ts';
import { columnsFor } from '../records/read-calls.ts';
import { requireProject } from '../records/require-project.ts';
import { expandColumns, resolveReferences } from '../records/resolve-references.ts';
import { callPath, maxPaths, valuesAt } from '../text/call-values.ts';
import { pageArguments, pageMembers, pagePosition, pluralize, renderPage } from '../text/page.ts';
import { defineTool, projectArgument, projectOf, type ToolContext } from './definition/tool.ts';

const input = z.strictObject({
  filter: callsFilterArgument.optional().describe('All members must match.'),
  sort_by: z
    .array(
      z.strictObject({ ...sortKey.shape, field: z.string().max(1000).describe('Like started_at or inputs.score.') }),
    )
    .max(20)
    .optional()
    .describe('Most important key first.'),
  project_id: projectArgument('Project of the calls'),
  ...pageArguments,
  limit: z.int().min(1).max(1000).default(20).describe('Maximum number of calls to return.'),
  fields: z.array(callPath).min(1).max(maxPaths).optional().describe('Paths like inputs.question; ["*"] for all.'),
});

const output = z.object({
  calls: z.array(z.record(z.string(), z.unknown())).describe('Values by path; those that a call lacks are omitted.'),
  ...pageMembers,
  total: z.int().optional().describe('Number of matching calls, if known.'),
  total_at_least: z.int().optional(),
  missing: z.array(z.string()).optional().describe('Fields that no call of this page has.'),
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
/** Number of calls at which counting ends that have a text: a service reads the values of each. */
const maxCountedByText = 10_000;

export const queryCallsTool = defineTool({
  name: 'query_calls',
  title: 'Find recorded calls',
  groups: ['queue'],
  uses: ['queryCalls'],
  description: `Finds recorded calls, newest first, to see what belongs in a queue.
Example: {"filter":{"op_name":"answer","text":"refund"},"fields":["inputs.question","output"]}`,
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input,
  output,

  async run({ filter, sort_by, limit, offset = 0, fields, ...query }, context): Promise<CallPage> {
    const project_id = projectOf(query, context);
    const matching = callsQuery(filter);
    const paths = fields ?? defaultFields;
    const pageSize = Math.min(limit, Math.ceil(context.maxResultChars / minCallChars));
    const found = await context.service.call('queryCalls', {
      body: {
        project_id,
        ...matching,
        sort_by: sort_by ?? newestFirst,
        // Asking for one call more than needed tells whether there is a next page.
        limit: pageSize + 1,
        offset,
        ...columnsOf(paths),
      },
    });
    if (found.length === 0) await requireProject(project_id, context.service);
    const page = found.slice(0, pageSize);
    if (fields) await resolveReferences(page, fields, context.service);
    const calls = page.map((call) => toRow(call, paths, fields ? maxFieldChars : maxDefaultChars));
    const hasMore = found.length > pageSize;
    const limits = filter?.text === undefined ? {} : { limit: maxCountedByText };
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
      ...(missing.length > 0 && { missing }),
    };
  },

  render({ calls, offset, next_offset, total, total_at_least, missing }: CallPage) {
    if (calls.length === 0) {
      return total === 0
        ? 'No calls match.'
        : `No calls at offset ${offset}: ${total === undefined ? 'fewer' : `only ${total}`} match.`;
    }
    const known = total === undefined ? total_at_least && `at least ${total_at_least}` : total;
    const count = known === undefined ? '' : ` of ${known}`;
    const lacking = missing ? ` No call of this page has ${missing.join(', ')}.` : '';
    const summary = `${pluralize(calls.length, 'call')}${count} from offset ${offset}.${lacking}`;
    return renderPage(summary, calls, ['id', ...defaultFields], next_offset);
  },

  rows: 'calls',
});

/** Returns the columns to ask for, which are all of them for `*`. */
function columnsOf(paths: readonly string[]): Pick<BodyOf<'queryCalls'>, 'columns' | 'expand_columns'> {
  const columns = paths.includes('*') ? undefined : columnsFor(paths);
  const expand_columns = expandColumns(paths);
  return { ...(columns && { columns }), ...(expand_columns.length > 0 && { expand_columns }) };
}

/** Returns the values of a call at the paths, each cut; `*` stands for every member that has a value. */
function toRow(call: RecordedCall, paths: readonly string[], maxChars: number): Record<string, unknown> {
  const members = paths.includes('*') ? Object.keys(call) : [];
  const values = Object.entries(valuesAt(call, [...members, ...paths], maxChars));
  return { id: call.id, ...Object.fromEntries(values.filter(([, value]) => !isEmpty(value))) };
}

function isEmpty(value: unknown): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}

/** Returns the number of matching calls where a page tells it, and else counts them with the first page, up to a limit. */
async function totalOf(
  matching: BodyOf<'countCalls'>,
  { offset, count, hasMore }: { offset: number; count: number; hasMore: boolean },
  { service }: ToolContext,
): Promise<Total> {
  if (!hasMore && (count > 0 || offset === 0)) return { total: offset + count };
  if (hasMore && offset > 0) return {};
  return withFallback(
    async () => {
      const { count: total } = await service.call('countCalls', { body: matching });
      // Some services do not tell whether there are more.
      return matching.limit != null && total >= matching.limit ? { total_at_least: total } : { total };
    },
    async () => ({}),
  );
}
