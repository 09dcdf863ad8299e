import type { QueueItem } from '../contract/queue-items.ts';
import { type HeddleError, invalidArgument } from '../core/errors.ts';
import { fitsSchema } from '../core/json/json-schema.ts';
import { nearestSentence, shortName } from '../text/names.ts';
import { isSame, meansCaller } from './authorship.ts';
import { type ItemsFilter, isByNamed } from './items-filter.ts';
import type { Judgement } from './judgements.ts';
import type { QueueAccess } from './queue-access.ts';
import { type QueueField, readQueueFields, renderTypes } from './queue-fields.ts';
import { type ItemQuery, isIgnored, itemsNamed, readItems } from './read-items.ts';
import { annotatorMeant, annotatorsHint } from './require-annotators.ts';
import { requireField } from './require-field.ts';
import { requireQueue } from './require-queue.ts';
import { readCounted, readSummarized } from './summarized-items.ts';

/** Unknown ids that an error names. */
const maxNamedIds = 10;
/** Items among which the nearest are looked for. */
const maxCandidates = 1000;

/** The members of a filter that an item must have itself. */
const ownMembers = ['id', 'call_id', 'call_trace_id', 'added_by'] as const;

/**
 * Checks the names and values of a filter that matches nothing, which is a fact only if all of them exist, and the ids of one that
 * matches fewer items.
 * @param matching how many items match.
 * @param judgements those of the queue, one for all that are alike, if they have been read.
 * @throws HeddleError `invalid_arguments` for an item, operation, annotator or field that the queue does not have, with the nearest, and
 * for a value that does not fit its field.
 */
export async function requireKnownNames(
  filter: ItemsFilter,
  queue: QueueAccess,
  matching = 0,
  judgements?: readonly Judgement[],
): Promise<void> {
  if (matching < new Set(filter.ids).size) await requireKnownIds(filter.ids!, queue);
  if (matching > 0) return;
  await requireOwnMembers(filter, queue);
  const { call_op_name, judged_by, field } = filter;
  if (call_op_name !== undefined && !(await hasItem({ call_op_name }, queue)))
    await requireOperation(call_op_name, queue);
  // Whole names have been looked up before.
  const isBeginning = judged_by?.endsWith('*') ?? false;
  if (field === undefined && !isBeginning) return;
  // Judgements tell nothing more of a field that the queue itself has.
  const isFieldOfQueue =
    !judgements && !isBeginning && field !== undefined && (await findField(field, queue)) !== undefined;
  const counted = judgements ?? (isFieldOfQueue ? [] : await countJudgements(queue));
  // All judgements are read only where a name is unknown, or where the service ignores the condition.
  const isKnown = async (condition: ItemQuery['filter']) => !counted && (await hasItem(condition, queue));
  const isKnownField = field === undefined || isFieldOfQueue || (await isKnown({ field }));
  const isKnownAnnotator = !isBeginning || (await isKnown({ judged_by }));
  const all = counted ?? (isKnownField && isKnownAnnotator ? [] : await readAllJudgements(queue));
  if (!isKnownField) await requireField(field, all, queue);
  if (!isKnownAnnotator && !all.some(isByNamed(filter, queue))) throw unknownAnnotator(judged_by!, all, queue);
  await requireFittingValue(filter, all, queue);
}

/** @throws HeddleError `invalid_arguments` for an operation of which no call is in the queue. */
async function requireOperation(name: string, queue: QueueAccess): Promise<void> {
  const { items } = await readSummarized(queue, {}, { judgements: false });
  if (items.length === 0) await requireQueue(queue.id, queue.project, queue.service);
  const operations = [...new Set(items.map((item) => item.call_op_name))];
  if (operations.includes(name)) return;
  throw invalidArgument(['filter', 'call_op_name'], {
    fault: `Queue ${queue.id} has no call of the operation ${JSON.stringify(shortName(name))}`,
    hint: nearestSentence('operations', name, operations) || 'The queue is empty.',
  });
}

/** Reads the judgements of a queue, one for all that are alike; undefined where the service does not count them, or they are many. */
async function countJudgements(queue: QueueAccess): Promise<readonly Judgement[] | undefined> {
  const counted = await readCounted(queue, {}, { judgements: true, judgedOnly: true });
  if (counted?.items.length === 0) await requireQueue(queue.id, queue.project, queue.service);
  return counted?.judgements;
}

/** Reads the judgements of a queue from any service. */
async function readAllJudgements(queue: QueueAccess): Promise<readonly Judgement[]> {
  const { items, judgements } = await readSummarized(queue, {}, { judgements: true, judgedOnly: true });
  if (items.length === 0) await requireQueue(queue.id, queue.project, queue.service);
  return judgements;
}

/** Returns whether an item of a queue fulfils conditions; undefined if the service ignores them. */
async function hasItem(filter: ItemQuery['filter'], queue: QueueAccess): Promise<boolean | undefined> {
  const query: ItemQuery = { filter, limit: 1 };
  const found = isIgnored(query, queue) ? [] : (await readItems(queue, query)).items;
  return isIgnored(query, queue) ? undefined : found.length > 0;
}

/**
 * Returns the items with these ids, or those of the calls with these ids.
 * @param path where the call has the ids.
 * @throws HeddleError `invalid_arguments` for ids of no item and no call of the queue, with the nearest to the first of them.
 */
export async function requireKnownIds(
  ids: readonly string[],
  queue: QueueAccess,
  path: string | readonly string[] = ['filter', 'ids'],
  consequence?: string,
): Promise<QueueItem[]> {
  const { items, unknown } = await itemsNamed(ids, queue);
  if (unknown[0] === undefined) return items;
  await requireQueue(queue.id, queue.project, queue.service);
  const named = unknown.slice(0, maxNamedIds).map((id) => JSON.stringify(shortName(id)));
  const more = unknown.length > maxNamedIds ? ` and ${unknown.length - maxNamedIds} more` : '';
  throw invalidArgument(path, {
    ...(consequence !== undefined && { consequence }),
    fault: `${consequence === undefined ? 'Q' : 'q'}ueue ${queue.id} has no item or call ${named.join(', ')}${more}`,
    hint: await nearestItems(unknown[0], queue),
  });
}

async function requireOwnMembers(filter: ItemsFilter, queue: QueueAccess): Promise<void> {
  for (const member of ownMembers) {
    const wanted = filter[member];
    if (wanted === undefined) continue;
    const others = (await hasItem({ [member]: wanted }, queue)) ? [] : await firstItems(queue);
    const values = [...new Set(others.flatMap((item) => item[member] ?? []))];
    if (values.length === 0) continue;
    throw invalidArgument(['filter', member], {
      fault: `Queue ${queue.id} has no item with the ${member} ${JSON.stringify(shortName(wanted))}`,
      hint: nearestSentence('ones', wanted, values),
    });
  }
}

/** Returns a sentence that names the items, or their calls, whose ids are nearest to one that the queue does not have. */
export async function nearestItems(id: string, queue: QueueAccess): Promise<string> {
  const ids = (await firstItems(queue)).flatMap((item) => [item.call_id, item.id]);
  return ids.length === 0 ? 'The queue is empty.' : nearestSentence('items', id, ids);
}

async function firstItems(queue: QueueAccess): Promise<QueueItem[]> {
  return (await readItems(queue, { limit: maxCandidates })).items;
}

async function findField(name: string, { id, project, service }: QueueAccess): Promise<QueueField | undefined> {
  return (await readQueueFields(id, project, service)).find((field) => field.name === name);
}

async function requireFittingValue(
  { field: name, value }: ItemsFilter,
  judgements: readonly Judgement[],
  queue: QueueAccess,
): Promise<void> {
  if (name === undefined || value === undefined) return;
  const field = await findField(name, queue);
  if (!field || fitsSchema(field.schema, value)) return;
  const isSameAs = (given: Judgement) => given.field === name && isSame(given.value, value);
  if (judgements.some(isSameAs) || (await hasItem({ field: name, value }, queue))) return;
  throw invalidArgument(['filter', 'value'], {
    fault: `The value ${shortName(JSON.stringify(value))} does not fit the field ${name}`,
    hint: `The field is ${renderTypes([field])}.`,
  });
}

function unknownAnnotator(name: string, judgements: readonly Judgement[], { id }: QueueAccess): HeddleError {
  const annotators = [...new Set(judgements.map(({ annotator }) => annotator))];
  return invalidArgument(['filter', 'judged_by'], {
    fault: `No annotator ${JSON.stringify(shortName(name))} has judged in queue ${id}`,
    hint: annotatorsHint(name, annotators),
  });
}

/** Something to find with a filter. */
interface Search<Found> {
  find(filter: ItemsFilter): Promise<Found>;
  isFound(found: Found): boolean;
  /** Returns the judgements of the whole queue, if they are part of what was found. */
  judgementsIn?(found: Found): readonly Judgement[] | undefined;
}

/**
 * Finds something with a filter and, if that finds nothing, with the whole name of the filter's annotator. What is found with the name as
 * it is given tells that it is whole, without another request.
 * @returns what was found, the filter that found it and, if they have been read, the judgements of the queue, one for all that are alike.
 * @throws HeddleError as {@link withWholeNames} does.
 */
export async function findWithWholeNames<Found>(
  given: ItemsFilter,
  queue: QueueAccess,
  { find, isFound, judgementsIn }: Search<Found>,
): Promise<{ filter: ItemsFilter; found: Found; judgements?: readonly Judgement[] | undefined }> {
  const found = await find(given);
  const read = judgementsIn?.(found);
  if (isFound(found) || !namesAnnotator(given)) return { filter: given, found, judgements: read };
  const judgements = read ?? (await countJudgements(queue));
  const filter = judgements ? withMeantName(given, judgements, queue) : await withWholeNames(given, queue);
  return { filter, found: filter === given ? found : await find(filter), judgements };
}

/** Returns whether one of some judgements is by the annotator whose name a filter has, or whether it has none. */
export function isWholeNameOf({ judged_by }: ItemsFilter, judgements: readonly Judgement[]): boolean {
  const name = judged_by?.trim();
  return name === undefined || judgements.some(({ annotator }) => annotator === name);
}

/**
 * Returns a filter whose annotator has the whole name, where it is given in another case, or is that of an account with only one annotator.
 * @throws HeddleError `invalid_arguments` for a name that nobody who has judged in the queue has, or several of one account.
 */
export async function withWholeNames(filter: ItemsFilter, queue: QueueAccess): Promise<ItemsFilter> {
  // A whole name needs no other, and one item tells it sooner than the names of all annotators.
  if (!namesAnnotator(filter) || (await hasItem({ judged_by: filter.judged_by }, queue))) return filter;
  return withMeantName(filter, await readAllJudgements(queue), queue);
}

/** Returns whether a filter names one annotator, besides the caller. */
function namesAnnotator(filter: ItemsFilter): filter is ItemsFilter & { judged_by: string } {
  const { judged_by: name } = filter;
  return name !== undefined && !name.endsWith('*') && !meansCaller(name);
}

function withMeantName(
  filter: ItemsFilter & { judged_by: string },
  judgements: readonly Judgement[],
  queue: QueueAccess,
): ItemsFilter {
  const { judged_by: name } = filter;
  const alternative = `, or ${JSON.stringify(`${shortName(name)}*`)} for all of them`;
  const judged_by = annotatorMeant(name, judgements, ['filter', 'judged_by'], queue, alternative);
  if (judged_by === undefined) throw unknownAnnotator(name, judgements, queue);
  return judged_by === name ? filter : { ...filter, judged_by };
}
