import { sql } from 'kysely';
import type { BodyOf } from '../../contract/endpoints.ts';
import type { StoredFeedback } from '../../contract/feedback.ts';
import {
  type AnnotationState,
  commonFilterMembers,
  type ProgressState,
  progressStates,
  type QueueItem,
  sortColumns,
  sortFields,
} from '../../contract/queue-items.ts';
import { callReference } from '../../contract/references.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { shortTimestamp, withoutZone } from '../../core/timestamps.ts';
import { addItems, itemsPerStep } from '../admin/import-items.ts';
import type { RequestBudget } from '../request-budget.ts';
import { endClaim } from '../storage/claim-rows.ts';
import type { Database, Transaction } from '../storage/database.ts';
import type { Tables } from '../storage/database-tables.ts';
import { inChunks, selectInProject } from '../storage/in-chunks.ts';
import { copiedColumns, findQueue } from '../storage/queue-rows.ts';
import { totalOrder } from '../storage/total-order.ts';
import { findFeedbackOf, readFeedbackByKeys } from './feedback.ts';
import { findPageIds } from './find-page-ids.ts';
import { countSelectedItems } from './item-summary.ts';
import { inTransaction, type OperationHandler } from './operation.ts';
import { requireQueueRow } from './queues.ts';
import {
  conditionsFor,
  findsByIndex,
  type ItemSelection,
  maxItemsOf,
  type SelectedItems,
  selectItems,
} from './select-items.ts';

/** Reads a page of a queue's items, with their positions in the whole queue when the request asks for them. */
export const queryQueueItems: OperationHandler<'queryQueueItems'> = async (
  { path, body, account, budget },
  { database },
) => {
  const queue = { project_id: body.project_id, queue_id: path.queue_id };
  const request = { filter: body.filter, account, budget };
  const end = (body.offset ?? 0) + (body.limit ?? Number.MAX_SAFE_INTEGER);
  const readFirstCalls = (conditions: ItemSelection, limit: number) => {
    const first = { ...body, offset: 0, limit, include_position: false };
    return database.read(async (transaction) => {
      const { itemsOfPage } = await selectPage(transaction, queue, first, conditions, budget);
      return (await itemsOfPage.select('call_id').execute()).map(({ call_id }) => call_id);
    });
  };
  const findPage = (conditions: ItemSelection) =>
    database.read(async (transaction) => {
      const { items } = await findItemPage(transaction, queue, body, conditions, budget);
      await addAssignees(transaction, items, budget);
      return { items: body.include_own_state ? await withOwnStates(transaction, items, account) : items };
    });
  let conditions = await conditionsFor(database, queue, { ...request, page: { end, readFirstCalls } });
  let found = await findPage(conditions);
  // An item of the first may have changed meanwhile: then those that follow are searched too.
  if (conditions.isForPage && found.items.length < body.limit!) {
    conditions = await conditionsFor(database, queue, request);
    found = await findPage(conditions);
  }
  const isPastEnd = found.items.length === 0 && body.offset && body.limit !== 0;
  const matching = isPastEnd ? await countSelectedItems(database, queue, conditions) : undefined;
  const feedback = body.include_feedback ? await readFeedbackOfItems(database, found.items, budget) : undefined;
  return {
    ...found,
    ...(feedback && { feedback }),
    ...(matching !== undefined && { matching }),
    ...(hasExtensions(body) && { conditions_applied: true }),
  };
};

/** Returns whether a request has a condition or a sort key that the public service would ignore. */
function hasExtensions({ filter, sort_by }: BodyOf<'queryQueueItems'>): boolean {
  const common: readonly string[] = commonFilterMembers;
  const columns: readonly string[] = sortColumns;
  return (
    Object.entries(filter ?? {}).some(([member, value]) => value != null && !common.includes(member)) ||
    (sort_by ?? []).some(({ field }) => !columns.includes(field))
  );
}

/** Finds a page of a queue's items. An unknown queue has none. @throws Refusal 413 for a page that is too large. */
export async function findItemPage(
  transaction: Transaction,
  queue: { project_id: string; queue_id: string },
  body: BodyOf<'queryQueueItems'>,
  conditions: ItemSelection,
  budget: RequestBudget,
): Promise<{ items: QueueItem[] }> {
  // Asked for by itself: as a condition of the items, SQLite would look at it once for each of them.
  if (!(await findQueue(transaction, queue.project_id, queue.queue_id))) return { items: [] };
  const { ids, itemsOfPage } = await selectPage(transaction, queue, body, conditions, budget);
  const { chars } = await itemsOfPage
    .select(({ fn }) => fn.sum<number | null>(fn('length', ['display_fields'])).as('chars'))
    .executeTakeFirstOrThrow();
  // PostgreSQL's driver returns sums as strings.
  budget.hold(Number(chars) * bytesPerDisplayChar, pageHint);
  const rows = new Map((await itemsOfPage.selectAll().execute()).map((row) => [row.id, row]));
  return { items: ids.map(({ id, position }) => toItem(rows.get(id)!, position)) };
}

/** Finds the ids of a page, and returns them with a query of its items, in any order. */
async function selectPage(
  transaction: Transaction,
  queue: { project_id: string; queue_id: string },
  body: BodyOf<'queryQueueItems'>,
  conditions: ItemSelection,
  budget: RequestBudget,
) {
  const order = totalOrder(body.sort_by, sortFields, { field: 'created_at', direction: 'asc' });
  const page = {
    items: selectItems(transaction, queue, conditions),
    all: selectItems(transaction, queue),
    among: (some: SelectedItems) => selectItems(transaction, queue, conditions, some),
    isNumbered: body.include_position === true,
    isIndexed: findsByIndex(conditions),
    maxItems: maxItemsOf(conditions),
    offset: body.offset ?? 0,
    limit: body.limit ?? Number.MAX_SAFE_INTEGER,
  };
  const { database } = conditions;
  const hold = (count: number) => budget.hold(count * bytesPerItem, pageHint);
  const ids = await findPageIds(page, order, { transaction, database, maxSorted, hold });
  const list = database.textsOf(JSON.stringify(ids.map(({ id }) => id)));
  const itemsOfPage = transaction.selectFrom('queue_items').where(sql<boolean>`id in ${list}`);
  return { ids, itemsOfPage };
}

/** Items that are sorted to find a page; a longer list is searched in its indexes. */
const maxSorted = 2000;
const pageHint = 'ask for fewer items at once, with limit and offset';

/** The memory of an item, and of a character of its display fields, which are short texts, in bytes. */
const bytesPerItem = 1000;
const bytesPerDisplayChar = 8;
/** The memory of the longest name of an assignee, in bytes. */
const bytesPerAssignee = 600;

/** Adds to items that are assigned the names of their assignees. */
async function addAssignees(
  transaction: Transaction,
  items: readonly QueueItem[],
  budget: RequestBudget,
): Promise<void> {
  const itemsById = new Map(items.map((item) => [item.id, item]));
  const rows = await inChunks([...itemsById.keys()], async (chunk) => {
    const found = await transaction
      .selectFrom('item_assignees')
      .selectAll()
      .where('item_id', 'in', chunk)
      .orderBy('annotator')
      .execute();
    budget.hold(found.length * bytesPerAssignee, pageHint);
    return found;
  });
  for (const { item_id, annotator } of rows) {
    const item = itemsById.get(item_id)!;
    item.assignees = [...(item.assignees ?? []), annotator];
  }
}

/** Adds to each item the progress of an annotator. */
async function withOwnStates(transaction: Transaction, items: QueueItem[], account: string): Promise<QueueItem[]> {
  const ids = items.map(({ id }) => id);
  const rows = await inChunks(ids, (chunk) =>
    transaction
      .selectFrom('annotator_progress')
      .select(['item_id', 'annotation_state'])
      .where('annotator_user_id', '=', account)
      .where('item_id', 'in', chunk)
      .execute(),
  );
  const states = new Map(rows.map(({ item_id, annotation_state }) => [item_id, annotation_state]));
  for (const item of items) item.own_state = states.get(item.id) ?? stateBefore(item);
  return items;
}

/** Returns the state at which annotators start: the imported one, or unstarted once another annotator has changed the item. */
function stateBefore(item: { annotator_user_id?: string | null | undefined; annotation_state: string }): string {
  return item.annotator_user_id ? 'unstarted' : item.annotation_state;
}

/** Maximum number of feedbacks that come with items. */
const maxIncludedFeedback = 5000;

/** Reads the feedback that was given on items in their queue; undefined if there is too much, which clients read in pages. */
async function readFeedbackOfItems(
  database: Database,
  items: readonly QueueItem[],
  budget: RequestBudget,
): Promise<StoredFeedback[] | undefined> {
  const [first] = items;
  if (!first) return [];
  const { project_id, queue_id } = first;
  const calls = items.map(({ call_id }) => callReference(project_id, call_id));
  const keys = await findFeedbackOf(database, project_id, calls, queue_id);
  if (keys.length > maxIncludedFeedback) return undefined;
  return [...(await readFeedbackByKeys(database, project_id, keys, budget)).values()];
}

/** Maximum number of characters of the display fields that one request stores; every item has a copy. */
const maxDisplayFieldsChars = 32 * 1024 * 1024;

/**
 * Adds recorded calls to a queue. A call that the queue has already counts as a duplicate, unknown calls are skipped, and a
 * removed item comes back.
 * @throws Refusal 404 for an unknown queue, 413 for display fields that are too long for the number of calls.
 */
export const addQueueItems: OperationHandler<'addQueueItems'> = async ({ path, body, account }, { database }) => {
  const { project_id, call_ids, display_fields } = body;
  const { queue_id } = path;
  const { hasMostlyNew, ...counts } = await database.write(async (transaction) => {
    await requireQueueRow(transaction, project_id, queue_id);
    const rows = await inChunks(call_ids, (ids) =>
      selectInProject(transaction, 'calls', project_id)
        .select(['id as call_id', ...copiedColumns])
        .where('id', 'in', ids)
        .execute(),
    );
    const calls = new Map(rows.map((call) => [call.call_id, call]));
    // Stored calls are kept, so this empty call is never written.
    const rest = { display_fields, annotation_state: 'unstarted', call: {} } as const;
    const known = [...new Set(call_ids)].filter((id) => calls.has(id));
    if (JSON.stringify(display_fields).length * known.length > maxDisplayFieldsChars) {
      throw new Refusal(413, 'The display fields are too long for this many calls: send fewer of either');
    }
    const items = known.map((id) => ({ ...calls.get(id)!, ...rest }));
    const target = { projectId: project_id, queueId: queue_id, addedBy: account };
    const { added, duplicates } = await addItems(transaction, items, target);
    const hasMostlyNew = await addsMost(transaction, { project_id, queue_id }, added);
    return { added_count: added, duplicates, hasMostlyNew };
  });
  // Not each time, because large tables take seconds. If it fails, the engine will do it by itself.
  if (hasMostlyNew) await database.gatherStatistics().catch(() => {});
  return counts;
};

/** Returns whether items that were just added are many, and most of those that their queue has. */
async function addsMost(
  transaction: Transaction,
  { project_id, queue_id }: { project_id: string; queue_id: string },
  added: number,
): Promise<boolean> {
  if (added <= itemsPerStep) return false;
  const other = await selectInProject(transaction, 'queue_items', project_id)
    .where('queue_id', '=', queue_id)
    .select('id')
    .limit(1)
    .offset(2 * added - 1)
    .executeTakeFirst();
  return other === undefined;
}

/**
 * Marks items as deleted, so that they are found no more until their calls are added again. Needs a write transaction. Unknown
 * items are skipped.
 * @throws Refusal 404 when the project has no queue with this id.
 */
export const removeQueueItems = inTransaction('removeQueueItems', async (transaction, { path, body }) => {
  const { project_id, item_ids } = body;
  await requireQueueRow(transaction, project_id, path.queue_id);
  const deleted_at = new Date().toISOString();
  const results = await inChunks(item_ids, (ids) =>
    transaction
      .updateTable('queue_items')
      .set({ deleted_at, updated_at: deleted_at })
      .where('project_id', '=', project_id)
      .where('queue_id', '=', path.queue_id)
      .where('id', 'in', ids)
      .where('deleted_at', 'is', null)
      .execute(),
  );
  return { removed_count: results.reduce((sum, { numUpdatedRows }) => sum + Number(numUpdatedRows), 0) };
});

/** The states that may follow each state of an annotator's progress. */
const nextStates: Record<AnnotationState, readonly ProgressState[]> = {
  unstarted: progressStates,
  in_progress: ['completed', 'skipped'],
  completed: [],
  skipped: [],
};

/**
 * Sets an annotator's state for an item, and the shown state of the item with it. Needs a write transaction. The same
 * state again changes nothing.
 * @throws Refusal 400 for an unknown queue, item or state, and for a state that cannot follow.
 */
export const updateProgress = inTransaction('updateProgress', async (transaction, { path, body, account }) => {
  const { project_id, annotation_state } = body;
  const queue = { project_id, queue_id: path.queue_id };
  return { item: await setProgress(transaction, queue, { item_id: path.item_id, annotation_state }, account) };
});

/** Sets an annotator's states for several items, in one write transaction. A refusal is the result of its update. */
export const updateProgressBatch = inTransaction(
  'updateProgressBatch',
  async (transaction, { path, body, account }) => {
    const queue = { project_id: body.project_id, queue_id: path.queue_id };
    const results: { item?: QueueItem; reason?: string }[] = [];
    for (const update of body.updates) {
      try {
        results.push({ item: await setProgress(transaction, queue, update, account) });
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        results.push({ reason: error.message });
      }
    }
    return { results };
  },
);

async function setProgress(
  transaction: Transaction,
  { project_id, queue_id }: { project_id: string; queue_id: string },
  update: { item_id: string; annotation_state: string },
  account: string,
): Promise<QueueItem> {
  const { item_id } = update;
  const annotation_state = progressStates.find((state) => state === update.annotation_state);
  if (!annotation_state) throw new Refusal(400, `Invalid annotation_state: ${update.annotation_state}`);
  const item = await selectInProject(transaction, 'queue_items', project_id)
    .selectAll()
    .where('id', '=', item_id)
    .where('queue_id', '=', queue_id)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  if (!item || !(await findQueue(transaction, project_id, queue_id)))
    throw new Refusal(400, `Item ${item_id} not found in queue ${queue_id}`);
  const progress = await transaction
    .selectFrom('annotator_progress')
    .select('annotation_state')
    .where('item_id', '=', item_id)
    .where('annotator_user_id', '=', account)
    .executeTakeFirst();
  const current = progress?.annotation_state ?? (stateBefore(item) as AnnotationState);
  if (current === annotation_state) return toItem(item);
  if (!nextStates[current].includes(annotation_state)) {
    throw new Refusal(400, `Invalid state transition from ${current} to ${annotation_state}`);
  }
  const updated_at = new Date().toISOString();
  const isFinished = annotation_state !== 'in_progress';
  const annotator_kind = (isFinished ? await endClaim(transaction, item_id, account) : undefined) ?? 'person';
  const change = { annotation_state, annotator_kind, updated_at };
  await transaction
    .insertInto('annotator_progress')
    .values({ item_id, annotator_user_id: account, created_at: updated_at, ...change })
    .onConflict((conflict) => conflict.columns(['item_id', 'annotator_user_id']).doUpdateSet(change))
    .execute();
  // updated_at stays: it tells when the item itself changed.
  const shown = { annotation_state, annotator_user_id: account };
  await transaction.updateTable('queue_items').set(shown).where('id', '=', item_id).execute();
  return toItem({ ...item, ...shown });
}

function toItem(row: Tables['queue_items'], position: number | null = null): QueueItem {
  // Changes the row: copying the rows of a large page would take longer than to read them.
  return Object.assign(row, {
    latency: undefined,
    failed: undefined,
    annotator_user_id: row.annotator_user_id ?? '',
    call_started_at: withoutZone(shortTimestamp(row.call_started_at)),
    call_ended_at: row.call_ended_at && withoutZone(shortTimestamp(row.call_ended_at)),
    created_at: withoutZone(row.created_at),
    updated_at: withoutZone(row.updated_at),
    display_fields: JSON.parse(row.display_fields),
    position_in_queue: position,
  });
}
