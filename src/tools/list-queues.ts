import * as z from 'zod';
import { type Queue, queryQueuesRequest } from '../contract/queues.ts';
import {
  firstRows,
  type PagePosition,
  pageArguments,
  pageMembers,
  pagePosition,
  pluralize,
  renderPage,
} from './support/page.ts';
import { defineTool, projectArgument, projectOf, shapeWithoutNull, type ToolContext } from './support/tool.ts';

const input = z.strictObject({
  name: shapeWithoutNull(queryQueuesRequest.shape).name,
  project_id: projectArgument('Project'),
  ...pageArguments,
});

const output = z.looseObject({
  queues: z
    .array(
      z.looseObject({
        id: z.string(),
        name: z.string(),
        total_items: z.int().optional(),
        completed_items: z.int().optional().describe('Items that are completed or skipped.'),
      }),
    )
    .describe('Queues, newest first.'),
  ...pageMembers,
});

interface QueuePage extends PagePosition {
  queues: (Queue & { total_items?: number; completed_items?: number })[];
}

const columns = ['id', 'name', 'total_items', 'completed_items', 'description'];

export const listQueuesTool = defineTool({
  name: 'list_queues',
  title: 'List queues',
  groups: ['queue'],
  uses: ['queryQueues', 'queueStats'],
  description: `Lists a project's annotation queues with their total and completed item counts.
Use it first to find the queue_id that the other queue tools need. It changes nothing.
name matches queues whose name contains it. Example: {"name":"support"}
Returns queues (id, name, total_items, completed_items including skipped), newest first, and next_offset when there are more.`,
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input,
  output,

  async run({ limit, offset = 0, ...query }, context): Promise<QueuePage> {
    const project = projectOf(query, context);
    // Asking for one queue more than needed tells whether there is a next page.
    const found = await context.service.queryQueues(
      { ...query, project_id: project, offset, limit: limit + 1 },
      { signal: context.signal },
    );
    const queues = await withCounts(found.slice(0, limit), project, context);
    return { queues, ...pagePosition(offset, queues.length, found.length > limit) };
  },

  render({ queues, offset, next_offset }: QueuePage) {
    if (queues.length === 0)
      return `No queues at offset ${offset}: the project has no matching queues, or does not exist.`;
    return renderPage(`${pluralize(queues.length, 'queue')} from offset ${offset}.`, queues, columns, next_offset);
  },

  shrink({ queues, offset }, share) {
    const kept = firstRows(queues, share, offset, 'queue');
    return { queues: kept, ...pagePosition(offset, kept.length, true) };
  },
});

async function withCounts(
  queues: Queue[],
  project_id: string,
  { service, signal }: ToolContext,
): Promise<QueuePage['queues']> {
  if (queues.length === 0) return [];
  const { stats } = await service.queueStats({ project_id, queue_ids: queues.map(({ id }) => id) }, { signal });
  const counts = new Map(stats.map(({ queue_id, ...rest }) => [queue_id, rest]));
  return queues.map((queue) => ({ ...queue, ...counts.get(queue.id) }));
}
