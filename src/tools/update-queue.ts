import * as z from 'zod';
import { entriesNamed } from '../contract/identifiers.ts';
import type { QueueItem } from '../contract/queue-items.ts';
import { assignees, type Queue, reviewersPerItem } from '../contract/queues.ts';
import { HeddleError, invalidArgument } from '../core/errors.ts';
import { removeItems } from '../queues/changes/remove-items.ts';
import { assign } from '../queues/changes/write-updates.ts';
import { byCall, judgementsOf, readFeedback } from '../queues/judgements.ts';
import { nearestItems, requireKnownIds } from '../queues/known-names.ts';
import { matchingItems } from '../queues/matching-items.ts';
import type { QueueAccess } from '../queues/queue-access.ts';
import {
  type DefinedField,
  definedField,
  type FieldDefinition,
  fieldDefinitions,
  fieldSummaries,
  isSameField,
  type QueueField,
  readFieldsOfQueues,
  renderFields,
  storeFields,
  summarizeField,
} from '../queues/queue-fields.ts';
import { itemsNamed } from '../queues/read-items.ts';
import { queuesNamed, requireQueue } from '../queues/require-queue.ts';
import { cell, escapeInvisible } from '../text/compact-table.ts';
import { pluralize } from '../text/page.ts';
import { maxUnconfirmed, requireConsent } from './definition/require-consent.ts';
import { defineTool, projectArgument, projectOf, queueArgument, type ToolContext } from './definition/tool.ts';

const input = z.strictObject({
  queue_id: queueArgument.describe('Id or name of the queue.'),
  name: z.string().trim().min(1).optional(),
  guidelines: z.string().optional(),
  add_fields: fieldDefinitions.min(1).optional().describe('As in fields of create_queue.'),
  reviewers_per_item: reviewersPerItem.optional(),
  assignees: assignees.optional().describe('Who may claim items; [] for all.'),
  remove_items: z.array(z.string().min(1)).min(1).max(1000).optional().describe('Ids of items or calls.'),
  delete: z.boolean().optional(),
  dry_run: z.boolean().optional(),
  confirm: z.boolean().optional().describe('The user has agreed.'),
  project_id: projectArgument('Project of the queue'),
});

const output = z.object({
  queue_id: z.string(),
  name: z.string(),
  guidelines: z.string().optional(),
  fields: fieldSummaries,
  reviewers_per_item: reviewersPerItem.optional(),
  assignees: assignees.optional(),
  before: z.object({ name: z.string(), guidelines: z.string() }).partial().optional(),
  total_items: z.int().optional(),
  removed: z.int().optional(),
  unknown: z.array(z.string()).optional().describe('Ids for which the queue has no item.'),
  hint: z.string().optional(),
  deleted: z.boolean().optional(),
  dry_run: z.boolean().optional(),
});

/** The result of update_queue: the queue as it is now or, in a dry run, as it would be. */
export type ChangedQueue = z.output<typeof output>;

type Arguments = z.output<typeof input>;

/** Tells users after items were removed or a queue was deleted that nothing else is gone. */
const stays = 'Recorded calls and their judgements stay.';

interface QueueBefore {
  access: QueueAccess;
  queue: Queue;
  fields: QueueField[];
}

export const updateQueueTool = defineTool({
  name: 'update_queue',
  title: 'Change queue',
  groups: ['queue'],
  uses: ['readQueue', 'createObject', 'updateQueue'],
  description: `Renames a queue, replaces its guidelines, adds fields, removes items, or deletes it for good.
Example: {"queue_id":"support-triage","add_fields":[{"name":"kind","type":"boolean"}]}`,
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  input,
  output,

  async run(args, context): Promise<ChangedQueue> {
    refuseUnclear(args);
    const access = { ...context, id: args.queue_id, project: projectOf(args, context) };
    const queue = await requireQueue(access.id, access.project, context.service);
    const [fields = []] = await readFieldsOfQueues([queue], context.service);
    return (args.delete ? deleteQueue : changeQueue)(args, { access, queue, fields }, context);
  },

  isIncomplete: ({ unknown = [], dry_run }) => !dry_run && unknown.length > 0,

  render({ queue_id, name, guidelines, fields, reviewers_per_item, assignees, before = {}, ...rest }: ChangedQueue) {
    const { total_items, removed, unknown = [], hint, deleted, dry_run } = rest;
    const title = `ueue ${cell(name)} (${cell(queue_id)})`;
    const items = total_items === undefined ? '' : `, ${pluralize(total_items, 'item')}`;
    const former = Object.entries(before).map(([member, text]) => `${member} ${JSON.stringify(text)}`);
    const lines = deleted
      ? [`${dry_run ? 'Would delete q' : 'Deleted q'}${title}${items}. ${hint}`]
      : [
          `Q${title}${items}${removed === undefined ? '' : `, ${removed} removed`}.`,
          ...(guidelines === undefined ? [] : [`Guidelines: ${cell(guidelines)}`]),
          ...(fields === undefined ? [] : [`Fields: ${renderFields(fields)}`]),
          ...(reviewers_per_item === undefined ? [] : [`Reviewers per item: ${JSON.stringify(reviewers_per_item)}`]),
          ...(assignees === undefined ? [] : [`Assignees: ${assignees.map(cell).join(', ')}`]),
          ...(former.length > 0 ? [`Before: ${former.join(', ')}`] : []),
          ...(unknown.length > 0 ? [`No item: ${unknown.map(cell).join(', ')}. ${hint}`] : hint ? [hint] : []),
        ];
    return [...(dry_run ? ['Nothing was changed (dry_run); this would be the result.'] : []), ...lines]
      .map(escapeInvisible)
      .join('\n');
  },
});

/** @throws HeddleError `invalid_arguments` if a call changes nothing, or deletes a queue that it also changes. */
function refuseUnclear({ delete: deletes = false, ...args }: Arguments): void {
  const { name, guidelines, add_fields, reviewers_per_item, assignees, remove_items } = args;
  const changes = [name, guidelines, add_fields, reviewers_per_item, assignees, remove_items].some(
    (change) => change !== undefined,
  );
  if (changes !== deletes) return;
  throw invalidArgument(deletes ? 'delete' : [], {
    consequence: 'Nothing was changed',
    fault: deletes ? 'delete goes without other changes' : 'there is nothing to change',
    hint: 'Pass delete: true, or any of name, guidelines, add_fields, reviewers_per_item, assignees and remove_items.',
  });
}

async function deleteQueue(
  { dry_run, confirm }: Arguments,
  { access, queue, fields }: QueueBefore,
  context: ToolContext,
): Promise<ChangedQueue> {
  const { total_items, completed_items } = await countItems(access);
  const result = { ...shownQueue(queue, fields), total_items, deleted: true, hint: stays };
  if (dry_run) return { ...result, dry_run };
  if (!confirm) {
    const size = `${pluralize(total_items, 'item')}, of which ${completed_items} finished`;
    const request = {
      question: `Delete queue ${JSON.stringify(queue.name)} (${queue.id}) with ${size}? This cannot be undone.`,
      reason: `deleting a queue with ${size}, needs the user's agreement, since it cannot be undone`,
      alternative: 'leave the queue as it is',
    };
    requireConsent(request, context);
  }
  const query = { project_id: access.project };
  await access.service.call('deleteQueue', { path: { queue_id: access.id }, query });
  return result;
}

async function changeQueue(
  { name, guidelines, add_fields = [], reviewers_per_item, assignees, remove_items, dry_run, confirm }: Arguments,
  { access, queue, fields }: QueueBefore,
  context: ToolContext,
): Promise<ChangedQueue> {
  const renames = name !== undefined && name !== queue.name;
  const replaces = guidelines !== undefined && guidelines !== (queue.description ?? '');
  const claims = { ...(reviewers_per_item && { reviewers_per_item }), ...(assignees && { assignees }) };
  if (Object.keys(claims).length > 0 && queue.reviewers_per_item === undefined) throw unkeptClaims();
  const changes = { ...(renames && { name }), ...(replaces && { description: guidelines }), ...claims };
  const added = add_fields.filter((definition) => !fields.some((field) => isSameField(field, definition)));
  if (renames) await refuseTakenName(name, access);
  refuseTakenFields(added, fields, access.id);
  const { items, unknown } = await itemsNamed(remove_items ?? [], access);
  if (remove_items && items.length === 0) await requireKnownIds(remove_items, access, 'remove_items');
  // Before items are removed: the service refuses who cannot claim.
  if (assignees?.length) await assign(assignees, [], access);
  if (!dry_run && !confirm) await askBeforeChange({ items, added }, { access, queue, fields }, context);
  let removed = items.length;
  if (!dry_run) {
    // First, because some services cannot; then nothing has been changed yet.
    removed = await removeItems(items, access);
    await writeChanges(changes, added, { access, queue, removed });
  }
  return {
    ...shownQueue({ ...queue, ...changes }, [...fields, ...added.map(definedField)]),
    ...((renames || replaces) && {
      before: { ...(renames && { name: queue.name }), ...(replaces && { guidelines: queue.description ?? '' }) },
    }),
    ...(remove_items && { removed, total_items: (await countItems(access)).total_items - (dry_run ? removed : 0) }),
    ...(unknown[0] !== undefined && { unknown }),
    ...(remove_items && {
      hint: [...(unknown[0] === undefined ? [] : [await nearestItems(unknown[0], access)]), stays].join(' '),
    }),
    ...(dry_run && { dry_run }),
  };
}

async function writeChanges(
  changes: Partial<Pick<Queue, 'name' | 'description' | 'reviewers_per_item' | 'assignees'>>,
  added: readonly FieldDefinition[],
  { access, queue, removed }: { access: QueueAccess; queue: Queue; removed: number },
): Promise<void> {
  const { id: queue_id, project: project_id, service } = access;
  if (added.length === 0 && Object.keys(changes).length === 0) return;
  try {
    const references = (await storeFields(added, project_id, service)).map(({ reference }) => reference);
    const fields = references.length > 0 && { scorer_refs: [...(queue.scorer_refs ?? []), ...references] };
    await service.call('updateQueue', { path: { queue_id }, body: { project_id, ...changes, ...fields } });
  } catch (error) {
    if (!(error instanceof HeddleError) || removed === 0) throw error;
    const message = `${pluralize(removed, 'item')} removed, but the rest failed. ${error.message}`;
    throw new HeddleError({ ...error, message });
  }
}

/** Returns the error for a service that does not keep who is to judge: the public one does not send these members. */
function unkeptClaims(): HeddleError {
  return new HeddleError({
    code: 'unsupported',
    message: 'Nothing was changed: this service keeps neither reviewers_per_item nor assignees.',
    hint: 'Pass reviewers_per_item to claim_queue_items.',
  });
}

/** @throws HeddleError `conflict` if another queue has the name. */
async function refuseTakenName(name: string, { id, project, service }: QueueAccess): Promise<void> {
  const other = (await queuesNamed(name, project, service)).find((queue) => queue.id !== id);
  if (!other) return;
  throw new HeddleError({
    code: 'conflict',
    message: `Nothing was changed. The queue ${other.id} has the name ${JSON.stringify(other.name)} already.`,
    hint: 'Choose another name, so that each queue can be named.',
  });
}

/** @throws HeddleError `conflict` if a queue has a field of the name of a new one, in whatever case. */
function refuseTakenFields(added: readonly FieldDefinition[], fields: readonly QueueField[], queueId: string): void {
  const taken = added.flatMap(({ name }) => entriesNamed(name, fields))[0];
  if (!taken) return;
  throw new HeddleError({
    code: 'conflict',
    message: `Nothing was changed. Queue ${queueId} has another field ${taken.name} already.`,
    hint: 'Give the new field another name: judgements of the old one would not fit it.',
  });
}

/** Asks before many items are removed, and before fields are added to a queue that people or agents have judged in. */
async function askBeforeChange(
  { items, added }: { items: readonly QueueItem[]; added: readonly FieldDefinition[] },
  { access, queue: { id, name } }: QueueBefore,
  context: ToolContext,
): Promise<void> {
  const queue = `queue ${JSON.stringify(name)} (${id})`;
  const parts: { question: string; reason: string }[] = [];
  if (items.length > maxUnconfirmed) {
    const calls = items.map(({ call_id }) => call_id);
    const judgements = judgementsOf(await readFeedback(access, calls)).filter(({ call_id }) => calls.includes(call_id));
    const judged = byCall(judgements).size;
    parts.push({
      question: `Remove ${items.length} items from ${queue}, of which ${judged} ${judged === 1 ? 'is' : 'are'} judged? Adding their calls again brings them back.`,
      reason: `removing ${items.length} items`,
    });
  }
  const judged = added.length === 0 ? 0 : (await matchingItems(access, { judged_at_least: 1 })).items.length;
  if (judged > 0) {
    const fields = `${added.length === 1 ? 'the field' : 'the fields'} ${added.map((field) => field.name).join(', ')}`;
    const where = `in which ${pluralize(judged, 'item')} ${judged === 1 ? 'is' : 'are'} judged without`;
    const them = added.length === 1 ? 'it' : 'them';
    parts.push({
      question: `Add ${fields} to ${queue}, ${where} ${them}? No tool removes a field.`,
      reason: `adding ${fields}, which no tool removes, to a queue ${where} ${them},`,
    });
  }
  if (parts.length === 0) return;
  const request = {
    question: parts.map(({ question }) => question).join(' '),
    reason: `${parts.map(({ reason }) => reason).join(' and ')} needs the user's agreement`,
    ...(judged > 0 && { alternative: 'leave the queue as it is' }),
  };
  requireConsent(request, context);
}

async function countItems({ id, project, service }: QueueAccess) {
  const { stats } = await service.call('queueStats', { body: { project_id: project, queue_ids: [id] } });
  return stats[0] ?? { total_items: 0, completed_items: 0 };
}

function shownQueue(
  { id, name, description, reviewers_per_item, assignees }: Queue,
  fields: readonly DefinedField[],
): ChangedQueue {
  return {
    queue_id: id,
    name,
    ...(description && { guidelines: description }),
    ...(fields.length > 0 && { fields: fields.map(summarizeField) }),
    ...(reviewers_per_item && { reviewers_per_item }),
    ...(assignees?.length && { assignees }),
  };
}
