import { copyCalls } from './copy-calls.ts';
import { copyFeedback } from './copy-feedback.ts';
import { copyFiles, copyObjects } from './copy-objects.ts';
import { copyPrices } from './copy-prices.ts';
import { copyQueues } from './copy-queues.ts';
import type { ProjectCopy } from './project-copy.ts';

/**
 * Copies a project, so that each thing comes after those to which it refers. What the target has is looked up, so that a copy that was
 * interrupted goes on, and one that is repeated adds what is new.
 * @throws HeddleError for a failure of the target, not for what it refuses.
 */
export async function copyProject(copy: ProjectCopy): Promise<void> {
  await copyFiles(copy);
  await copyObjects(copy);
  await copyPrices(copy);
  await copyCalls(copy);
  await copyQueues(copy);
  await copyFeedback(copy);
}
