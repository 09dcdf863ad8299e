import * as z from 'zod';
import { assignees, type Queue, reviewersDescription, reviewersPerItem } from '../contract/queues.ts';
import { canonicalJson } from '../core/json/canonical-json.ts';
import { fieldDefinitions, fieldSummaries, renderFields, storeFields, summarizeField } from '../queues/queue-fields.ts';
import { cell, escapeInvisible } from '../text/compact-table.ts';
import { defineTool, projectArgument, projectOf, type ToolContext } from './definition/tool.ts';

const input = z.strictObject({
  name: z.string().min(1),
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
Example: {"name":"Refunds","guidelines":"Judge the answer.","fields":[{"name":"tone","type":"choice","choices":["kind","rude"]}]}`,
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input,
  output,

  async run(args, context): Promise<CreatedQueue> {
    const { name, guidelines = '', fields: definitions = [], reviewers_per_item, assignees, ...rest } = args;
    const { service } = context;
    const project = projectOf(rest, context);
    const namesakes = await queuesNamed(name, project, context);
    const stored = await storeFields(definitions, project, context.service);
    const fields = stored.length === 0 ? {} : { fields: stored.map(summarizeField) };
    const scorer_refs = stored.map(({ reference }) => reference);
    const claims = { ...(reviewers_per_item && { reviewers_per_item }), ...(assignees?.length && { assignees }) };
    const wanted = { name, description: guidelines, scorer_refs, ...claims };
    const differences = namesakes.map((queue) => differencesOf(queue, wanted));
    const same = namesakes.find((_, index) => differences[index]!.length === 0);
    const isAsked = Object.keys(claims).length > 0;
    if (same) return { queue_id: same.id, ...fields, existed: true, ...(isAsked && unkeptWarning(same)) };
    const { id } = await service.call('createQueue', {
      body: { project_id: project, ...wanted },
    });
    const query = { project_id: project };
    const created = isAsked ? await service.call('readQueue', { path: { queue_id: id }, query }) : undefined;
    const unkept = created ? unkeptWarning(created.queue) : undefined;
    const warnings = namesakes.slice(0, maxWarnings).map((queue, index) => {
      return `Queue ${queue.id} has the same name, but other ${differences[index]!.join(' and ')}.`;
    });
    warnings.push(...(unkept?.warnings ?? []));
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

type QueueContent = Pick<Queue, 'name' | 'description' | 'scorer_refs' | 'reviewers_per_item' | 'assignees'>;

function differencesOf(queue: Queue, wanted: QueueContent): string[] {
  return [
    ...(queue.name === wanted.name ? [] : ['spelling']),
    ...((queue.description ?? '') === wanted.description ? [] : ['guidelines']),
    ...(JSON.stringify(queue.scorer_refs ?? []) === JSON.stringify(wanted.scorer_refs) ? [] : ['fields']),
    ...(!keepsClaims(queue) || claimsOf(queue) === claimsOf(wanted) ? [] : ['reviewers']),
  ];
}

/** Returns who is to judge how often, as text to compare; a queue that says nothing wants one opinion, of anyone. */
function claimsOf({ reviewers_per_item, assignees }: QueueContent): string {
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
