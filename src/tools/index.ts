import { addQueueItemsTool } from './add-queue-items.ts';
import { calibrateScorerTool } from './calibrate-scorer.ts';
import { claimQueueItemsTool } from './claim-queue-items.ts';
import { createDatasetTool } from './create-dataset.ts';
import { createEvaluationTool } from './create-evaluation.ts';
import { createPromptTool } from './create-prompt.ts';
import { createQueueTool } from './create-queue.ts';
import { createScorerTool } from './create-scorer.ts';
import type { Tool } from './definition/tool.ts';
import { listObjectsTool } from './list-objects.ts';
import { listQueuesTool } from './list-queues.ts';
import { queryCallsTool } from './query-calls.ts';
import { queryQueueItemsTool } from './query-queue-items.ts';
import { readCallTool } from './read-call.ts';
import { readEvaluationTool } from './read-evaluation.ts';
import { readObjectTool } from './read-object.ts';
import { reviewQueueTool } from './review-queue.ts';
import { runEvaluationTool } from './run-evaluation.ts';
import { runInferenceTool } from './run-inference.ts';
import { summarizeQueueTool } from './summarize-queue.ts';
import { updateQueueTool } from './update-queue.ts';
import { updateQueueItemsTool } from './update-queue-items.ts';

/** Every tool, in the order in which clients see them. A read-only tool comes first, because some clients try that one. */
export const allTools = [
  listQueuesTool,
  queryQueueItemsTool,
  summarizeQueueTool,
  readCallTool,
  queryCallsTool,
  createQueueTool,
  updateQueueTool,
  addQueueItemsTool,
  claimQueueItemsTool,
  updateQueueItemsTool,
  reviewQueueTool,
  listObjectsTool,
  readObjectTool,
  runInferenceTool,
  createPromptTool,
  createDatasetTool,
  createScorerTool,
  calibrateScorerTool,
  createEvaluationTool,
  runEvaluationTool,
  readEvaluationTool,
  // The inputs differ; each tool only receives what its own schema has accepted.
] as unknown as readonly Tool[];
