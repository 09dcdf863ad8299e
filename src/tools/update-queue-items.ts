import { createHash } from 'node:crypto';
import * as z from 'zod';
import { pathSegment, splitProjectId } from '../contract/identifiers.ts';
import { annotationStates, type QueueItem } from '../contract/queue-items.ts';
import { formatReference, referenceScheme } from '../contract/references.ts';
import { type ErrorCode, type ErrorDetail, HeddleError } from '../core/errors.ts';
import { concurrently } from './support/concurrently.ts';
import { countEach } from './support/count-each.ts';
import { orElse } from './support/or-else.ts';
import { type JudgementType, judgementType, readQueueFields } from './support/queue-fields.ts';
import { compactTable } from './support/table.ts';
import { defineTool, projectArgument, projectOf, type ToolContext } from './support/tool.ts';

/** Larger changes need the user's agreement. */
const maxUnconfirmedItems = 20;
/** Items that are changed at the same time. */
const concurrentItems = 8;

/** The states that an annotator can set. */
const targetStates = ['in_progress', 'completed', 'skipped'] as const;

const change = z.strictObject({
  item_id: pathSegment.describe('Id of the item.'),
  annotation_state: z.enum(targetStates).describe('Your state for the item.'),
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
  uses: ['queryQueueItems', 'updateProgress', 'createFeedback', 'readQueue'],
  description: `Records your judgements of queue items and sets your state for them, up to 100 at once.
Use it after you have looked at the items. States belong to the annotator: yours go from in_progress to completed or skipped, and a finished one is final, whatever others did. It is safe to repeat: your identical feedback is stored once.
Example: {"queue_id":"support-triage","items":[{"item_id":"…","annotation_state":"completed","feedback":{"name":"helpful","value":true},"expected_state":"unstarted"}]}
dry_run reports what would happen. More than ${maxUnconfirmedItems} items at once need the user's agreement.
Returns one result per item: done, unchanged, or refused with the reason. A refused item does not stop the others; a name or value that the queue's fields do not allow refuses the call before anything is written.`,
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input,
  output,

  async run({ queue_id, items, dry_run = false, confirm = false, ...query }, context): Promise<UpdateResult> {
    const { service, signal, clientName } = context;
    const queue: QueueAccess = { id: queue_id, project: projectOf(query, context), clientName, service, signal };
    refuseDuplicates(items);
    const judgements = await judgementTypes(items, queue);
    if (!dry_run && !confirm && items.length > maxUnconfirmedItems) requireAgreement(queue_id, items, context);
    const updates = await concurrently(items, concurrentItems, (change) => startUpdate(change, judgements, queue));
    if (!dry_run) await writeFeedback(updates.filter(isPending), queue);
    const results = await concurrently(updates, concurrentItems, (update) => finishUpdate(update, queue, dry_run));
    throwSharedFailure(results);
    return { items: results, counts: countEach(results.map(({ result }) => result)), dry_run };
  },

  render({ items, counts, dry_run }: UpdateResult) {
    const summary = Object.entries(counts).map(([result, count]) => `${count} ${result}`);
    const rows = items.map(({ error, ...rest }) => ({
      ...rest,
      ...(error && { error: `${error.code}: ${error.message}` }),
    }));
    return `${dry_run ? 'Nothing was changed (dry_run); the service decides on each state. Would be: ' : ''}${summary.join(', ')}.
${compactTable(rows, ['item_id', 'result', 'annotation_state', 'feedback_id', 'error'])}`;
  },

  shrink: () => undefined,
});

/** A queue and the means to reach it. */
interface QueueAccess extends Pick<ToolContext, 'service' | 'signal' | 'clientName'> {
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

/**
 * Returns the type of each judgement by the name that the change gives it.
 * @throws HeddleError `invalid_arguments` that names every judgement that the queue does not take.
 */
async function judgementTypes(items: readonly Change[], queue: QueueAccess): Promise<Map<string, JudgementType>> {
  const types = new Map<string, JudgementType>();
  if (items.every(({ feedback }) => feedback === undefined)) return types;
  const fields = await readQueueFields(queue.id, queue.project, queue);
  const detail: ErrorDetail[] = [];
  for (const [index, { feedback }] of items.entries()) {
    if (!feedback) continue;
    const type = judgementType(feedback.name, feedback.value, fields);
    if (typeof type !== 'string') types.set(feedback.name, type);
    else detail.push({ loc: ['arguments', 'items', index, 'feedback'], msg: type, type: 'value_error' });
  }
  if (detail.length === 0) return types;
  throw new HeddleError({
    code: 'invalid_arguments',
    message: `Nothing was changed. ${detail[0]!.msg}.`,
    hint: 'Use the names and values that the fields of the queue allow, then call again.',
    detail,
  });
}

/** An item that is being changed; its `error` ends the change. */
interface Update {
  change: Change;
  item?: QueueItem;
  /** The judgement, ready to be sent. */
  feedback?: NewFeedback;
  feedback_id?: string;
  error?: HeddleError;
}

type NewFeedback = Parameters<ToolContext['service']['createFeedback']>[0];

const isPending = ({ error }: Update): boolean => error === undefined;

/** Runs a step of an update. A failure becomes its error, so that the other items go on. */
async function attempt(update: Update, { signal }: QueueAccess, step: () => Promise<Update>): Promise<Update> {
  try {
    return await step();
  } catch (error) {
    if (!(error instanceof HeddleError) || signal.aborted) throw error;
    return { ...update, error };
  }
}

/** Reads an item and prepares its judgement. */
function startUpdate(
  change: Change,
  judgements: ReadonlyMap<string, JudgementType>,
  queue: QueueAccess,
): Promise<Update> {
  return attempt({ change }, queue, async () => {
    const item = await readItem(change.item_id, queue);
    const { expected_state, feedback } = change;
    if (expected_state !== undefined && expected_state !== item.annotation_state) {
      const reason = `the item is now ${item.annotation_state}, not ${expected_state}`;
      throw itemRefusal('conflict', reason, 'Read the item again.');
    }
    if (!feedback) return { change, item };
    return { change, item, feedback: await newFeedback(item, feedback, judgements.get(feedback.name)!, queue) };
  });
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

function itemRefusal(code: 'not_found' | 'conflict', reason: string, hint: string): HeddleError {
  return new HeddleError({ code, message: `Not changed: ${reason}.`, hint });
}

/**
 * Returns the request for a judgement of the recorded call. Its id is derived from the content and the user name:
 * repeating a call finds the existing feedback, and identical judgements of two users are stored separately. Users of an
 * API key share the user name `api`; the service tells them apart by their account.
 */
async function newFeedback(
  item: QueueItem,
  { name, value }: NonNullable<Change['feedback']>,
  type: JudgementType,
  { id: queueId, project, service, clientName }: QueueAccess,
): Promise<NewFeedback> {
  const call = { scheme: referenceScheme, ...splitProjectId(project), kind: 'call', name: item.call_id } as const;
  return {
    project_id: project,
    weave_ref: formatReference(call),
    ...type,
    payload: { value },
    queue_id: queueId,
    creator: clientName === undefined ? 'heddle' : `${clientName.slice(0, 100)} via heddle`,
    id: contentId([await service.username(), project, queueId, item.id, name, value]),
  };
}

/**
 * Stores the judgements of several items and adds their ids or errors. This comes before any state, because an item must
 * not be finished without its judgement. One request stores them all where the service can do that.
 */
async function writeFeedback(updates: readonly Update[], queue: QueueAccess): Promise<void> {
  const { service, signal } = queue;
  const judged = updates.filter(({ feedback }) => feedback !== undefined);
  const oneByOne = async (): Promise<undefined> => {
    await concurrently(judged, concurrentItems, async (update) => {
      const stored = await attempt(update, queue, async () => {
        const { id } = await service.createFeedback(update.feedback!, { signal });
        return { ...update, feedback_id: id };
      });
      Object.assign(update, stored);
    });
  };
  if (judged.length < 2) return oneByOne();
  const batch = judged.map(({ feedback }) => feedback!);
  try {
    const stored = await orElse(() => service.createFeedbackBatch(batch, { signal }), oneByOne);
    for (const [index, update] of judged.entries()) update.feedback_id ??= stored?.res[index]?.id;
  } catch (error) {
    if (!(error instanceof HeddleError) || signal.aborted) throw error;
    // A service refuses the whole batch for one of them; each on its own tells which.
    if (itemErrors.has(error.code)) await oneByOne();
    else for (const update of judged) update.error = error;
  }
}

/** Sets the annotator's state, which the service decides on, and returns the result for the item. */
async function finishUpdate(update: Update, queue: QueueAccess, dryRun: boolean): Promise<ItemResult> {
  const { change, item, feedback_id, error } = update;
  const { item_id, annotation_state } = change;
  if (error) return { item_id, result: 'refused', error };
  if (dryRun) return { item_id, result: 'done', annotation_state: item!.annotation_state };
  let after: QueueItem | undefined;
  const set = await attempt(update, queue, async () => {
    const body = { project_id: queue.project, annotation_state };
    after = (await queue.service.updateProgress(queue.id, item_id, body, { signal: queue.signal })).item;
    return update;
  });
  if (set.error) {
    return {
      item_id,
      result: 'refused',
      ...(feedback_id && { feedback_id }),
      error: withFeedback(set.error, feedback_id),
    };
  }
  // The shown state is that of whoever changed the item last. Only if that stays the same, nothing has changed.
  const isSame =
    after!.annotation_state === item!.annotation_state &&
    (after!.annotator_user_id ?? '') === (item!.annotator_user_id ?? '');
  return {
    item_id,
    result: isSame && feedback_id === undefined ? 'unchanged' : 'done',
    annotation_state: after!.annotation_state,
    ...(feedback_id && { feedback_id }),
  };
}

/** Adds to the refusal of a state that the judgement is stored all the same. */
function withFeedback(error: HeddleError, feedbackId: string | undefined): HeddleError {
  if (feedbackId === undefined) return error;
  const message = `The judgement is stored, but the state is not set. ${error.message}`;
  return new HeddleError({ ...error, message });
}

/** Returns a UUID (version 8) that is the same for the same content. */
function contentId(content: unknown): string {
  const hex = createHash('sha256').update(JSON.stringify(content)).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
