import { createEvaluationTool } from './create-evaluation.ts';
import { listObjectsTool } from './list-objects.ts';
import { listQueuesTool } from './list-queues.ts';
import { queryQueueItemsTool } from './query-queue-items.ts';
import { readCallTool } from './read-call.ts';
import { runInferenceTool } from './run-inference.ts';
import type { Tool } from './support/tool.ts';
import { updateQueueItemsTool } from './update-queue-items.ts';

/** Every tool, in the order in which clients see them. A harmless one comes first: some clients try the first. */
export const allTools = [
  listQueuesTool,
  queryQueueItemsTool,
  readCallTool,
  updateQueueItemsTool,
  listObjectsTool,
  runInferenceTool,
  createEvaluationTool,
  // They have different inputs; each only ever gets what its own schema has let through.
] as unknown as readonly Tool[];
