import * as z from 'zod';
import type { Queue } from '../contract/queues.ts';
import {
  fieldDefinitions,
  fieldSummaries,
  type QueueField,
  renderFields,
  storeFields,
  summarizeField,
} from '../queues/queue-fields.ts';
import { cell, escapeInvisible } from '../text/compact-table.ts';
import { defineTool, projectArgument, projectOf, type ToolContext } from './definition/tool.ts';

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
  warnings: z.array(z.string()).optional(),
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
    const namesakes = await queuesNamed(name, project, context);
    const stored = await storeFields(definitions, project, context.service);
    const fields = stored.length === 0 ? {} : { fields: stored.map(summarizeField) };
    const scorer_refs = stored.map(({ reference }) => reference);
    const differences = namesakes.map((queue) => differencesOf(queue, name, guidelines, stored));
    const same = namesakes.find((_, index) => differences[index]!.length === 0);
    if (same) return { queue_id: same.id, ...fields, existed: true };
    const { id } = await service.call('createQueue', {
      body: { project_id: project, name, description: guidelines, scorer_refs },
    });
    const warnings = namesakes.slice(0, maxWarnings).map((queue, index) => {
      return `Queue ${queue.id} has the same name, but other ${differences[index]!.join(' and ')}.`;
    });
    return { queue_id: id, ...fields, existed: false, ...(warnings.length > 0 && { warnings }) };
  },

  render({ queue_id, fields, existed, warnings = [] }: CreatedQueue) {
    const asked = fields ? `Fields: ${escapeInvisible(renderFields(fields))}` : 'It has no fields.';
    const verb = existed ? 'The same queue existed already' : 'Created the queue';
    return [`${verb}: ${cell(queue_id)}. ${asked}`, ...warnings.map(escapeInvisible)].join('\n');
  },
});

/** Queues of the same name that warnings mention. */
const maxWarnings = 5;

/** Returns the queues with this name, whatever its case, the newest first. */
async function queuesNamed(name: string, project_id: string, { service }: ToolContext): Promise<Queue[]> {
  const found = await service.call('queryQueues', { body: { project_id, name } });
  return found.filter((queue) => queue.name.toLowerCase() === name.toLowerCase());
}

function differencesOf(queue: Queue, name: string, guidelines: string, fields: readonly QueueField[]): string[] {
  const references = fields.map(({ reference }) => reference);
  return [
    ...(queue.name === name ? [] : ['spelling']),
    ...((queue.description ?? '') === guidelines ? [] : ['guidelines']),
    ...(JSON.stringify(queue.scorer_refs ?? []) === JSON.stringify(references) ? [] : ['fields']),
  ];
}
