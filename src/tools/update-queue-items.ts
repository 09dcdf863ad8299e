import { createHash } from 'node:crypto';
import * as z from 'zod';
import { annotationFeedbackType } from '../contract/feedback.ts';
import { pathSegment, splitProjectId } from '../contract/identifiers.ts';
import { type AnnotationState, annotationStates, type QueueItem } from '../contract/queue-items.ts';
import { formatReference, referenceScheme } from '../contract/references.ts';
import { type ErrorCode, HeddleError } from '../core/errors.ts';
import { concurrently } from './support/concurrently.ts';
import { countEach } from './support/count-each.ts';
import { compactTable } from './support/table.ts';
import { defineTool, projectArgument, projectOf, type ToolContext } from './support/tool.ts';

/** Larger changes need the user's agreement. */
const maxUnconfirmedItems = 20;
/** Items that are changed at the same time. */
const concurrentItems = 8;

const change = z.strictObject({
  item_id: pathSegment.describe('Id of the item.'),
  annotation_state: z.enum(annotationStates).describe('State to move the item to.'),
  feedback: z
    .strictObject({
      name: z
        .string()
        .regex(/^[\w.-]{1,100}$/, 'must be letters, digits, . _ or -')
        .describe('What is judged, like "helpful".'),
      value: z.unknown().describe('The judgement: a number, string, boolean, list or object.'),
    })
    .optional()
    .describe('Judgement to record on the call before the item moves.'),
  expected_state: z.enum(annotationStates).optional().describe('Refuse the item if it is now in another state.'),
});

const input = z.strictObject({
  queue_id: pathSegment.describe('Id of the queue.'),
  items: z.array(change).min(1).max(100).describe('One change per item.'),
  project_id: projectArgument('Project of the queue'),
  dry_run: z.boolean().optional().describe('Only report what would happen.'),
  confirm: z
    .boolean()
    .optional()
    .describe(`True if the user has agreed to change more than ${maxUnconfirmedItems} items.`),
});

const output = z.looseObject({
  items: z
    .array(
      z.looseObject({
        item_id: z.string(),
        result: z.enum(['done', 'unchanged', 'refused']),
        annotation_state: z.string().optional().describe('State after the tool call, if known.'),
        feedback_id: z.string().optional(),
        error: z.looseObject({}).optional().describe('Why the item was refused.'),
      }),
    )
    .describe('One result per change, in the same order.'),
  counts: z.record(z.string(), z.int()),
  dry_run: z.boolean(),
});

type Change = z.infer<typeof change>;
interface ItemResult {
  item_id: string;
  result: 'done' | 'unchanged' | 'refused';
  annotation_state?: string;
  feedback_id?: string;
  error?: HeddleError;
}
interface UpdateResult {
  items: ItemResult[];
  counts: Record<string, number>;
  dry_run: boolean;
}

export const updateQueueItemsTool = defineTool({
  name: 'update_queue_items',
  title: 'Judge and move queue items',
  groups: ['queue'],
  uses: ['queryQueueItems', 'updateProgress', 'createFeedback'],
  description: `Records judgements and moves items of a queue to their next state, up to 100 at once.
Use it after you have looked at the items. Items go from unstarted or in_progress to completed or skipped; repeating a state changes nothing; a finished item cannot move again. It is safe to repeat: your identical feedback is stored once.
Example: {"queue_id":"support-triage","items":[{"item_id":"…","annotation_state":"completed","feedback":{"name":"helpful","value":true},"expected_state":"unstarted"}]}
dry_run reports what would happen. More than ${maxUnconfirmedItems} items at once need the user's agreement.
Returns one result per item: done, unchanged, or refused with the reason. A refused item does not stop the others.`,
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input,
  output,

  async run({ queue_id, items, dry_run = false, confirm = false, ...query }, context): Promise<UpdateResult> {
    const { service, signal } = context;
    const queue: QueueAccess = { id: queue_id, project: projectOf(query, context), service, signal };
    refuseDuplicates(items);
    if (!dry_run && !confirm && items.length > maxUnconfirmedItems) requireAgreement(queue_id, items, context);
    const results = await concurrently(items, concurrentItems, (change) => tryChange(change, queue, dry_run));
    throwSharedFailure(results);
    return { items: results, counts: countEach(results.map(({ result }) => result)), dry_run };
  },

  render({ items, counts, dry_run }: UpdateResult) {
    const summary = Object.entries(counts).map(([result, count]) => `${count} ${result}`);
    const rows = items.map(({ error, ...rest }) => ({
      ...rest,
      ...(error && { error: `${error.code}: ${error.message}` }),
    }));
    return `${dry_run ? 'Nothing was changed (dry_run). Would be: ' : ''}${summary.join(', ')}.
${compactTable(rows, ['item_id', 'result', 'annotation_state', 'feedback_id', 'error'])}`;
  },

  shrink: () => undefined,
});

/** A queue and the means to reach it. */
interface QueueAccess extends Pick<ToolContext, 'service' | 'signal'> {
  id: string;
  project: string;
}

function refuseDuplicates(items: readonly Change[]): void {
  const seen = new Set<string>();
  for (const { item_id } of items) {
    if (seen.has(item_id)) throw callRefusal(`item ${item_id} appears twice`, 'Pass each item once.');
    seen.add(item_id);
  }
}

/** Returns only if the user agrees to the change. The tool starts over once the user has answered. */
function requireAgreement(queueId: string, items: readonly Change[], context: ToolContext): void {
  const states = [...new Set(items.map(({ annotation_state }) => annotation_state))].join(', ');
  const answer = context.ask(`Change ${items.length} items of queue ${queueId} to ${states}?`);
  if (answer === 'yes') return;
  if (answer === 'no') {
    throw new HeddleError({
      code: 'cancelled',
      message: 'The user declined the change.',
      hint: 'Nothing was changed. Ask the user what they want.',
    });
  }
  throw callRefusal(
    `changing more than ${maxUnconfirmedItems} items needs the user's agreement`,
    'Ask the user, then call again with confirm: true, or change fewer items at once.',
  );
}

function callRefusal(reason: string, hint: string): HeddleError {
  return new HeddleError({
    code: 'invalid_arguments',
    message: `Nothing was changed: ${reason}.`,
    hint,
    detail: [{ loc: ['arguments', 'items'], msg: reason, type: 'value_error' }],
  });
}

/** Throws the failure of the service if it is the same for every item: one error says more than a hundred refusals. */
function throwSharedFailure(results: readonly ItemResult[]): void {
  const failure = results[0]?.error;
  if (!failure || itemErrors.has(failure.code)) return;
  if (results.every(({ error }) => error?.code === failure.code)) throw failure;
}

/** Errors that concern a single item rather than the service. */
const itemErrors = new Set<ErrorCode>([
  'not_found',
  'conflict',
  'invalid_request',
  'validation_failed',
  'invalid_arguments',
]);

/** Changes one item. A failure becomes its result, so that the results of the other items are not lost. */
async function tryChange(change: Change, queue: QueueAccess, dryRun: boolean): Promise<ItemResult> {
  try {
    return await changeItem(change, queue, dryRun);
  } catch (error) {
    if (!(error instanceof HeddleError) || queue.signal.aborted) throw error;
    return { item_id: change.item_id, result: 'refused', error };
  }
}

async function changeItem(change: Change, queue: QueueAccess, dryRun: boolean): Promise<ItemResult> {
  const { item_id, annotation_state, feedback } = change;
  const item = await readItem(item_id, queue);
  const state = item.annotation_state;
  if (isAlreadyDone(change, state)) return { item_id, result: 'unchanged', annotation_state };
  refuseConflict(change, state);
  if (dryRun) return { item_id, result: 'done', annotation_state: state };
  // The judgement comes first: an item must not be finished without one.
  const feedback_id = feedback && (await writeFeedback(item, feedback, queue));
  if (state !== annotation_state) {
    const body = { project_id: queue.project, annotation_state };
    await queue.service.updateProgress(queue.id, item_id, body, { signal: queue.signal });
  }
  return { item_id, result: 'done', annotation_state, ...(feedback_id && { feedback_id }) };
}

async function readItem(id: string, { id: queueId, project, service, signal }: QueueAccess): Promise<QueueItem> {
  const query = { project_id: project, filter: { id }, limit: 1 };
  const { items } = await service.queryQueueItems(queueId, query, { signal });
  if (items[0]) return items[0];
  throw itemRefusal(
    'not_found',
    `queue ${queueId} has no item with this id`,
    'Take item ids from a page of the queue.',
  );
}

/** Tells whether nothing is left to do for an item in this state. */
function isAlreadyDone({ annotation_state, feedback, expected_state }: Change, state: string): boolean {
  if (state !== annotation_state) return false;
  // An earlier call moved the item out of its expected state, and wrote the judgement before that.
  return feedback === undefined || (expected_state !== undefined && expected_state !== state);
}

/** @throws HeddleError `conflict` when an item in this state cannot make the change. */
function refuseConflict({ annotation_state, expected_state }: Change, state: string): void {
  if (expected_state !== undefined && expected_state !== state) {
    throw itemRefusal('conflict', `the item is now ${state}, not ${expected_state}`, 'Read the item again.');
  }
  if (state !== annotation_state && !isAllowed(state, annotation_state)) {
    const reason = `an item that is ${state} cannot become ${annotation_state}`;
    throw itemRefusal('conflict', reason, 'Leave the item as it is.');
  }
}

/** Applies the service's rules for state changes, so that dry_run can report refusals. */
function isAllowed(from: string, to: AnnotationState): boolean {
  if (to === 'in_progress') return from === 'unstarted';
  return to !== 'unstarted' && (from === 'unstarted' || from === 'in_progress');
}

function itemRefusal(code: 'not_found' | 'conflict', reason: string, hint: string): HeddleError {
  return new HeddleError({ code, message: `Not changed: ${reason}.`, hint });
}

/**
 * Writes a judgement as a human annotation of the recorded call and returns its id. The id is derived from the content
 * and the user name: repeating a call finds the existing feedback, and identical judgements of two users are stored
 * separately. Users of an API key share the user name `api`; the service tells them apart by their account.
 */
async function writeFeedback(
  item: QueueItem,
  { name, value }: NonNullable<Change['feedback']>,
  { id: queueId, project, service, signal }: QueueAccess,
): Promise<string> {
  const call = { scheme: referenceScheme, ...splitProjectId(project), kind: 'call', name: item.call_id } as const;
  const feedback = {
    project_id: project,
    weave_ref: formatReference(call),
    feedback_type: annotationFeedbackType(name),
    payload: { value },
    queue_id: queueId,
    id: contentId([await service.username(), project, queueId, item.id, name, value]),
  };
  return (await service.createFeedback(feedback, { signal })).id;
}

/** Returns a UUID (version 8) that is the same for the same content. */
function contentId(content: unknown): string {
  const hex = createHash('sha256').update(JSON.stringify(content)).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
