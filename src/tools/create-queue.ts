import * as z from 'zod';
import type { Queue } from '../contract/queues.ts';
import { HeddleError } from '../core/errors.ts';
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
  name: z.string().min(1),
  guidelines: z.string().optional().describe('How annotators should judge.'),
  fields: fieldDefinitions.optional().describe('Without fields, judgements may have any name.'),
  project_id: projectArgument('Project of the queue'),
});

const output = z.object({
  queue_id: z.string(),
  fields: fieldSummaries,
  existed: z.boolean().describe('True if the same queue existed already; then nothing was created.'),
});

type CreatedQueue = z.output<typeof output>;

export const createQueueTool = defineTool({
  name: 'create_queue',
  title: 'Create queue',
  groups: ['queue'],
  uses: ['queryQueues', 'createQueue', 'createObject'],
  description: `Creates an empty queue with guidelines and fields to judge; repeating it finds the same queue.
Example: {"name":"Refunds","guidelines":"Judge the answer.","fields":[{"name":"tone","type":"choice","choices":["kind","rude"]}]}`,
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input,
  output,

  async run({ name, guidelines = '', fields: definitions = [], ...query }, context): Promise<CreatedQueue> {
    const { service } = context;
    const project = projectOf(query, context);
    const namesakes = await queuesNamed(name, project, service);
    const fieldsOfNamesakes = await readFieldsOfQueues(namesakes, service);
    const shown = definitions.length === 0 ? {} : { fields: definitions.map(definedField).map(summarizeField) };
    const wanted = { name, guidelines, definitions };
    const differences = namesakes.map((queue, index) => differencesOf(queue, fieldsOfNamesakes[index]!, wanted));
    const same = namesakes.find((_, index) => differences[index]!.length === 0);
    if (same) return { queue_id: same.id, ...shown, existed: true };
    if (namesakes[0]) throw takenName(namesakes[0], differences[0]!);
    const scorer_refs = (await storeFields(definitions, project, service)).map(({ reference }) => reference);
    const body = { project_id: project, name, description: guidelines, scorer_refs };
    return { queue_id: (await service.call('createQueue', { body })).id, ...shown, existed: false };
  },

  render({ queue_id, fields, existed }: CreatedQueue) {
    const asked = fields ? `Fields: ${escapeInvisible(renderFields(fields))}` : 'It has no fields.';
    const verb = existed ? 'The same queue existed already' : 'Created the queue';
    return `${verb}: ${cell(queue_id)}. ${asked}`;
  },
});

/** Returns the error for a name that another queue has. */
function takenName({ id, name }: Queue, differences: readonly string[]): HeddleError {
  return new HeddleError({
    code: 'conflict',
    message: `Nothing was created: queue ${id} has the name ${JSON.stringify(shortName(name))} already, with other ${differences.join(' and ')}.`,
    hint: `To change that queue, call update_queue with queue_id ${id} (name, guidelines, add_fields). For a second queue, choose another name.`,
  });
}

/** Returns what a queue has other than a new one would. */
function differencesOf(
  queue: Queue,
  fields: readonly QueueField[],
  { name, guidelines, definitions }: { name: string; guidelines: string; definitions: readonly FieldDefinition[] },
): string[] {
  const isSame =
    fields.length === definitions.length && fields.every((field, n) => isSameField(field, definitions[n]!));
  return [
    ...(queue.name === name ? [] : ['spelling']),
    ...((queue.description ?? '') === guidelines ? [] : ['guidelines']),
    ...(isSame ? [] : ['fields']),
  ];
}
