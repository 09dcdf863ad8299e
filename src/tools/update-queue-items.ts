import * as z from 'zod';
import { pathSegment } from '../contract/identifiers.ts';
import { annotationStates, progressStates } from '../contract/queue-items.ts';
import { assignees } from '../contract/queues.ts';
import { groupBy } from '../core/append-to.ts';
import { type HeddleError, invalidArgument } from '../core/errors.ts';
import { countEach } from '../core/statistics/count-each.ts';
import {
  type ChangedItems,
  type ChangeTarget,
  changeItems,
  type ItemResult,
  itemResult,
} from '../queues/changes/change-items.ts';
import type { Change } from '../queues/changes/plan-updates.ts';
import { emptyFilterHint, type ItemsFilter, itemsFilter } from '../queues/items-filter.ts';
import { requireQueue } from '../queues/require-queue.ts';
import { rememberItems } from '../queues/shown-items.ts';
import { errorMember } from '../records/error-member.ts';
import { cell, compactTable } from '../text/compact-table.ts';
import { pluralize } from '../text/page.ts';
import { type ConsentRequest, maxUnconfirmed, requireConsent } from './definition/require-consent.ts';
import { defineTool, mentionsTime, projectArgument, projectOf, queueArgument } from './definition/tool.ts';

const valuesByField = z.record(
  z.string().regex(/^[\p{L}\p{N}_.-]{1,128}$/u, 'must be letters, digits, . _ or -'),
  z.unknown(),
);

const change = z.strictObject({
  judgements: valuesByField.optional().describe('Values by field.'),
  note: z.string().min(1).max(1024).optional().describe('For people.'),
  annotation_state: z.enum(progressStates).optional().describe('Your progress.'),
  retract: z.array(z.string()).optional().describe('To take back: fields, note, or * for all.'),
  gold: valuesByField.optional().describe('Settles disputes; null removes.'),
  reason: z.string().min(1).max(1024).optional().describe('For gold.'),
  assignees: assignees.optional().describe('Who alone may claim it; [] for all.'),
});

const input = z.strictObject({
  queue_id: queueArgument.describe('Id or name of the queue.'),
  items: z
    .array(change.extend({ item_id: pathSegment.optional(), call_id: pathSegment.optional() }))
    .min(1)
    .max(100)
    .optional()
    .describe('Up to 100, with item_id or call_id.'),
  filter: itemsFilter.optional().describe('As in query_queue_items.'),
  change: change.optional().describe('As in items.'),
  as_of: z
    .string()
    .refine((text) => !Number.isNaN(Date.parse(text)), 'must be the as_of of a page, a date and time')
    .optional()
    .describe('From a page: refuses what others changed since. With by_user or several reviewers, checks only gold.'),
  expected_state: z.enum(annotationStates).optional().describe('Refuses items in another state.'),
  dry_run: z.boolean().optional(),
  confirm: z.boolean().optional().describe('The user has agreed.'),
  by_user: z.boolean().optional().describe("The user's own values."),
  project_id: projectArgument('Project of the queue'),
});

const output = z.object({
  counts: z.record(z.string(), z.int()).describe('Number of items by result.'),
  items: z
    .array(itemResult)
    .describe(
      'One result per change, or none if all are the same; for a filter, items that were refused or that others changed.',
    ),
  refusals: z
    .array(z.object({ error: errorMember, item_ids: z.array(z.string()) }))
    .optional()
    .describe('Refusals of several items, which are not among the results.'),
  matched: z.int().optional().describe('Items that match the filter.'),
  stopped_by: errorMember.optional().describe('The failure that kept the remaining items from being reached.'),
  annotation_state: z.string().optional().describe('State that all items show, where all have the same result.'),
  remaining: z.int().optional().describe('Items that were not reached; call again to continue.'),
  dry_run: z.boolean().optional(),
  hint: z.string().optional(),
  stays: z.string().optional(),
  first_changed: z.array(z.string()).optional().describe('Ids of the first changed items of a filter.'),
  as_of: z.string().optional().describe('Time of the dry run; pass it with the real change.'),
  state_counts: z.record(z.string(), z.int()).optional().describe('Shown states of the matching items, in a dry run.'),
});

/** The result of update_queue_items. */
export type UpdateResult = z.output<typeof output>;

export const updateQueueItemsTool = defineTool({
  name: 'update_queue_items',
  title: 'Judge and move queue items',
  groups: ['queue'],
  uses: ['queryQueueItems', 'updateProgress', 'createFeedback', 'readQueue', 'queryFeedback'],
  description: `Records judgements, notes and your state for items, or all that match a filter. Your latest judgement of a field counts; skipped is final, completed until you retract judgements. More than ${maxUnconfirmed} items need the user's agreement.
Example: {"queue_id":"support-triage","items":[{"item_id":"…","judgements":{"helpful":true},"annotation_state":"completed"}]}
With filter: {"queue_id":"support-triage","filter":{"call_op_name":"support.escalate"},"change":{"annotation_state":"skipped"},"dry_run":true}`,
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  input,
  output,
  hasTimes: mentionsTime,

  async run(args, context): Promise<UpdateResult> {
    const { queue_id, as_of, expected_state, dry_run = false, confirm = false, by_user } = args;
    const target = targetOf(args);
    const { service, clientName } = context;
    const queue = { id: queue_id, project: projectOf(args, context), service, clientName, byUser: by_user };
    const startedAtMs = Date.now();
    const changed = await changeItems(
      target,
      {
        asOf: as_of,
        expectedState: expected_state,
        isDryRun: dry_run,
        requireConsent: async (count) => {
          if (confirm || count <= maxUnconfirmed) return;
          const { name } = await requireQueue(queue_id, queue.project, service);
          requireConsent(consentRequestFor(count, name, 'items' in target ? target.items : [target.change]), context);
        },
        onProgress: (finished, total) => context.progress({ done: finished, total, unit: 'items' }),
      },
      queue,
    );
    const shown = 'items' in target ? listedResult(changed) : filterResult(changed, target.filter);
    if (!dry_run) return shown;
    if ('items' in target || changed.items.length === 0) return { ...shown, dry_run };
    const state_counts = Object.fromEntries(countEach(changed.items.map(({ annotation_state }) => annotation_state)));
    return { ...shown, dry_run, state_counts, as_of: rememberItems(queue, startedAtMs, changed.items) };
  },

  isIncomplete: ({ counts, remaining = 0, dry_run }) => !dry_run && (remaining > 0 || (counts.refused ?? 0) > 0),

  render({
    items,
    refusals = [],
    counts,
    matched,
    remaining,
    stopped_by,
    dry_run,
    state_counts,
    ...more
  }: UpdateResult) {
    const results = Object.entries(counts).map(
      ([result, count]) => `${count} ${result === 'would_send' ? 'would be sent' : result}`,
    );
    const matching = matched === undefined ? '' : `${pluralize(matched, 'item')} matched. `;
    const shown = Object.entries(state_counts ?? {}).map(([state, count]) => `${count} ${cell(state)}`);
    const states = shown.length > 0 ? ` They show ${shown.join(', ')}.` : '';
    const prefix = dry_run ? `Nothing was changed (dry_run).${states} The service refuses what is final for you. ` : '';
    const { hint, stays, first_changed, as_of, annotation_state } = more;
    const state = annotation_state === undefined ? '' : ` All show ${cell(annotation_state)}.`;
    const first = first_changed ? ` The first: ${first_changed.map(cell).join(', ')}.` : '';
    const seen = as_of === undefined ? '' : ` as_of ${as_of}.`;
    const sentence = ({ code, message, hint }: HeddleError): string => `${code}: ${message} ${hint}`;
    const rows = items.map(({ error, ...members }) => ({ ...members, ...(error && { error: sentence(error) }) }));
    return [
      `${matching}${prefix}${results.join(', ') || 'Nothing changed'}.${first}${state}${seen}`,
      ...(remaining ? [`${remaining} not reached: ${stopped_by?.message ?? ''} Call again to continue.`] : []),
      ...[stays, hint].filter((text) => text !== undefined),
      ...refusals.map(
        ({ error, item_ids }) =>
          `${cell(sentence(error))} Of ${item_ids.length} items: ${item_ids.map(cell).join(', ')}.`,
      ),
      ...(rows.length > 0
        ? [compactTable(rows, ['item_id', 'result', 'annotation_state', 'meanwhile', 'stays', 'error'])]
        : []),
    ].join('\n');
  },

  // The counts must reach the reader even if the results of single items do not fit.
  shrink: ({ items, refusals, hint, ...rest }) =>
    items.length === 0 && refusals === undefined
      ? undefined
      : {
          ...rest,
          items: [],
          hint: `${hint === undefined ? '' : `${hint} `}Results of individual items are omitted because of the size limit.`,
        },
});

/** Returns what a call changes. @throws HeddleError `invalid_arguments` if that is nothing, or is not clear. */
function targetOf({ items, filter, change }: z.output<typeof input>): ChangeTarget {
  if (items && filter) throw callRefusal('items and filter exclude each other', 'Pass one of them.');
  if (items && change)
    throw callRefusal('change goes with filter', 'Put the change into each of items, or pass filter.');
  if (filter && change) {
    refuseEmpty(change, 'change');
    return { filter, change };
  }
  if (!items) throw callRefusal('there is nothing to change', 'Pass items, or filter with change.');
  const seen = new Set<string>();
  for (const [index, change] of items.entries()) {
    const { item_id, call_id } = change;
    if ((item_id === undefined) === (call_id === undefined)) {
      throw callRefusal(
        `items.${index} needs either item_id or call_id`,
        'Pass the id of the item, or that of its call.',
      );
    }
    const named = item_id === undefined ? `of call ${call_id}` : item_id;
    if (seen.has(named)) throw callRefusal(`item ${named} appears twice`, 'Pass each item once.');
    seen.add(named);
    refuseEmpty(change, `items.${index}`);
  }
  return { items };
}

function refuseEmpty(change: Change, path: string): void {
  const { judgements, note, annotation_state, retract, gold, reason, assignees } = change;
  const hasGold = Object.keys(gold ?? {}).length > 0;
  if (reason !== undefined && !hasGold) throw callRefusal(`${path}.reason goes with gold`, 'Pass gold, or a note.');
  if (annotation_state || note || retract?.length || hasGold || assignees) return;
  if (Object.keys(judgements ?? {}).length > 0) return;
  throw callRefusal(`${path} changes nothing`, 'Pass judgements, note, annotation_state, retract, gold or assignees.');
}

/** Returns the request for the user's consent to change many items. */
function consentRequestFor(count: number, queueName: string, changes: readonly Change[]): ConsentRequest {
  const states = [...new Set(changes.flatMap(({ annotation_state }) => annotation_state ?? []))];
  const verbs = { judgements: 'judge', note: 'add a note', retract: 'take back', gold: 'settle', assignees: 'assign' };
  const parts = Object.keys(verbs) as (keyof typeof verbs)[];
  const steps = [
    ...parts.filter((part) => changes.some((change) => change[part])).map((part) => verbs[part]),
    ...(states.length > 0 ? [`set to ${states.join(', ')}`] : []),
  ].join(' and ');
  const final = states.some((state) => state !== 'in_progress')
    ? ' Skipped items stay skipped, completed ones until their judgements are taken back.'
    : '';
  return {
    question: `Change ${count} items of queue ${JSON.stringify(queueName)}: ${steps}?${final}`,
    // The refusal that contains the reason ends with a full stop of its own.
    reason: `changing ${count} items needs the user's agreement.${final}`.replace(/[.]$/, ''),
  };
}

function callRefusal(fault: string, hint: string): HeddleError {
  return invalidArgument([], { consequence: 'Nothing was changed', fault, hint });
}

/** Returns every result, or a summary if all are the same. */
function listedResult({ results, hint, stays }: ChangedItems): UpdateResult {
  const counts = Object.fromEntries(countEach(results.map(({ result }) => result)));
  const [state, ...otherStates] = new Set(results.map(({ annotation_state }) => annotation_state));
  const isUniform = results.length > 1 && Object.keys(counts).length === 1 && otherStates.length === 0;
  const isNotable = results.some(({ error, meanwhile, stays }) => error ?? meanwhile ?? stays);
  const shown =
    isUniform && !isNotable ? { items: [], ...(state && { annotation_state: state }) } : sharedOnce(results);
  return { counts, ...shown, ...(hint !== undefined && { hint }), ...(stays !== undefined && { stays }) };
}

/** Returns results with each error that several items have in one place. */
function sharedOnce(results: readonly ItemResult[]): Pick<UpdateResult, 'items' | 'refusals'> {
  const refused = results.filter(({ error }) => error);
  const groups = groupBy(refused, ({ error }) => JSON.stringify(error));
  const shared = [...groups.values()].filter((group) => group.length > 1);
  const grouped = new Set(shared.flat());
  const refusals = shared.map((group) => ({ error: group[0]!.error!, item_ids: group.map(({ item_id }) => item_id) }));
  return { items: results.filter((result) => !grouped.has(result)), ...(refusals.length > 0 && { refusals }) };
}

/** Maximum number of refused or otherwise changed items that the result lists. */
const maxListed = 20;
/** Maximum number of ids of changed items in the result. */
const maxShownIds = 5;

/** Summarizes the results: the refused items, those that others changed at the same time, and the first changed ones. */
function filterResult({ results, items, stoppedBy, hint, stays }: ChangedItems, filter: ItemsFilter): UpdateResult {
  const notable = results.filter(({ result, meanwhile }) => result === 'refused' || meanwhile !== undefined);
  const unlisted = notable.length - maxListed;
  const changed = results.filter(({ result }) => result === 'done' || result === 'would_send');
  const hints = [
    hint,
    unlisted > 0 ? `${unlisted} more items, refused or changed by others, are not listed.` : undefined,
    items.length === 0 ? emptyFilterHint(filter) : undefined,
  ].filter((text) => text !== undefined);
  return {
    matched: items.length,
    counts: Object.fromEntries(countEach(results.map(({ result }) => result))),
    ...(changed.length > 0 && { first_changed: changed.slice(0, maxShownIds).map(({ item_id }) => item_id) }),
    ...sharedOnce(notable.slice(0, maxListed)),
    ...(hints.length > 0 && { hint: hints.join(' ') }),
    ...(stays !== undefined && { stays }),
    ...(stoppedBy && { remaining: items.length - results.length, stopped_by: stoppedBy }),
  };
}
