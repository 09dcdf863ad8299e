import { createEvaluation } from './create-evaluation.ts';
import { listObjects } from './list-objects.ts';
import { listQueues } from './list-queues.ts';
import { queryQueueItems } from './query-queue-items.ts';
import { readCall } from './read-call.ts';
import { runInference } from './run-inference.ts';
import type { Tool } from './support/tool.ts';
import { updateQueueItems } from './update-queue-items.ts';

/** Every tool, in the order in which clients see them. A harmless one comes first: some clients try the first. */
export const allTools = [
  listQueues,
  queryQueueItems,
  readCall,
  updateQueueItems,
  listObjects,
  runInference,
  createEvaluation,
  // They have different inputs; each only ever gets what its own schema has let through.
] as unknown as readonly Tool[];
