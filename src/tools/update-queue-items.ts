import * as z from 'zod';
import { pathSegment } from '../contract/identifiers.ts';
import type { QueueItem } from '../contract/queue-items.ts';
import { concurrently } from '../core/concurrently.ts';
import { HeddleError } from '../core/errors.ts';
import {
  type Change,
  type CheckedResults,
  changeItems,
  type ItemResult,
  itemErrors,
  maxConcurrentItems,
  noteChangesByOthers,
  openQueue,
  previewItems,
  type QueueAccess,
} from '../queues/change-items.ts';
import { emptyFilterHint, itemsFilter, matchingItems, serviceFilter } from '../queues/matching-items.ts';
import { requireQueue } from '../queues/require-queue.ts';
import { rememberItems } from '../queues/shown-items.ts';
import { countEach } from '../text/count-each.ts';
import { shortName } from '../text/names.ts';
import { pluralize } from '../text/page.ts';
import { cell, compactTable } from '../text/table.ts';
import { type ConsentRequest, maxUnconfirmed, requireConsent } from './definition/require-consent.ts';
import { defineTool, projectArgument, projectOf, type ToolContext } from './definition/tool.ts';

/** The states that an annotator can set. */
const targetStates = ['in_progress', 'completed', 'skipped'] as const;

const change = z.strictObject({
  judgements: z
    .record(z.string().regex(/^[\p{L}\p{N}_.-]{1,128}$/u, 'must be letters, digits, . _ or -'), z.unknown())
    .optional()
    .describe('Values by field.'),
  note: z.string().min(1).max(1024).optional().describe('For people.'),
  annotation_state: z.enum(targetStates).optional().describe('Your progress on the item.'),
  retract: z.array(z.string()).optional().describe('Fields whose judgement you take back.'),
});

const input = z.strictObject({
  queue_id: pathSegment.describe('Id of the queue.'),
  items: z
    .array(change.extend({ item_id: pathSegment }))
    .min(1)
    .max(100)
    .optional()
    .describe('Up to 100.'),
  filter: itemsFilter.optional().describe('As in query_queue_items, instead of items.'),
  change: change.optional().describe('The change for each item of filter.'),
  as_of: z
    .string()
    .refine((text) => !Number.isNaN(Date.parse(text)), 'must be the as_of of a page, a date and time')
    .optional()
    .describe('as_of of the page you read; items that others judged or moved since are refused.'),
  expected_state: z
    .enum(['unstarted', ...targetStates])
    .optional()
    .describe('Refuses items in another state.'),
  dry_run: z.boolean().optional(),
  confirm: z.boolean().optional().describe('The user has agreed.'),
  by_user: z.boolean().optional().describe('The user gave the judgements, not you.'),
  project_id: projectArgument('Project of the queue'),
});

const output = z.object({
  counts: z.record(z.string(), z.int()).describe('Number of items by result.'),
  items: z
    .array(
      z.looseObject({
        item_id: z.string(),
        result: z.enum(['done', 'would_send', 'unchanged', 'refused']),
        annotation_state: z.string().optional().describe('State that the item shows now.'),
        meanwhile: z
          .string()
          .optional()
          .describe('What others did to it during this call; only with as_of or expected_state.'),
        error: z.looseObject({}).optional(),
      }),
    )
    .describe(
      'One result per change, or none if all are the same; for a filter, items that were refused or that others changed.',
    ),
  annotation_state: z.string().optional().describe('State that all items show, where all have the same result.'),
  remaining: z.int().optional().describe('Items that were not reached; call again to continue.'),
  dry_run: z.boolean().optional(),
  hint: z.string().optional(),
  first_changed: z.array(z.string()).optional().describe('Ids of the first changed items of a filter.'),
  as_of: z.string().optional().describe('Time of the dry run; pass it with the real change.'),
  state_counts: z.record(z.string(), z.int()).optional().describe('Shown states of the matching items, in a dry run.'),
});

/** The result of update_queue_items. */
export interface UpdateResult {
  counts: Record<string, number>;
  items: ItemResult[];
  /** For a filter: how many matched, and how many were not reached. */
  matched?: number;
  remaining?: number;
  stopped_by?: HeddleError;
  dry_run?: boolean;
  /** The state that all items show, where all have the same result. */
  annotation_state?: string;
  hint?: string;
  first_changed?: string[];
  as_of?: string;
  state_counts?: Record<string, number>;
}

export const updateQueueItemsTool = defineTool({
  name: 'update_queue_items',
  title: 'Judge and move queue items',
  groups: ['queue'],
  uses: ['queryQueueItems', 'updateProgress', 'createFeedback', 'readQueue', 'queryFeedback'],
  description: `Records judgements, notes and your state for items, or for all that match a filter. Your latest judgement of a field counts; the states completed and skipped are final for you. Repeating a call has no further effect. More than ${maxUnconfirmed} items need the user's agreement.
Example: {"queue_id":"support-triage","items":[{"item_id":"…","judgements":{"helpful":true},"annotation_state":"completed"}],"as_of":"2026-11-21T09:00:00Z"}
With filter: {"queue_id":"support-triage","filter":{"call_op_name":"support.escalate"},"change":{"annotation_state":"skipped"},"dry_run":true}`,
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  input,
  output,

  async run(args, callContext): Promise<UpdateResult> {
    const context = { ...callContext, byUser: args.by_user };
    const project = projectOf(args, context);
    // changeMatching also refuses a call with neither filter nor items.
    if (args.filter !== undefined || args.items === undefined) return changeMatching(args, project, context);
    refuseChangeWithoutFilter(args);
    return changeListed(args, args.items, project, context);
  },

  render({ items, counts, matched, remaining, stopped_by, dry_run, state_counts, ...more }: UpdateResult) {
    const results = Object.entries(counts).map(
      ([result, count]) => `${count} ${result === 'would_send' ? 'would be sent' : result}`,
    );
    const matching = matched === undefined ? '' : `${pluralize(matched, 'item')} matched. `;
    const shown = Object.entries(state_counts ?? {}).map(([state, count]) => `${count} ${cell(state)}`);
    const states = shown.length > 0 ? ` They show ${shown.join(', ')}.` : '';
    const prefix = dry_run ? `Nothing was changed (dry_run).${states} The service refuses what is final for you. ` : '';
    const { hint, first_changed, as_of, annotation_state } = more;
    const state = annotation_state === undefined ? '' : ` All show ${cell(annotation_state)}.`;
    const first = first_changed ? ` The first: ${first_changed.map(cell).join(', ')}.` : '';
    const seen = as_of === undefined ? '' : ` as_of ${as_of}.`;
    const rows = items.map(({ error, ...members }) => ({
      ...members,
      ...(error && { error: `${error.code}: ${error.message} ${error.hint}` }),
    }));
    return [
      `${matching}${prefix}${results.join(', ') || 'Nothing changed'}.${first}${state}${seen}`,
      ...(remaining ? [`${remaining} not reached: ${stopped_by?.message ?? ''} Call again to continue.`] : []),
      ...(hint === undefined ? [] : [hint]),
      ...(rows.length > 0 ? [compactTable(rows, ['item_id', 'result', 'annotation_state', 'meanwhile', 'error'])] : []),
    ].join('\n');
  },

  // The counts must reach the reader even if the results of single items do not fit.
  shrink: ({ items, hint, ...rest }) =>
    items.length === 0
      ? undefined
      : {
          ...rest,
          items: [],
          hint: `${hint === undefined ? '' : `${hint} `}Results of individual items are omitted because of the size limit.`,
        },
});

type Arguments = z.output<typeof input>;
type ListedChange = NonNullable<Arguments['items']>[number];

function refuseChangeWithoutFilter({ change }: Arguments): void {
  if (change) throw callRefusal('change goes with filter', 'Put the change into each of items, or pass filter.');
}

async function changeListed(
  { queue_id, as_of, expected_state, dry_run = false, confirm = false }: Arguments,
  items: readonly ListedChange[],
  project: string,
  context: ToolContext,
): Promise<UpdateResult> {
  refuseDuplicates(items);
  const changes = items.map((change, index) => ({ change, loc: ['arguments', 'items', index] }));
  for (const { change, loc } of changes) refuseEmpty(change, loc);
  const queue = await openQueue(queue_id, project, changes, context);
  if (!dry_run && !confirm && items.length > maxUnconfirmed) {
    requireConsent(consentRequestFor(items.length, queue_id, items), context);
  }
  const found = await concurrently(items, maxConcurrentItems, (change) =>
    findItem(change.item_id, queue, expected_state),
  );
  const work = items.flatMap((change, index) => {
    const item = found[index]!;
    return item instanceof HeddleError ? [] : [{ item, change }];
  });
  const conditions = { asOf: as_of, expectedState: expected_state };
  const startedAtMs = Date.now();
  const results = await (dry_run ? previewItems : changeItems)(work, queue, conditions);
  const isConditional = as_of !== undefined || expected_state !== undefined;
  const checked: CheckedResults =
    isConditional && !dry_run ? await rereadListed(results, work, queue, startedAtMs) : { results };
  const changed = new Map(checked.results.map((result) => [result.item_id, result]));
  const all = items.map(({ item_id }, index): ItemResult => {
    const item = found[index]!;
    return item instanceof HeddleError ? { item_id, result: 'refused', error: item } : changed.get(item_id)!;
  });
  throwSharedFailure(all);
  const counts = countEach(all.map(({ result }) => result));
  const [first] = all;
  const states = new Set(all.map(({ annotation_state }) => annotation_state));
  const isUniform = all.length > 1 && Object.keys(counts).length === 1 && states.size === 1;
  const isNotable = all.some(({ error, meanwhile }) => error ?? meanwhile);
  return {
    counts,
    ...(isUniform && !isNotable
      ? { items: [], ...(first?.annotation_state && { annotation_state: first.annotation_state }) }
      : { items: all }),
    ...(dry_run && { dry_run }),
    ...(checked.hint !== undefined && { hint: checked.hint }),
  };
}

type PlannedChange = { item: QueueItem; change: Change };

function rereadListed(
  results: ItemResult[],
  work: PlannedChange[],
  queue: QueueAccess,
  startedAtMs: number,
): Promise<CheckedResults> {
  const readItem = async (id: string): Promise<QueueItem | undefined> => {
    const query = { project_id: queue.project, filter: { id }, limit: 1 };
    return (
      await queue.service.call(
        'queryQueueItems',
        { path: { queue_id: queue.id }, body: query },
        { signal: queue.signal },
      )
    ).items[0];
  };
  const items = work.map(({ item }) => item);
  return noteChangesByOthers(results, items, queue, startedAtMs, readItem);
}

function refuseDuplicates(items: readonly ListedChange[]): void {
  const seen = new Set<string>();
  for (const { item_id } of items) {
    if (seen.has(item_id)) throw callRefusal(`item ${item_id} appears twice`, 'Pass each item once.');
    seen.add(item_id);
  }
}

function refuseEmpty(change: Change, loc: (string | number)[]): void {
  const { judgements, note, annotation_state, retract } = change;
  if (annotation_state || note || retract?.length || Object.keys(judgements ?? {}).length > 0) return;
  throw callRefusal(`${loc.slice(1).join('.')} changes nothing`, 'Pass judgements, note, annotation_state or retract.');
}

/** Returns the request for the user's consent to change many items. */
function consentRequestFor(count: number, queueId: string, changes: readonly Change[]): ConsentRequest {
  const states = [...new Set(changes.flatMap(({ annotation_state }) => annotation_state ?? []))];
  const judged = changes.some(({ judgements, note, retract }) => judgements || note || retract);
  const steps = [...(judged ? ['judge'] : []), ...(states.length > 0 ? [`set to ${states.join(', ')}`] : [])].join(
    ' and ',
  );
  const final = states.some((state) => state !== 'in_progress') ? ' A finished state is final.' : '';
  return {
    question: `Change ${count} items of queue ${queueId}: ${steps}?${final}`,
    // The refusal that contains the reason ends with a full stop of its own.
    reason: `changing ${count} items needs the user's agreement.${final}`.replace(/[.]$/, ''),
  };
}

function callRefusal(reason: string, hint: string): HeddleError {
  return new HeddleError({
    code: 'invalid_arguments',
    message: `Nothing was changed: ${reason}.`,
    hint,
    detail: [{ loc: ['arguments'], msg: reason, type: 'value_error' }],
  });
}

/** Reads an item, or returns why it cannot be changed. */
async function findItem(
  id: string,
  queue: QueueAccess,
  expectedState: string | undefined,
): Promise<QueueItem | HeddleError> {
  const { service, signal, project } = queue;
  const query = (filter: { id: string } | { call_id: string }) =>
    service.call(
      'queryQueueItems',
      { path: { queue_id: queue.id }, body: { project_id: project, filter, limit: 1 } },
      { signal },
    );
  try {
    const [item] = (await query({ id })).items;
    if (!item) return await missingItem(id, queue, async () => (await query({ call_id: id })).items[0]);
    if (expectedState === undefined || item.annotation_state === expectedState) return item;
    return unexpectedState(item, expectedState);
  } catch (error) {
    if (!(error instanceof HeddleError) || signal.aborted) throw error;
    return error;
  }
}

async function missingItem(
  id: string,
  { id: queueId, project, service, signal }: QueueAccess,
  findByCall: () => Promise<QueueItem | undefined>,
): Promise<HeddleError> {
  const item = await findByCall();
  const hint = item ? `That is a call id; its item is ${item.id}.` : 'Take item ids from a page of the queue.';
  if (!item) await requireQueue(queueId, project, { service, signal });
  return new HeddleError({
    code: 'not_found',
    message: `Not changed: queue ${queueId} has no item ${id}.`,
    hint,
  });
}

/** Throws the failure of the service if it is the same for every item: one error says more than a hundred refusals. */
function throwSharedFailure(results: readonly ItemResult[]): void {
  const failure = results[0]?.error;
  if (!failure || itemErrors.has(failure.code)) return;
  if (results.every(({ error }) => error?.code === failure.code)) throw failure;
}

/** Number of items that are planned and written together. */
const itemsPerRound = 250;
/** Maximum number of refused or otherwise changed items that the result lists. */
const maxListed = 20;
/** Maximum number of ids of changed items in the result. */
const maxShownIds = 5;

async function changeMatching(args: Arguments, project: string, context: ToolContext): Promise<UpdateResult> {
  const { queue_id, filter, change, items, as_of, expected_state, dry_run = false, confirm = false } = args;
  if (items) throw callRefusal('items and filter exclude each other', 'Pass one of them.');
  if (!filter || !change) throw callRefusal('there is nothing to change', 'Pass items, or filter with change.');
  refuseEmpty(change, ['arguments', 'change']);
  const queue = await openQueue(queue_id, project, [{ change, loc: ['arguments', 'change'] }], context);
  const conditions = { asOf: as_of, expectedState: expected_state };
  const readAtMs = Date.now();
  const matching = await matchingItems(queue_id, project, filter, context);
  if (matching.length === 0) {
    await requireQueue(queue_id, project, context);
    const hint = emptyFilterHint(filter);
    return { ...summaryOf({ results: [] }, 0), ...(dry_run && { dry_run }), ...(hint !== undefined && { hint }) };
  }
  if (dry_run) {
    const { expected, refused } = byExpectedState(matching, expected_state);
    const work = expected.map((item) => ({ item, change }));
    const results = [...(await previewItems(work, queue, conditions)), ...refused];
    const seen = rememberItems(context.service, readAtMs, matching);
    const state_counts = countEach(matching.map(({ annotation_state }) => annotation_state));
    return { ...summaryOf({ results }, matching.length), dry_run, state_counts, as_of: seen };
  }
  if (!confirm && matching.length > maxUnconfirmed) {
    requireConsent(consentRequestFor(matching.length, queue_id, [change]), context);
  }
  const startedAtMs = Date.now();
  const isConditional = as_of !== undefined || expected_state !== undefined;
  // The change may move items out of the filter's states, so they are read again without `annotation_states`.
  const { annotation_states: _, ...unaffectedFilter } = serviceFilter(filter);
  const readMatching = once(async () => {
    const items = await matchingItems(queue_id, project, unaffectedFilter, context);
    return new Map(items.map((item) => [item.id, item]));
  });
  const rereadMatching = async (results: ItemResult[]): Promise<CheckedResults> =>
    isConditional
      ? noteChangesByOthers(results, matching, queue, startedAtMs, async (id) => (await readMatching()).get(id))
      : { results };
  const results: ItemResult[] = [];
  let finished = 0;
  for (let start = 0; start < matching.length; start += itemsPerRound) {
    const round = matching.slice(start, start + itemsPerRound);
    const { expected, refused } = byExpectedState(round, expected_state);
    const changed = await changeItems(
      expected.map((item) => ({ item, change })),
      queue,
      conditions,
      () => {
        finished += 1;
        context.progress({ done: finished, total: matching.length, unit: 'items' });
      },
    );
    const stopped = changed.find(({ error }) => error && !itemErrors.has(error.code))?.error;
    results.push(...changed.filter(({ error }) => !error || itemErrors.has(error.code)));
    results.push(...refused);
    if (stopped) {
      // Nothing at all was changed: the failure alone says enough.
      if (results.length === 0) throw stopped;
      return {
        ...summaryOf(await rereadMatching(results), matching.length),
        remaining: matching.length - results.length,
        stopped_by: stopped,
      };
    }
  }
  return summaryOf(await rereadMatching(results), matching.length);
}

/** Returns a function that runs the work once, and returns the same result each time. */
function once<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let result: Promise<Result> | undefined;
  return () => (result ??= work());
}

/** Splits items into those in the expected state and refusals of the rest; without an expected state, refuses none. */
function byExpectedState(
  items: readonly QueueItem[],
  expectedState: string | undefined,
): { expected: QueueItem[]; refused: ItemResult[] } {
  const isExpected = (item: QueueItem) => expectedState === undefined || item.annotation_state === expectedState;
  const others = items.filter((item) => !isExpected(item));
  const refused = others.map((item): ItemResult => {
    return { item_id: item.id, result: 'refused', error: unexpectedState(item, expectedState) };
  });
  return { expected: items.filter(isExpected), refused };
}

function unexpectedState(
  { annotation_state, annotator_user_id }: QueueItem,
  expectedState: string | undefined,
): HeddleError {
  const setter = annotator_user_id ? `, set by ${shortName(annotator_user_id)}` : '';
  return new HeddleError({
    code: 'conflict',
    message: `Not changed: the item is ${annotation_state}${setter}, not ${expectedState}.`,
    hint: 'Read the item again.',
  });
}

/** Summarizes a bulk change: what was refused, what others changed at the same time, and the ids of the first changed items. */
function summaryOf({ results, hint }: CheckedResults, matched: number): UpdateResult {
  const counts = countEach(results.map(({ result }) => result));
  const notable = results.filter(({ result, meanwhile }) => result === 'refused' || meanwhile !== undefined);
  const unlisted = notable.length - maxListed;
  const changed = results.filter(({ result }) => result === 'done' || result === 'would_send');
  const hints = [
    ...(hint === undefined ? [] : [hint]),
    ...(unlisted > 0 ? [`${unlisted} more items, refused or changed by others, are not listed.`] : []),
  ];
  return {
    matched,
    counts,
    ...(changed.length > 0 && { first_changed: changed.slice(0, maxShownIds).map(({ item_id }) => item_id) }),
    items: notable.slice(0, maxListed),
    ...(hints.length > 0 && { hint: hints.join(' ') }),
  };
}
