import { invalidArgument } from '../core/errors.ts';
import { nearestSentence, shortName } from '../text/names.ts';
import type { Judgement } from './judgements.ts';
import type { QueueAccess } from './queue-access.ts';
import { readQueueFields } from './queue-fields.ts';
import { nobodyJudged } from './require-annotators.ts';

/**
 * Requires that a queue has a field, or that somebody has judged in it.
 * @param path the argument that names the field; without it, the filter does.
 * @throws HeddleError for a field that has no judgements and that the queue does not have; it names the nearest.
 */
export async function requireField(
  name: string,
  judgements: readonly Judgement[],
  { id, project, service }: QueueAccess,
  path?: string | readonly string[],
): Promise<void> {
  if (judgements.some(({ field }) => field === name)) return;
  const fields = await readQueueFields(id, project, service);
  // A queue without fields takes any name; in a filter, one that nobody used is a mistake.
  if ((fields.length === 0 && path !== undefined) || fields.some((field) => field.name === name)) return;
  const names = [...new Set([...fields.map((field) => field.name), ...judgements.map(({ field }) => field)])];
  throw invalidArgument(path ?? ['filter', 'field'], {
    fault: `${fields.length === 0 ? 'No judgement is in the' : `Queue ${id} has no`} field ${JSON.stringify(shortName(name))}`,
    hint: nearestSentence('fields', name, names) || nobodyJudged,
  });
}
