import type { BodyOf, ResultOf } from '../contract/endpoints.ts';
import type { StoredFeedback } from '../contract/feedback.ts';
import { commonFilterMembers, type QueueItem, sortColumns } from '../contract/queue-items.ts';
import { callIdOf } from '../contract/references.ts';
import { concurrently } from '../core/concurrently.ts';
import { inBatches } from '../core/in-batches.ts';
import { readPages } from '../records/read-pages.ts';
import { readFeedback } from './judgements.ts';
import type { QueueAccess } from './queue-access.ts';

/** Items of a queue, with the feedback that was given on them in the queue, if it was asked for: the oldest of each first. */
export interface ItemsWithFeedback {
  items: QueueItem[];
  feedback: StoredFeedback[];
}

/** A page of items, with the number of all that match, if the service tells it, as it does past their end. */
export interface ItemsPage extends ItemsWithFeedback {
  matching?: number | undefined;
}

export type ItemQuery = Omit<BodyOf<'queryQueueItems'>, 'project_id'>;
/** A query without its filter and its page: the order, and what else to read with each item. */
export type ItemForm = Omit<ItemQuery, 'filter' | 'limit' | 'offset'>;

/** Items that one request names. */
const idsPerRequest = 1000;
/** Items that are read one by one rather than with the whole queue, and requests for them at the same time. */
const maxReadSingly = 100;
const concurrentRequests = 8;

/** Reads a page of items. */
export async function readItems(queue: QueueAccess, query: ItemQuery): Promise<ItemsPage> {
  const { items, feedback, matching } = await request(queue, query);
  return { items, feedback: feedback ?? (await separateFeedback(queue, items, query)), matching };
}

/** Reads every item that matches the query from its offset up to its limit, in its order; some of them from a service that has ignored a part of the query. */
export async function readAllItems(queue: QueueAccess, query: ItemQuery): Promise<ItemsWithFeedback> {
  const items: QueueItem[] = [];
  let feedback: StoredFeedback[] | undefined = [];
  const pages = readPages(async ({ limit, offset }) => {
    const read = await request(queue, { ...query, limit, offset: offset + (query.offset ?? 0) });
    feedback = read.feedback && feedback?.concat(read.feedback);
    return read.items;
  }, query.limit ?? undefined);
  for await (const page of pages) {
    items.push(...page);
    if (isIgnored(query, queue)) break;
  }
  return { items, feedback: feedback ?? (await separateFeedback(queue, items, query)) };
}

/** Reads the items with these ids, or those of the calls with these ids, in any order; unknown ids are skipped. */
export async function readItemsBy(
  member: 'id' | 'call_id',
  ids: readonly string[],
  queue: QueueAccess,
  form: ItemForm = {},
): Promise<ItemsWithFeedback> {
  const read: ItemsWithFeedback = { items: [], feedback: [] };
  // The public service does not know lists of ids and sends the first items of the queue instead.
  const unread = new Set<string>();
  for (const batch of inBatches(ids, idsPerRequest)) {
    const missing = new Set(batch);
    if (unread.size === 0) {
      const filter = batch.length === 1 ? { [member]: batch[0] } : { [`${member}s`]: batch };
      const page = await request(queue, { ...form, filter, limit: idsPerRequest });
      const items = page.items.filter((item) => missing.delete(item[member]));
      read.items.push(...items);
      read.feedback.push(...(page.feedback ?? (await separateFeedback(queue, items, form))));
      if (page.items.length < idsPerRequest) continue;
    }
    for (const id of missing) unread.add(id);
  }
  const elsewhere = await readElsewhere(member, unread, queue);
  read.items.push(...elsewhere);
  read.feedback.push(...(await separateFeedback(queue, elsewhere, form)));
  return read;
}

/**
 * Reads the items of a queue on which feedback was given in it, in any order, with this feedback, the oldest first. The service keeps
 * that on removed items, which is left out.
 */
export async function readItemsWithFeedback(queue: QueueAccess): Promise<ItemsWithFeedback> {
  const feedback = await readFeedback(queue);
  const given = new Set(feedback.map(({ weave_ref }) => callIdOf(weave_ref)));
  const { items } = await readItemsBy('call_id', [...given], queue);
  const calls = new Set(items.map(({ call_id }) => call_id));
  return { items, feedback: feedback.filter(({ weave_ref }) => calls.has(callIdOf(weave_ref))) };
}

/** Returns the items with these ids, or of the calls with these ids, and the ids that belong to no item of the queue. */
export async function itemsNamed(
  ids: readonly string[],
  queue: QueueAccess,
): Promise<{ items: QueueItem[]; unknown: string[] }> {
  const { items } = await readItemsBy('id', [...new Set(ids)], queue);
  const found = new Set(items.map(({ id }) => id));
  const others = [...new Set(ids)].filter((id) => !found.has(id));
  const ofCalls = others.length === 0 ? [] : (await readItemsBy('call_id', others, queue)).items;
  const calls = new Set(ofCalls.map(({ call_id }) => call_id));
  return {
    items: [...items, ...ofCalls.filter(({ id }) => !found.has(id))],
    unknown: others.filter((id) => !calls.has(id)),
  };
}

/** Reads items at a service that does not know lists of ids: one by one, or all items if it takes fewer requests. */
async function readElsewhere(
  member: 'id' | 'call_id',
  wanted: ReadonlySet<string>,
  queue: QueueAccess,
): Promise<QueueItem[]> {
  const isWanted = (item: QueueItem): boolean => wanted.has(item[member]);
  if (wanted.size > maxReadSingly) return (await readAllItems(queue, {})).items.filter(isWanted);
  const pages = await concurrently([...wanted], concurrentRequests, (id) =>
    request(queue, { filter: { [member]: id }, limit: 1 }),
  );
  return pages.flatMap(({ items }) => items.filter(isWanted));
}

/** Returns whether a query has a condition or a sort key that the public service ignores, and so does the service of the queue. */
export function isIgnored(query: ItemQuery, { service: { facts } }: QueueAccess): boolean {
  return facts.appliesItemConditions === false && hasExtensions(query);
}

function hasExtensions({ filter, sort_by }: ItemQuery): boolean {
  const isCommon = (name: string, common: readonly string[]): boolean => common.includes(name);
  return (
    Object.entries(filter ?? {}).some(([name, value]) => value != null && !isCommon(name, commonFilterMembers)) ||
    (sort_by ?? []).some(({ field }) => !isCommon(field, sortColumns))
  );
}

async function request({ id, project, service }: QueueAccess, query: ItemQuery): Promise<ResultOf<'queryQueueItems'>> {
  const parts = { path: { queue_id: id }, body: { project_id: project, ...query } };
  const result = await service.call('queryQueueItems', parts);
  if (hasExtensions(query)) service.facts.appliesItemConditions = result.conditions_applied === true;
  // A service that sends feedback has all extensions.
  else if (result.feedback !== undefined) service.facts.appliesItemConditions ??= true;
  return result;
}

/** Reads the feedback on items at a service that does not send it with them. */
async function separateFeedback(
  queue: QueueAccess,
  items: readonly QueueItem[],
  { include_feedback }: ItemQuery,
): Promise<StoredFeedback[]> {
  if (!include_feedback) return [];
  return readFeedback(
    queue,
    items.map(({ call_id }) => call_id),
  );
}
