import { isPlainSegment } from '../../contract/path-segments.ts';
import { findQueueId, UnknownQueueError } from '../../queues/require-queue.ts';
import { projectOf, type Tool, type ToolContext } from './tool.ts';

/** The arguments that name a queue. */
interface QueueArguments {
  queue_id?: string;
  from_queue?: { queue_id: string };
  project_id?: string;
}

/**
 * Runs a tool whose arguments may name a queue by its name instead of its id. An id costs no request: only where no queue has it,
 * the tool runs again on the one queue of that name.
 * @throws HeddleError of the tool, or `not_found` for a name that no queue has, or several.
 */
export async function runOnNamedQueue<Output extends object>(
  tool: Tool<unknown, Output>,
  input: unknown,
  context: ToolContext,
): Promise<Output> {
  const args = input as QueueArguments;
  const queue = args.queue_id ?? args.from_queue?.queue_id;
  if (queue === undefined) return tool.run(input, context);
  if (!isPlainSegment(queue)) {
    return tool.run(onQueue(args, await findQueueId(queue, projectOf(args, context), context.service)), context);
  }
  try {
    return await tool.run(input, context);
  } catch (error) {
    const id = error instanceof UnknownQueueError ? error.idOfName : undefined;
    if (id === undefined) throw error;
    return tool.run(onQueue(args, id), context);
  }
}

function onQueue(args: QueueArguments, queue_id: string): QueueArguments {
  return args.queue_id === undefined
    ? { ...args, from_queue: { ...args.from_queue, queue_id } }
    : { ...args, queue_id };
}
