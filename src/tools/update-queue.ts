import * as z from 'zod';
import { HeddleError } from '../core/errors.ts';
import {
  fieldDefinitions,
  fieldSummaries,
  readFieldsOfQueues,
  renderFields,
  storeFields,
  summarizeField,
} from '../queues/queue-fields.ts';
import { requireQueue } from '../queues/require-queue.ts';
import { cell, escapeInvisible } from '../text/compact-table.ts';
import { defineTool, projectArgument, projectOf, queueArgument } from './definition/tool.ts';

const input = z.strictObject({
  queue_id: queueArgument.describe('Id or name of the queue.'),
  add_fields: fieldDefinitions.min(1).describe('As fields in create_queue; they come after those of the queue.'),
  project_id: projectArgument('Project of the queue'),
});

const output = z.object({
  queue_id: z.string(),
  fields: fieldSummaries,
});

/** The result of update_queue: all fields of the queue. */
export type ChangedQueue = z.output<typeof output>;

export const updateQueueTool = defineTool({
  name: 'update_queue',
  title: 'Change queue',
  groups: ['queue'],
  uses: ['readQueue', 'createObject', 'updateQueue'],
  description: `Adds fields to judge to a queue; repeating it adds nothing more.
Example: {"queue_id":"support-triage","add_fields":[{"name":"tone","type":"choice","choices":["kind","rude"]}]}`,
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input,
  output,

  async run({ queue_id, add_fields, ...query }, context): Promise<ChangedQueue> {
    const { service } = context;
    const project_id = projectOf(query, context);
    const before = await requireQueue(queue_id, project_id, service);
    const [known = []] = await readFieldsOfQueues([before], service);
    const stored = await storeFields(add_fields, project_id, service);
    const added = stored.filter(({ reference }) => !known.some((field) => field.reference === reference));
    const taken = added.find((field) => known.some((other) => other.name === field.name));
    if (taken) {
      throw new HeddleError({
        code: 'conflict',
        message: `Nothing was changed. Queue ${queue_id} has another field ${taken.name} already.`,
        hint: 'Give the new field another name: judgements of the old one would not fit it.',
      });
    }
    const scorer_refs = [...(before.scorer_refs ?? []), ...added.map(({ reference }) => reference)];
    if (added.length > 0) await service.call('updateQueue', { path: { queue_id }, body: { project_id, scorer_refs } });
    return { queue_id, fields: [...known, ...added].map(summarizeField) };
  },

  render: ({ queue_id, fields = [] }: ChangedQueue) =>
    `Fields of queue ${cell(queue_id)}: ${escapeInvisible(renderFields(fields))}`,
});
