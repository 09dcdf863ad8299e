import { createHash } from 'node:crypto';
import * as z from 'zod';
import { ifSupported } from '../client/with-fallback.ts';
import { HeddleError, invalidArgument } from '../core/errors.ts';
import { inBatches } from '../core/in-batches.ts';
import { readItemsBy } from '../queues/read-items.ts';
import { requireQueue } from '../queues/require-queue.ts';
import {
  type CallsFilterArgument,
  callsFilterArgument,
  countEvaluationCalls,
  leftOutSentence,
  selectCalls,
} from '../records/calls-query.ts';
import { readCalls } from '../records/read-calls.ts';
import { callsLike } from '../records/unknown-call.ts';
import { requireMatchable } from '../records/unknown-operation.ts';
import { valueAt } from '../text/call-values.ts';
import { cell, escapeInvisible } from '../text/compact-table.ts';
import { shortName } from '../text/names.ts';
import { nearestPaths } from '../text/nearest-paths.ts';
import { pluralize } from '../text/page.ts';
import { maxUnconfirmed, requireConsent } from './definition/require-consent.ts';
import { defineTool, projectArgument, projectOf, queueArgument, type ToolContext } from './definition/tool.ts';

/** Matching calls that are read at most. */
const maxCalls = 10_000;
const callsPerRequest = 1000;
/** Calls of which the display fields are looked up together. */
const callsPerCheck = 100;
/** Ids that one request looks up. */
const idsPerRequest = 500;
/** Unknown ids, and ids of a dry run, that a result shows. */
const maxShownUnknown = 20;
const maxShownIds = 3;

const input = z
  .strictObject({
    queue_id: queueArgument.describe('Id or name of the queue.'),
    call_ids: z.array(z.string().min(1).max(256)).min(1).max(maxCalls).optional(),
    filter: callsFilterArgument.optional().describe('As in query_calls; {} matches all.'),
    sample: z
      .strictObject({
        n: z.int().min(1).max(maxCalls),
        seed: z.int().default(0).describe('The same seed takes the same calls.'),
      })
      .optional()
      .describe('Take n at random.'),
    display_fields: z.array(z.string().min(1)).min(1).optional().describe('Paths of the values to judge.'),
    project_id: projectArgument('Project of the queue'),
    dry_run: z.boolean().optional(),
    confirm: z.boolean().optional().describe('The user has agreed.'),
  })
  .superRefine(({ call_ids, filter }, context) => {
    if ((call_ids === undefined) === (filter === undefined)) {
      context.addIssue({ code: 'custom', message: 'needs either call_ids or filter' });
    }
  });

const output = z.object({
  queue_id: z.string(),
  matched: z.int().describe('Calls that match the filter, or that exist among call_ids.'),
  added: z.int().optional(),
  duplicates: z.int().optional().describe('Calls that the queue holds already.'),
  unknown: z.array(z.string()).optional().describe(`Up to ${maxShownUnknown} ids of calls that do not exist.`),
  unknown_count: z.int().optional(),
  evaluation_calls: z.int().optional().describe('Number of matching calls of evaluations, which are left out.'),
  display_fields: z.array(z.string()).optional(),
  dry_run: z.boolean().optional(),
  selected: z.int().optional().describe('Calls that would be added.'),
  first_call_ids: z.array(z.string()).optional(),
  warnings: z.array(z.string()).optional(),
});

type AdditionResult = z.output<typeof output>;

export const addQueueItemsTool = defineTool({
  name: 'add_queue_items',
  title: 'Add calls to a queue',
  groups: ['queue'],
  uses: ['readQueue', 'queryCalls', 'queryQueueItems', 'addQueueItems'],
  description: `Adds recorded calls to a queue: call_ids, or those that match filter, or a sample of either. More than ${maxUnconfirmed} calls need the user's agreement.
Example: {"queue_id":"support-triage","filter":{"op_name":"support.answer","has_error":true},"sample":{"n":20}}`,
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input,
  output,

  async run({ queue_id, sample, dry_run = false, confirm = false, ...args }, context): Promise<AdditionResult> {
    const project = projectOf(args, context);
    const queue = await requireQueue(queue_id, project, context.service);
    const { ids, ...found } = args.call_ids
      ? await knownCalls(args.call_ids, project, context)
      : await matchingCalls(args.filter, project, context);
    const selected = sample ? sampleOf(ids, sample) : ids;
    const result = { queue_id, ...found };
    if (args.display_fields) await requirePaths(args.display_fields, selected, project, context);
    if (!dry_run && selected.length === 0) return { ...result, added: 0, duplicates: 0 };
    const asks = !confirm && selected.length > maxUnconfirmed;
    const access = { id: queue_id, project, ...context };
    const queued = dry_run || asks ? (await readItemsBy('call_id', selected, access)).items : [];
    const queuedIds = new Set(queued.map(({ call_id }) => call_id));
    const newIds = selected.filter((id) => !queuedIds.has(id));
    if (dry_run) {
      const duplicates = selected.length - newIds.length;
      return { ...result, dry_run, selected: newIds.length, duplicates, first_call_ids: newIds.slice(0, maxShownIds) };
    }
    if (asks && newIds.length > maxUnconfirmed) {
      const request = {
        question: `Add ${newIds.length} calls to queue ${JSON.stringify(queue.name)} (${queue_id})?`,
        reason: `adding ${newIds.length} calls needs the user's agreement`,
      };
      requireConsent(request, context);
    }
    const display_fields = args.display_fields ?? (await displayFieldsOf(queue_id, project, context));
    const { added, duplicates } = await addCalls(selected, { queue_id, project, display_fields }, context);
    const lost = selected.length - added - duplicates;
    const warnings = [
      ...(result.warnings ?? []),
      ...(lost > 0 ? [`The service skipped ${pluralize(lost, 'call')}: deleted in the meantime.`] : []),
    ];
    return { ...result, added, duplicates, display_fields, ...(warnings.length > 0 && { warnings }) };
  },

  // Each warning is of calls that were not added.
  isIncomplete: ({ unknown_count = 0, warnings = [], dry_run }) =>
    !dry_run && (unknown_count > 0 || warnings.length > 0),

  render(result: AdditionResult) {
    const { queue_id, matched, added = 0, duplicates = 0, unknown = [], unknown_count = 0, warnings = [] } = result;
    const { dry_run, selected = 0, first_call_ids = [], display_fields, evaluation_calls } = result;
    const ids = (list: readonly string[]): string => list.map(cell).join(', ');
    const first = first_call_ids.length === 0 ? '' : ` The first are ${ids(first_call_ids)}.`;
    const shown = display_fields ? ` Values to judge: ${ids(display_fields)}.` : '';
    const outcome = dry_run
      ? `Nothing was added (dry_run). Would add ${pluralize(selected, 'call')} to queue ${cell(queue_id)}; ${duplicates} of these calls are in it already.${first}`
      : `Added ${pluralize(added, 'call')} to queue ${cell(queue_id)}; ${duplicates} of these calls were in it already.${shown}`;
    const more = unknown_count > unknown.length ? `, and ${unknown_count - unknown.length} more` : '';
    return [
      `${outcome} Matching calls: ${matched}.${evaluation_calls === undefined ? '' : ` ${leftOutSentence(evaluation_calls)}`}`,
      ...(unknown_count > 0 ? [`Unknown calls: ${ids(unknown)}${more}.`] : []),
      ...warnings.map(escapeInvisible),
    ].join('\n');
  },
});

/** The calls to choose from, and what the result says of them. */
interface FoundCalls {
  ids: string[];
  matched: number;
  unknown?: string[];
  unknown_count?: number;
  evaluation_calls?: number;
  warnings?: string[];
}

/** Looks calls up, because services skip unknown ones without naming them. */
async function knownCalls(call_ids: readonly string[], project_id: string, context: ToolContext): Promise<FoundCalls> {
  const { service } = context;
  const ids = [...new Set(call_ids)];
  const known = new Set<string>();
  for (const batch of inBatches(ids, idsPerRequest)) {
    const request = { project_id, filter: { call_ids: batch }, columns: ['id'], limit: batch.length };
    for (const { id } of await service.call('queryCalls', { body: request })) known.add(id);
  }
  const existing = ids.filter((id) => known.has(id));
  const unknown = ids.filter((id) => !known.has(id));
  if (existing.length === 0) {
    throw new HeddleError({
      code: 'not_found',
      message: `Nothing was added: project ${project_id} has no recorded call with ${ids.length === 1 ? 'this id' : `any of these ${ids.length} ids`}.`,
      hint: `Find calls with query_calls, and use the same project_id.${await callsLike(ids[0]!, project_id, context.service)}`,
    });
  }
  return {
    ids: existing,
    matched: existing.length,
    ...(unknown.length > 0 && { unknown: unknown.slice(0, maxShownUnknown), unknown_count: unknown.length }),
  };
}

/** Reads the ids of the calls that match a filter, in the order in which the calls started. */
async function matchingCalls(
  filter: CallsFilterArgument = {},
  project_id: string,
  { service }: ToolContext,
): Promise<FoundCalls> {
  const selected = await selectCalls(filter, project_id, service);
  const matching = { project_id, ...selected.matching };
  const sort_by = [{ field: 'started_at', direction: 'asc' as const }];
  // Asking for one call more than needed tells whether there are more.
  const request = { ...matching, sort_by, columns: ['id'], limit: maxCalls + 1 };
  const calls = await service.call('queryCalls', { body: request });
  if (calls.length === 0) await requireMatchable(filter, project_id, service);
  const ids = calls.slice(0, maxCalls).map(({ id }) => id);
  const evaluation_calls = await countEvaluationCalls(selected, { project_id, limit: maxCalls }, service);
  const leftOut = evaluation_calls === undefined ? {} : { evaluation_calls };
  const warnings = selected.warning === undefined ? [] : [selected.warning];
  if (calls.length <= maxCalls)
    return { ids, matched: ids.length, ...leftOut, ...(warnings.length > 0 && { warnings }) };
  const count = (await ifSupported(service.call('countCalls', { body: matching })))?.count;
  const all = count === undefined ? 'More calls match' : `${count} calls match`;
  const warning = `${all}, of which only the ${maxCalls} that started first were read. Narrow the filter to reach the others.`;
  return { ids, matched: count ?? calls.length, ...leftOut, warnings: [...warnings, warning] };
}

/**
 * Returns `n` of the ids, in their order: those that come first when sorted by the SHA-256 of `seed:id`, which is the same on
 * every machine and changes little when calls are recorded later.
 */
function sampleOf(ids: readonly string[], { n, seed }: { n: number; seed: number }): string[] {
  const ranked = ids.map((id) => ({ id, rank: createHash('sha256').update(`${seed}:${id}`).digest('hex') }));
  ranked.sort((a, b) => (a.rank < b.rank ? -1 : 1));
  const taken = new Set(ranked.slice(0, n).map(({ id }) => id));
  return ids.filter((id) => taken.has(id));
}

/** Checks paths in calls until each is found in one. @throws HeddleError for a path that no call has, with the nearest. */
async function requirePaths(
  paths: readonly string[],
  ids: readonly string[],
  project: string,
  { service }: ToolContext,
): Promise<void> {
  let missing = [...paths];
  let readable: string | undefined;
  for (const batch of inBatches(ids, callsPerCheck)) {
    const read = await readCalls(
      batch.map((call_id) => ({ call_id, display_fields: missing })),
      project,
      service,
    );
    const calls = [...read.values()].flatMap((call) => (call instanceof HeddleError ? [] : [call]));
    readable ??= calls[0]?.id;
    missing = missing.filter((path) => calls.every((call) => valueAt(call, path) === undefined));
    if (missing.length === 0) return;
  }
  if (readable === undefined) return;
  const whole = { call_id: readable, display_fields: ['inputs', 'output'] };
  const call = (await readCalls([whole], project, service)).get(readable);
  const near = call && !(call instanceof HeddleError) ? nearestPaths([call], missing[0]!) : [];
  throw invalidArgument('display_fields', {
    consequence: 'Nothing was added',
    fault: `none of these calls has a value at ${JSON.stringify(shortName(missing[0]!))}`,
    hint:
      near.length > 0 ? `The nearest paths are ${near.map(shortName).join(', ')}.` : 'Call read_call to see its paths.',
  });
}

/** Returns the display fields of the newest item of a queue, so that all its items show alike. */
async function displayFieldsOf(queueId: string, project_id: string, { service }: ToolContext) {
  const sort_by = [{ field: 'created_at', direction: 'desc' as const }];
  const { items } = await service.call('queryQueueItems', {
    path: { queue_id: queueId },
    body: { project_id, sort_by, limit: 1 },
  });
  const existing = items[0]?.display_fields ?? [];
  return existing.length > 0 ? existing : ['inputs', 'output'];
}

/**
 * Adds calls in batches, and returns how many were added and how many the queue held already.
 * @throws HeddleError that says how far it came.
 */
async function addCalls(
  ids: readonly string[],
  { queue_id, project, display_fields }: { queue_id: string; project: string; display_fields: string[] },
  { service, progress }: ToolContext,
): Promise<{ added: number; duplicates: number }> {
  let added = 0;
  let duplicates = 0;
  let done = 0;
  for (const call_ids of inBatches(ids, callsPerRequest)) {
    try {
      const request = { project_id: project, call_ids, display_fields };
      const batch = await service.call('addQueueItems', { path: { queue_id }, body: request });
      added += batch.added_count;
      duplicates += batch.duplicates;
    } catch (error) {
      if (!(error instanceof HeddleError) || done === 0) throw error;
      const message = `${done} of ${ids.length} calls are in the queue; the next batch failed. ${error.message}`;
      const hint = `${error.hint} Then call again with the same arguments: these calls are not added twice.`;
      throw new HeddleError({ ...error, message, hint });
    }
    done += call_ids.length;
    progress({ done, total: ids.length, unit: 'calls' });
  }
  return { added, duplicates };
}
