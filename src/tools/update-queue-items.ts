import * as z from 'zod';
import { annotationFeedbackType } from '../contract/feedback.ts';
import { pathSegment, splitProjectId } from '../contract/identifiers.ts';
import { type AnnotationState, annotationStates, type QueueItem } from '../contract/queue-items.ts';
import { formatReference, referenceScheme } from '../contract/references.ts';
import { HeddleError } from '../core/errors.ts';
import { concurrently } from './support/concurrently.ts';
import { compactTable } from './support/table.ts';
import { defineTool, projectArgument, projectOf, type ToolContext } from './support/tool.ts';

/** Above so many items a person is asked first. */
const itemsWithoutQuestion = 20;
/** Requests under way at once. */
const concurrency = 8;

const change = z.strictObject({
  item_id: pathSegment.describe('Item, by its id.'),
  annotation_state: z.enum(annotationStates).describe('State to move it to.'),
  feedback: z
    .strictObject({
      name: z
        .string()
        .regex(/^[\w.-]{1,100}$/, 'must be letters, digits, . _ or -')
        .describe('What is judged, like "helpful".'),
      value: z.unknown().describe('The judgement: a number, text, boolean, list or object.'),
    })
    .optional()
    .describe('Judgement to write down on the recorded call first.'),
  expected_state: z.enum(annotationStates).optional().describe('Refuse the item when it is in another state by now.'),
});

const input = z.strictObject({
  queue_id: pathSegment.describe('Queue of the items, by its id.'),
  items: z.array(change).min(1).max(100).describe('Changes, one for each item.'),
  project_id: projectArgument('Project of the queue'),
  dry_run: z.boolean().optional().describe('Only say what would happen.'),
  confirm: z
    .boolean()
    .optional()
    .describe(`True when the user has agreed to a change of more than ${itemsWithoutQuestion} items.`),
});

const results = ['done', 'unchanged', 'refused'] as const;

const output = z.looseObject({
  items: z
    .array(
      z.looseObject({
        item_id: z.string(),
        result: z.enum(results),
        annotation_state: z.string().optional().describe('State after the call, where known.'),
        feedback_id: z.string().optional(),
        error: z.looseObject({}).optional().describe('Why it was refused.'),
      }),
    )
    .describe('One result for each change, in the same order.'),
  counts: z.record(z.string(), z.int()),
  dry_run: z.boolean(),
});

type Change = z.infer<typeof change>;
interface ItemResult {
  item_id: string;
  result: (typeof results)[number];
  annotation_state?: string;
  feedback_id?: string;
  error?: HeddleError;
}
interface Result {
  items: ItemResult[];
  counts: Record<string, number>;
  dry_run: boolean;
}

export const updateQueueItemsTool = defineTool({
  name: 'update_queue_items',
  title: 'Judge and move queue items',
  groups: ['queue'],
  uses: ['queryQueueItems', 'updateProgress', 'createFeedback'],
  description: `Writes judgements down and moves items of a queue to their next state, up to 100 at once.
Use it after you have looked at the items. States go from unstarted or in_progress to completed or skipped; the same state again changes nothing; a finished item stays as it is. It is safe to repeat: your feedback of the same content is kept once.
Example: {"queue_id":"support-triage","items":[{"item_id":"…","annotation_state":"completed","feedback":{"name":"helpful","value":true},"expected_state":"unstarted"}]}
dry_run says what would happen. More than ${itemsWithoutQuestion} items at once need the user's agreement.
Returns a result for each item: done, unchanged, or refused with the reason. A refused item does not stop the others.`,
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input,
  output,

  async run({ queue_id, items, dry_run = false, confirm = false, ...query }, context): Promise<Result> {
    const project = projectOf(query, context);
    const twice = items.find(({ item_id }, index) => items.findIndex((other) => other.item_id === item_id) !== index);
    if (twice) throw refusedWhole(`item ${twice.item_id} is named twice`, 'Name each item once.');
    if (!dry_run && !confirm && items.length > itemsWithoutQuestion) askFirst(queue_id, items, context);
    const done = await concurrently(items, concurrency, (entry) => judge(entry, queue_id, project, dry_run, context));
    const [first] = done;
    // Where the service answers nothing at all, that is the result.
    if (first?.error && done.every(({ error }) => error && error.code === first.error?.code && isOfTheService(error))) {
      throw first.error;
    }
    const counts: Record<string, number> = {};
    for (const { result } of done) counts[result] = (counts[result] ?? 0) + 1;
    return { items: done, counts, dry_run };
  },

  render({ items, counts, dry_run }: Result) {
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

/** Asks the person, where the client can; the tool starts anew with the answer. */
function askFirst(queueId: string, items: Change[], context: ToolContext): void {
  const states = [...new Set(items.map(({ annotation_state }) => annotation_state))].join(', ');
  const answer = context.ask(`Change ${items.length} items of queue ${queueId} to ${states}?`);
  if (answer === 'yes') return;
  throw answer === 'no'
    ? new HeddleError({
        code: 'cancelled',
        message: 'The user declined the change.',
        hint: 'Nothing was changed. Ask the user what they want.',
      })
    : refusedWhole(
        `${items.length} items are more than ${itemsWithoutQuestion}`,
        'Nothing was changed. Ask the user, then call again with confirm: true; or change fewer items at once.',
      );
}

/** Whether the failure would meet any other call just as well. */
function isOfTheService({ code }: HeddleError): boolean {
  return !['not_found', 'conflict', 'invalid_request', 'validation_failed', 'invalid_arguments'].includes(code);
}

function refusedWhole(reason: string, hint: string): HeddleError {
  return new HeddleError({
    code: 'invalid_arguments',
    message: `update_queue_items was not begun: ${reason}.`,
    hint,
    detail: [{ loc: ['arguments', 'items'], msg: reason, type: 'value_error' }],
  });
}

/** Judges one item. Whatever keeps it from being done is its own result: the others must not be lost with it. */
async function judge(
  wanted: Change,
  queueId: string,
  project: string,
  dryRun: boolean,
  context: ToolContext,
): Promise<ItemResult> {
  const { item_id } = wanted;
  try {
    return await judgeItem(wanted, queueId, project, dryRun, context);
  } catch (error) {
    if (!(error instanceof HeddleError) || context.signal.aborted) throw error;
    return { item_id, result: 'refused', error };
  }
}

async function judgeItem(
  { item_id, annotation_state, feedback, expected_state }: Change,
  queueId: string,
  project: string,
  dryRun: boolean,
  { service, signal }: ToolContext,
): Promise<ItemResult> {
  const page = await service.queryQueueItems(
    queueId,
    { project_id: project, filter: { id: item_id }, limit: 1 },
    { signal },
  );
  const item = page.items[0];
  if (!item) throw refusal('not_found', `queue ${queueId} has no such item`, 'Take item ids from a page of the queue.');
  const now = item.annotation_state;
  if (expected_state !== undefined && now !== expected_state) {
    // The state that is wanted already: this is the call once more, and its judgement was written down before the state.
    if (now === annotation_state) return { item_id, result: 'unchanged', annotation_state };
    throw refusal('conflict', `the item is ${now} by now, not ${expected_state}`, 'Look at the item again.');
  }
  const unchanged = now === annotation_state;
  if (!unchanged && !mayFollow(now, annotation_state)) {
    throw refusal('conflict', `${annotation_state} cannot follow ${now}`, 'Leave the item as it is.');
  }
  if (dryRun || (unchanged && !feedback)) {
    return {
      item_id,
      result: unchanged && !feedback ? 'unchanged' : 'done',
      annotation_state: dryRun ? now : annotation_state,
    };
  }
  // The judgement first: an item must not be finished with nothing written down.
  const feedback_id = feedback && (await writeFeedback(item, feedback, queueId, project, { service, signal }));
  if (!unchanged) {
    await service.updateProgress(queueId, item_id, { project_id: project, annotation_state }, { signal });
  }
  return { item_id, result: 'done', annotation_state, ...(feedback_id && { feedback_id }) };
}

/** The transitions of the service, known here so that dry_run can tell what would be refused. */
function mayFollow(now: string, next: AnnotationState): boolean {
  if (next === 'in_progress') return now === 'unstarted';
  return next !== 'unstarted' && (now === 'unstarted' || now === 'in_progress');
}

/**
 * Writes the judgement as a human annotation of the recorded call. Its id comes from its content and its author, so that
 * repeating the call finds the feedback that is already there, and two people who judge alike are two. Those who use an
 * API key all have the user name `api`; the service that has such keys keeps feedback by its own user and the id.
 */
async function writeFeedback(
  item: QueueItem,
  { name, value }: NonNullable<Change['feedback']>,
  queueId: string,
  project: string,
  { service, signal }: Pick<ToolContext, 'service' | 'signal'>,
): Promise<string> {
  const { id } = await service.createFeedback(
    {
      project_id: project,
      weave_ref: formatReference({
        scheme: referenceScheme,
        ...splitProjectId(project),
        kind: 'call',
        name: item.call_id,
      }),
      feedback_type: annotationFeedbackType(name),
      payload: { value },
      queue_id: queueId,
      id: await contentId([await service.username(), project, queueId, item.id, name, value]),
    },
    { signal },
  );
  return id;
}

/** A UUID (version 8) of the content: the same content has the same id. */
async function contentId(content: unknown): Promise<string> {
  // Loading it costs more than 5 ms at start.
  const { createHash } = await import('node:crypto');
  const hex = createHash('sha256').update(JSON.stringify(content)).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

function refusal(code: 'not_found' | 'conflict', reason: string, hint: string): HeddleError {
  return new HeddleError({ code, message: `Not changed: ${reason}.`, hint });
}
