import * as z from 'zod';
import { ifSupported } from '../client/with-fallback.ts';
import { type Queue, queryQueuesRequest } from '../contract/queues.ts';
import { shapeWithoutNull } from '../contract/shape-without-null.ts';
import { itemCounts } from '../queues/own-progress.ts';
import {
  fieldSummaries,
  guidelinesVersion,
  readFieldsOfQueues,
  renderFields,
  summarizeField,
} from '../queues/queue-fields.ts';
import { nearestQueues } from '../queues/require-queue.ts';
import { knownProjects, requireProject } from '../records/require-project.ts';
import { cell } from '../text/compact-table.ts';
import { pageArguments, pageMembers, pagePosition, pluralize, renderPage } from '../text/page.ts';
import { serviceDataFlags, terminalCommand } from './definition/terminal-command.ts';
import { defineTool, projectArgument, projectOf, type ToolContext } from './definition/tool.ts';

const input = z.strictObject({
  name: shapeWithoutNull(queryQueuesRequest.shape).name,
  project_id: projectArgument('Project'),
  ...pageArguments,
});

const output = z.object({
  queues: z
    .array(
      z.object({
        id: z.string(),
        name: z.string(),
        guidelines: z.string().optional().describe('How to judge.'),
        guidelines_version: z.string().optional(),
        fields: fieldSummaries,
        free_fields: z.boolean().optional().describe('True if judgements may have any name.'),
        remaining: z.int().optional().describe('Items not completed or skipped by anyone.'),
        to_do: z.int().optional().describe('Those that your account has not, if other than remaining.'),
        total: z.int().optional(),
      }),
    )
    .describe('Queues, newest first.'),
  ...pageMembers,
  matching: z.int().optional().describe('Number of matching queues, when the offset is past the end.'),
  hint: z.string().optional().describe('The next step, when there are no queues.'),
  other_projects: z.array(z.string()).optional().describe('Further projects; pass one as project_id.'),
});

/** The result of list_queues. */
export type QueuePage = z.output<typeof output>;
/** A queue in a list. */
export type QueueSummary = QueuePage['queues'][number];

const columns = ['id', 'name', 'remaining', 'to_do', 'total', 'fields', 'guidelines'];

export const listQueuesTool = defineTool({
  name: 'list_queues',
  title: 'List queues',
  groups: ['queue'],
  uses: ['queryQueues', 'queueStats'],
  description: `Lists a project's annotation queues, newest first: guidelines, the fields to judge, how many items remain.
Example: {"name":"support"}`,
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input,
  output,

  async run({ limit, offset = 0, ...query }, context): Promise<QueuePage> {
    const project = projectOf(query, context);
    // Asking for one queue more than needed tells whether there is a next page.
    const matching = { ...query, project_id: project };
    const found = await context.service.call('queryQueues', { body: { ...matching, offset, limit: limit + 1 } });
    const isUnmatched = found.length === 0 && offset === 0 && query.name !== undefined;
    const isEmpty = found.length === 0 && offset === 0 && query.name === undefined;
    const hint = isUnmatched
      ? `No queues match. ${await nearestQueues(query.name!, project, context.service)}`
      : isEmpty
        ? `Project ${project} has no queues yet: create_queue makes one, and so does ${terminalCommand(['import', 'FILE'], [...serviceDataFlags, '--project'], { terminal: context.terminal, project: context.project, calledProject: project })} in a terminal.`
        : undefined;
    if (found.length === 0) await requireProject(project, context.service);
    const queues = await summarize(found.slice(0, limit), project, context);
    const isPastEnd = queues.length === 0 && offset > 0;
    const page = {
      queues,
      ...pagePosition(offset, queues.length, found.length > limit),
      ...(hint !== undefined && { hint }),
      ...(isPastEnd && { matching: (await context.service.call('queryQueues', { body: matching })).length }),
    };
    if (query.project_id !== undefined) return page;
    const others = (await knownProjects(context.service))?.filter((id) => id !== project) ?? [];
    return { ...page, ...(others.length > 0 && { other_projects: others }) };
  },

  render({ queues, offset, next_offset, matching, hint, other_projects }: QueuePage) {
    const others = other_projects ? `\nOther projects: ${other_projects.map(cell).join(', ')}.` : '';
    if (queues.length === 0) {
      const none = matching ? `No queues at offset ${offset}: ${matching} match.` : (hint ?? 'No queues match.');
      return `${none}${others}`;
    }
    const rows = queues.map(({ fields, free_fields, ...queue }) => ({
      ...queue,
      ...(free_fields && { fields: 'any name' }),
      ...(fields && { fields: renderFields(fields) }),
    }));
    const summary = `${pluralize(queues.length, 'queue')} from offset ${offset}.`;
    return renderPage(summary, rows, columns, next_offset) + others;
  },

  rows: 'queues',
});

/** Adds the fields and item counts of queues, with one request each for all of them. */
async function summarize(queues: Queue[], project_id: string, context: ToolContext): Promise<QueueSummary[]> {
  if (queues.length === 0) return [];
  const { service } = context;
  const [{ stats }, fields = []] = await Promise.all([
    service.call('queueStats', {
      body: { project_id, queue_ids: queues.map(({ id }) => id), include_own_state: true },
    }),
    ifSupported(readFieldsOfQueues(queues, context.service)),
  ]);
  const counts = new Map(stats.map((count) => [count.queue_id, count]));
  return queues.map(({ id, name, description, scorer_refs }, index) => {
    const count = counts.get(id);
    const ofQueue = fields[index];
    // Judgements may have any name; not where the fields could not be read.
    const isFree = ofQueue === undefined ? !scorer_refs?.length : ofQueue.length === 0;
    return {
      id,
      name,
      ...(description && { guidelines: description, guidelines_version: guidelinesVersion({ description }) }),
      ...(ofQueue?.length && { fields: ofQueue.map(summarizeField) }),
      ...(isFree && { free_fields: true }),
      ...(count && itemCounts(count)),
    };
  });
}
