import { type ExpressionBuilder, type SelectQueryBuilder, sql } from 'kysely';
import { type AnnotatorKind, maxHeld } from '../../contract/claims.ts';
import type { BodyOf } from '../../contract/endpoints.ts';
import type { ReviewersPerItem } from '../../contract/queues.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { inBatches } from '../../core/in-batches.ts';
import { accountsOfProject } from '../admin/accounts.ts';
import { databaseTime } from '../storage/claim-rows.ts';
import type { Transaction } from '../storage/database.ts';
import type { Tables } from '../storage/database-tables.ts';
import { inChunks } from '../storage/in-chunks.ts';
import { isFinishedBy } from '../storage/queue-rows.ts';
import { inTransaction, type OperationHandler, type OperationInput } from './operation.ts';
import { findItemPage } from './queue-items.ts';
import { requireAssignable, requireQueueRow } from './queues.ts';
import { conditionsFor, findsByIndex, type ItemSelection, selectItems, withoutIndex } from './select-items.ts';

type ClaimRequest = BodyOf<'claimQueueItems'>;

/** Who claims in a queue, how many opinions its items want, and when. */
interface Claimant {
  project_id: string;
  queue_id: string;
  account: string;
  kind: AnnotatorKind;
  /** The name of the account, or of one of the annotators that share it. */
  annotator: string;
  /** True if items without assignees of their own may be claimed. */
  isAssigned: boolean;
  /** True if any item of any queue has assignees of its own. */
  hasAssignments: boolean;
  wanted: ReviewersPerItem;
  /** The time by the clock of the database. */
  now: Date;
}

/**
 * Releases, prolongs and claims items of a queue, in one write transaction.
 * @throws Refusal 404 for an unknown queue, 400 for an annotator or a number of opinions that the project or the queue rules out.
 */
export const claimQueueItems: OperationHandler<'claimQueueItems'> = async (input, { database }) => {
  const { path, body, account, budget } = input;
  const queue = { project_id: body.project_id, queue_id: path.queue_id };
  const readFirstCalls = (conditions: ItemSelection, limit: number) =>
    database.read(async (transaction) => {
      const claimant = await claimantOf(transaction, path.queue_id, body, account);
      const items = selectClaimable(transaction, claimant, conditions).select('call_id');
      return (await inOrder(items, conditions, body).limit(limit).execute()).map(({ call_id }) => call_id);
    });
  // Every claim reads which items the others have taken.
  const claim = (conditions: ItemSelection) =>
    database.writeInTurn((transaction) => claimItems(transaction, input, conditions));
  const request = { filter: body.filter, account, budget };
  // An item that is given back may be claimed again, which it cannot yet be when the first are read.
  const page = body.release?.length ? undefined : { end: body.n, readFirstCalls };
  try {
    return await claim(await conditionsFor(database, queue, { ...request, page }));
  } catch (error) {
    if (error !== tooFew) throw error;
    return claim(await conditionsFor(database, queue, request));
  }
};

/** Undoes a claim in which the first items do not suffice, because others have claimed some of them meanwhile. */
const tooFew = new Error('too few items were searched');

/** Claims items that fulfil conditions, with all that the request asks for besides. Throws {@link tooFew}. */
async function claimItems(
  transaction: Transaction,
  { path, body, account, budget }: OperationInput<'claimQueueItems'>,
  conditions: ItemSelection,
) {
  const queue = { project_id: body.project_id, queue_id: path.queue_id };
  const claimant = await claimantOf(transaction, path.queue_id, body, account);
  const released = body.release?.length ? await releaseItems(transaction, body.release, claimant) : undefined;
  const own = await claimsInQueue(transaction, claimant)
    .select(['item_id', 'held_until'])
    .where('account', '=', account)
    .where('annotator_kind', '=', claimant.kind)
    .where('annotator', '=', claimant.annotator)
    .execute();
  const isLive = ({ held_until }: { held_until: string }): boolean => held_until > claimant.now.toISOString();
  const held = own.filter(isLive);
  const kept = body.prolong ? held.map(({ item_id }) => item_id) : [];
  if (body.prolong) {
    const ended = own.filter((claim) => !isLive(claim)).map(({ item_id }) => item_id);
    const wanted = await findWanted(transaction, ended, claimant, { ...conditions, filter: {}, lists: [] });
    kept.push(...wanted.slice(0, maxHeld - held.length));
  }
  const missing = Math.min(body.n - kept.length, maxHeld - Math.max(held.length, kept.length));
  const found = missing > 0 ? await findClaimable(transaction, body, claimant, conditions, missing, kept) : [];
  if (found.length < missing && conditions.isForPage) throw tooFew;
  const ids = [...kept, ...found];
  const held_until = new Date(claimant.now.getTime() + body.minutes * 60_000).toISOString();
  await holdItems(transaction, ids, held_until, claimant);
  const free_at = found.length < missing ? await firstEnd(transaction, claimant) : undefined;
  const query = { project_id: body.project_id, sort_by: sortKeysOf(body) };
  const selection = { ...conditions, filter: { ids }, lists: [] };
  const { items } = ids.length > 0 ? await findItemPage(transaction, queue, query, selection, budget) : { items: [] };
  return { items, held_until, ...(released !== undefined && { released }), ...(free_at != null && { free_at }) };
}

/**
 * Sets who alone may claim items, in a write transaction.
 * @throws Refusal 404 for an unknown queue, 400 as {@link requireAssignable} does.
 */
export const assignQueueItems = inTransaction('assignQueueItems', async (transaction, { path, body, account }) => {
  const { project_id, item_ids, assignees } = body;
  await requireQueueRow(transaction, project_id, path.queue_id);
  await requireAssignable(transaction, project_id, assignees, account);
  const queue = { project_id, queue_id: path.queue_id };
  const rows = await inChunks(item_ids, (ids) =>
    selectItems(transaction, queue).select('id').where('id', 'in', ids).execute(),
  );
  for (const batch of inBatches(rows, assignedPerInsert)) {
    const ids = batch.map(({ id }) => id);
    await transaction.deleteFrom('item_assignees').where('item_id', 'in', ids).execute();
    const assigned = ids.flatMap((item_id) => [...new Set(assignees)].map((annotator) => ({ item_id, annotator })));
    if (assigned.length > 0) await transaction.insertInto('item_assignees').values(assigned).execute();
  }
  return {};
});

/** Stays below the database engines' limits on parameters, with 100 assignees each. */
const assignedPerInsert = 50;

async function claimantOf(
  transaction: Transaction,
  queue_id: string,
  body: ClaimRequest,
  account: string,
): Promise<Claimant> {
  const { project_id, as: kind } = body;
  const queue = await requireQueueRow(transaction, project_id, queue_id);
  const annotator = await annotatorOf(transaction, body, account);
  const assignees: string[] = JSON.parse(queue.assignees ?? '[]');
  const stated: ReviewersPerItem | null = JSON.parse(queue.reviewers_per_item ?? 'null');
  const asked = body.reviewers_per_item;
  if (stated !== null && asked != null && JSON.stringify(asked) !== JSON.stringify(stated)) {
    throw new Refusal(
      400,
      `The queue wants reviewers_per_item ${JSON.stringify(stated)}: leave it out, or change the queue`,
    );
  }
  return {
    project_id,
    queue_id,
    account,
    kind,
    annotator,
    isAssigned: assignees.length === 0 || assignees.includes(annotator),
    hasAssignments: (await transaction.selectFrom('item_assignees').select('item_id').limit(1).execute()).length > 0,
    wanted: stated ?? asked ?? 1,
    now: await databaseTime(transaction),
  };
}

/** Returns for whom an account claims. @throws Refusal 400 for someone else in a project that has accounts. */
async function annotatorOf(
  transaction: Transaction,
  { project_id, annotator }: ClaimRequest,
  account: string,
): Promise<string> {
  if (annotator == null || annotator === account) return account;
  if ((await accountsOfProject(transaction, project_id)).length === 0) return annotator;
  throw new Refusal(400, `The project has accounts, so ${account} claims for itself only: leave annotator out`);
}

/** Ends claims of an annotator, and returns of how many items. */
async function releaseItems(
  transaction: Transaction,
  ids: readonly string[],
  { account, annotator }: Claimant,
): Promise<number> {
  const deleted = await inChunks([...new Set(ids)], (chunk) =>
    transaction
      .deleteFrom('item_claims')
      .where('account', '=', account)
      .where('annotator', '=', annotator)
      .where('item_id', 'in', chunk)
      .execute(),
  );
  return deleted.reduce((sum, { numDeletedRows }) => sum + Number(numDeletedRows), 0);
}

function claimsInQueue(transaction: Transaction, { project_id, queue_id }: Claimant) {
  // SQLite reads the tables of a cross join in their order: it would look for a claim of each item, but claims are few.
  return transaction
    .selectFrom('item_claims')
    .crossJoin('queue_items')
    .whereRef('item_id', '=', 'queue_items.id')
    .where('project_id', '=', project_id)
    .where('queue_id', '=', queue_id)
    .where('deleted_at', 'is', null);
}

/** Returns those of the items that want an opinion of the annotator. */
async function findWanted(
  transaction: Transaction,
  itemIds: readonly string[],
  claimant: Claimant,
  conditions: ItemSelection,
): Promise<string[]> {
  const rows = await inChunks(itemIds, (ids) =>
    selectClaimable(transaction, claimant, conditions).select('id').where('id', 'in', ids).execute(),
  );
  return rows.map(({ id }) => id);
}

async function findClaimable(
  transaction: Transaction,
  body: ClaimRequest,
  claimant: Claimant,
  conditions: ItemSelection,
  limit: number,
  except: readonly string[],
): Promise<string[]> {
  let items = selectClaimable(transaction, claimant, conditions).select('id');
  if (except.length > 0) items = items.where('id', 'not in', except);
  const rows = await inOrder(items, conditions, body).limit(limit).execute();
  return rows.map(({ id }) => id);
}

/**
 * Sorts items that fulfil conditions as they are to be claimed. Those that were added together come in the same direction, in which an
 * index has them.
 */
function inOrder<Columns>(
  items: SelectQueryBuilder<Tables, 'queue_items', Columns>,
  conditions: ItemSelection,
  body: ClaimRequest,
) {
  const [{ field, direction }] = sortKeysOf(body);
  // SQLite would walk the index of the order, and look for each of its items in a list.
  const key = findsByIndex(conditions) ? withoutIndex(field) : field;
  return items.orderBy(key, direction).orderBy('id', direction);
}

function sortKeysOf({ order }: ClaimRequest) {
  return [{ field: 'created_at', direction: order === 'newest' ? 'desc' : 'asc' }] as [
    { field: 'created_at'; direction: 'asc' | 'desc' },
  ];
}

/** Returns the items that want an opinion of an annotator who neither has finished nor holds them, as a query. */
function selectClaimable(transaction: Transaction, claimant: Claimant, conditions: ItemSelection) {
  const { account, annotator, isAssigned, hasAssignments, now, wanted, kind } = claimant;
  const count = typeof wanted === 'number' ? wanted : kind === 'agent' ? wanted.agents : wanted.people;
  const items = selectItems(transaction, claimant, conditions)
    .where((builder) => builder.not(isFinishedBy(account, builder)))
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('item_claims')
            .select('item_id')
            .whereRef('item_id', '=', 'queue_items.id')
            .where('account', '=', account)
            .where('held_until', '>', now.toISOString()),
        ),
      ),
    )
    .where(({ and, or, not, exists, selectFrom }) => {
      // PostgreSQL would look into the empty table for each item of the queue before it looks at the filter.
      if (isAssigned && !hasAssignments) return and([]);
      const assigned = selectFrom('item_assignees').select('item_id').whereRef('item_id', '=', 'queue_items.id');
      const mine = exists(assigned.where('annotator', '=', annotator));
      return isAssigned ? or([not(exists(assigned)), mine]) : and([mine]);
    })
    .where((builder) => builder(opinionsOf(builder, claimant), '<', count));
  // The shown state of an item is one that an annotator has reached. It is in the index, other than the opinions.
  return wanted === 1 ? items.where('annotation_state', '!=', 'completed') : items;
}

/** Returns the number of opinions that an item has or is about to get: those given, and the claims that have not ended. */
function opinionsOf({ selectFrom }: ExpressionBuilder<Tables, 'queue_items'>, { wanted, kind, now }: Claimant) {
  let given = selectFrom('annotator_progress')
    .select(({ fn }) => fn.countAll<number>().as('given'))
    .whereRef('item_id', '=', 'queue_items.id')
    .where('annotator_progress.annotation_state', '=', 'completed');
  let claimed = selectFrom('item_claims')
    .select(({ fn }) => fn.countAll<number>().as('claimed'))
    .whereRef('item_id', '=', 'queue_items.id')
    .where('held_until', '>', now.toISOString());
  if (typeof wanted !== 'number') {
    given = given.where('annotator_kind', '=', kind);
    claimed = claimed.where('annotator_kind', '=', kind);
  }
  return sql<number>`${given} + ${claimed}`;
}

/** Claims that one statement stores. */
const claimsPerInsert = 500;

/** Stores claims, and removes those of others on the same items that have ended. */
async function holdItems(
  transaction: Transaction,
  ids: readonly string[],
  held_until: string,
  { account, kind: annotator_kind, annotator, now }: Claimant,
): Promise<void> {
  for (const batch of inBatches(ids, claimsPerInsert)) {
    await transaction
      .deleteFrom('item_claims')
      .where('item_id', 'in', batch)
      .where('held_until', '<=', now.toISOString())
      .execute();
    const claim = { account, annotator_kind, annotator, held_until };
    await transaction
      .insertInto('item_claims')
      .values(batch.map((item_id) => ({ item_id, ...claim })))
      .onConflict((conflict) => conflict.columns(['item_id', 'account']).doUpdateSet({ held_until }))
      .execute();
  }
}

/** Returns when the first claim of another account in the queue ends; null if there is none. */
async function firstEnd(transaction: Transaction, claimant: Claimant): Promise<string | null> {
  const { end } = await claimsInQueue(transaction, claimant)
    .select(({ fn }) => fn.min<string | null>('held_until').as('end'))
    .where('account', '!=', claimant.account)
    .where('held_until', '>', claimant.now.toISOString())
    .executeTakeFirstOrThrow();
  return end;
}
