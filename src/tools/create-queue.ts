import * as z from 'zod';
import { assignees, type Queue, reviewersDescription, reviewersPerItem } from '../contract/queues.ts';
import { HeddleError } from '../core/errors.ts';
import { canonicalJson } from '../core/json/canonical-json.ts';
import {
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
import { queuesNamed } from '../queues/require-queue.ts';
import { cell, escapeInvisible } from '../text/compact-table.ts';
import { shortName } from '../text/names.ts';
import { defineTool, projectArgument, projectOf } from './definition/tool.ts';

const input = z.strictObject({
  name: z.string().trim().min(1),
  guidelines: z.string().optional().describe('How annotators should judge.'),
  fields: fieldDefinitions.optional().describe('Without fields, judgements may have any name.'),
  reviewers_per_item: reviewersPerItem.optional().describe(reviewersDescription),
  assignees: assignees.optional(),
  project_id: projectArgument('Project of the queue'),
});

const output = z.object({
  queue_id: z.string(),
  fields: fieldSummaries,
  existed: z.boolean().describe('True if the same queue existed already; then nothing was created.'),
  warnings: z.array(z.string()).optional(),
});

type CreatedQueue = z.output<typeof output>;

export const createQueueTool = defineTool({
  name: 'create_queue',
  title: 'Create queue',
  groups: ['queue'],
  uses: ['queryQueues', 'createQueue', 'createObject', 'readQueue'],
  description: `Creates an empty queue with guidelines and fields to judge; repeating it finds the same queue.
Example: {"name":"Refunds","guidelines":"Judge the answer.","fields":[{"name":"kind","type":"boolean"}]}`,
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input,
  output,

  async run(args, context): Promise<CreatedQueue> {
    const { name, guidelines = '', fields: definitions = [], reviewers_per_item, assignees, ...rest } = args;
    const { service } = context;
    const project = projectOf(rest, context);
    const namesakes = await queuesNamed(name, project, service);
    const fieldsOfNamesakes = await readFieldsOfQueues(namesakes, service);
    const shown = definitions.length === 0 ? {} : { fields: definitions.map(definedField).map(summarizeField) };
    const claims = { ...(reviewers_per_item && { reviewers_per_item }), ...(assignees?.length && { assignees }) };
    const isAsked = Object.keys(claims).length > 0;
    const wanted = { name, guidelines, definitions, claims };
    const differences = namesakes.map((queue, index) => differencesOf(queue, fieldsOfNamesakes[index]!, wanted));
    const same = namesakes.find((_, index) => differences[index]!.length === 0);
    if (same) return { queue_id: same.id, ...shown, existed: true, ...(isAsked && unkeptWarning(same)) };
    if (namesakes[0]) throw takenName(namesakes[0], differences[0]!);
    const scorer_refs = (await storeFields(definitions, project, service)).map(({ reference }) => reference);
    const body = { project_id: project, name, description: guidelines, scorer_refs, ...claims };
    const { id } = await service.call('createQueue', { body });
    const query = { project_id: project };
    const created = isAsked ? await service.call('readQueue', { path: { queue_id: id }, query }) : undefined;
    return { queue_id: id, ...shown, existed: false, ...(created && unkeptWarning(created.queue)) };
  },

  render({ queue_id, fields, existed, warnings = [] }: CreatedQueue) {
    const asked = fields ? `Fields: ${escapeInvisible(renderFields(fields))}` : 'It has no fields.';
    const verb = existed ? 'The same queue existed already' : 'Created the queue';
    return [`${verb}: ${cell(queue_id)}. ${asked}`, ...warnings.map(escapeInvisible)].join('\n');
  },
});

function takenName({ id, name }: Queue, differences: readonly string[]): HeddleError {
  return new HeddleError({
    code: 'conflict',
    message: `Nothing was created: queue ${id} has the name ${JSON.stringify(shortName(name))} already, with other ${differences.join(' and ')}.`,
    hint: `To change that queue, call update_queue with queue_id ${id} (name, guidelines, add_fields). For a second queue, choose another name.`,
  });
}

interface WantedQueue {
  name: string;
  guidelines: string;
  definitions: readonly FieldDefinition[];
  claims: Pick<Queue, 'reviewers_per_item' | 'assignees'>;
}

/** Returns what a queue has other than a new one would. */
function differencesOf(
  queue: Queue,
  fields: readonly QueueField[],
  { name, guidelines, definitions, claims }: WantedQueue,
): string[] {
  const isSame =
    fields.length === definitions.length && fields.every((field, n) => isSameField(field, definitions[n]!));
  return [
    ...(queue.name === name ? [] : ['spelling']),
    ...((queue.description ?? '') === guidelines ? [] : ['guidelines']),
    ...(isSame ? [] : ['fields']),
    ...(!keepsClaims(queue) || claimsOf(queue) === claimsOf(claims) ? [] : ['reviewers']),
  ];
}

/** Returns who is to judge how often, as text to compare; a queue that says nothing wants one opinion, of anyone. */
function claimsOf({ reviewers_per_item, assignees }: WantedQueue['claims']): string {
  return canonicalJson([reviewers_per_item ?? 1, assignees?.length ? assignees : []]);
}

/** Returns whether the service of a queue keeps who is to judge: the public one does not send these members. */
function keepsClaims({ reviewers_per_item }: Queue): boolean {
  return reviewers_per_item !== undefined;
}

function unkeptWarning(queue: Queue): { warnings?: string[] } {
  if (keepsClaims(queue)) return {};
  const advice = 'pass reviewers_per_item to claim_queue_items';
  return { warnings: [`This service keeps neither reviewers_per_item nor assignees: ${advice}.`] };
}
