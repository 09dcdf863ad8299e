import { type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import { sortFields } from '../../contract/queue-items.ts';
import { groupBy } from '../../core/append-to.ts';
import type { Database, Transaction } from '../storage/database.ts';
import type { Tables } from '../storage/database-tables.ts';
import type { OrderKey } from '../storage/total-order.ts';
import { withoutIndex } from './select-items.ts';

type Items = SelectQueryBuilder<Tables, 'queue_items', object>;
type Order = readonly OrderKey<(typeof sortFields)[number]>[];

/** A page of items: those after the first `offset` in an order, at most `limit`. */
interface Page {
  items: Items;
  offset: number;
  limit: number;
}

/** An item of a page, with its position if the page is numbered. */
interface PageId {
  id: string;
  position: number | null;
}

type NumberedId = PageId & { position: number };

interface PageContext {
  transaction: Transaction;
  database: Database;
  /** Maximum number of items that are sorted where an index can take the place of sorting. */
  maxSorted: number;
}

/** A page to find. */
interface WantedPage extends Page {
  /** True if an index besides those of orders finds its items. */
  isIndexed: boolean;
  /** Maximum number of its items, if a list names them; otherwise infinity. */
  maxItems: number;
  /** All items of the queue, among which those of the page are numbered if it `isNumbered`. */
  all: Items;
  isNumbered: boolean;
  /** Selects the items of the page among some. */
  among(some: Items): Items;
}

/** `hold` is called with the maximum number of ids before they are read. */
type HoldingContext = PageContext & { hold(count: number): void };

/** Finds the ids of a page, in its order. */
export async function findPageIds(page: WantedPage, order: Order, context: HoldingContext): Promise<PageId[]> {
  const ids = await (page.maxItems === Infinity ? findIds : sortListed)(page, order, context);
  if (!page.isNumbered || ids.length === 0) return ids.map((id) => ({ id, position: null }));
  const rows = itemsOf(ids, context)
    .select(['id', ...sortFields])
    .orderBy(sqlOf(order));
  const ofPage = { rows: await rows.execute(), indexed: page.all, isOfGroup: sql<SqlBool>`true`, precedingCount: 0 };
  return (await numberRows([ofPage], page.all, order, context)).sort((a, b) => a.position - b.position);
}

/**
 * Finds the ids of a page among items that a list has, sorted in one statement, because each statement looks the whole list up. Of a long
 * list, the first items in the order of an index may have enough.
 */
async function sortListed(page: WantedPage, order: Order, context: HoldingContext) {
  const { transaction, maxSorted, hold } = context;
  const { items, all, maxItems, offset } = page;
  const limit = Math.max(0, Math.min(page.limit, maxItems - offset));
  hold(limit);
  if (limit === 0) return [];
  if (isOfIndex(order) && maxItems > maxSorted && offset + limit <= maxSorted) {
    const first = all
      .selectAll()
      .orderBy(sqlOf(order))
      .limit(10 * maxSorted)
      .as('queue_items');
    const found = page.among(transaction.selectFrom(first)).orderBy(sqlOf(order)).limit(limit).offset(offset);
    const ids = await idsOf(found);
    if (ids.length === limit) return ids;
  }
  // If most items are in the list, it is faster to walk the index of the order and look for each of its items in the list. For a shorter
  // list, SQLite must be kept from that.
  const isLong = isOfIndex(order) && maxItems > 10 * maxSorted;
  const isOfMost = isLong && (await countItems(all.limit(2 * maxItems), context)) < 2 * maxItems;
  const inOrder = isOfMost ? sqlOf(order) : sqlOf(order, withoutIndex);
  return idsOf(items.orderBy(inOrder).limit(limit).offset(offset));
}

async function findIds(
  { items, offset, limit, isIndexed, isNumbered, all }: WantedPage,
  order: Order,
  context: HoldingContext,
) {
  const { maxSorted, hold } = context;
  const needsSorting = isNumbered || isIndexed || !isOfIndex(order);
  // Without an order, SQLite would search its smallest index, and read every row for the filter.
  const searched = isIndexed ? items : items.orderBy('created_at');
  const maxFew = isIndexed ? 10 * maxSorted : maxSorted;
  const few = needsSorting ? await idsOf(searched.limit(maxFew + 1)) : undefined;
  const isFew = few !== undefined && few.length <= maxFew;
  const isDeep = offset > maxSorted;
  // To know the nearer end, the conditions are applied to every item. That pays only in the second half of all items, which are counted
  // without conditions.
  const maxCount = Math.min(2 * offset, Number.MAX_SAFE_INTEGER);
  const most = isDeep && !isFew ? await countItems(all.limit(maxCount), context) : maxCount;
  if (isDeep && most <= offset) return [];
  let count = Infinity;
  if (isFew) {
    count = few.length;
  } else if (most < maxCount || limit > maxSorted) {
    count = await countItems(searched.limit(Math.min(maxCount + limit, Number.MAX_SAFE_INTEGER)), context);
  }
  const size = Math.max(0, Math.min(limit, count - offset));
  hold(size);
  if (size === 0) return [];
  const find = needsSorting && !isFew ? findPart : sortPart;
  // The nearer end of the order takes less counting.
  const isNearEnd = isDeep && offset > count / 2;
  const part = {
    items: isFew ? itemsOf(few, context) : items,
    offset: isNearEnd ? count - offset - size : offset,
    limit: size,
  };
  const ids = await find(part, isNearEnd ? reversed(order) : order, context);
  return isNearEnd ? ids.reverse() : ids;
}

function itemsOf(ids: readonly string[], { transaction, database }: PageContext): Items {
  return transaction
    .selectFrom('queue_items')
    .where(sql<boolean>`queue_items.id in ${database.textsOf(JSON.stringify(ids))}`);
}

const reversed = (order: Order): Order =>
  order.map(({ column, direction }) => ({ column, direction: direction === 'asc' ? 'desc' : 'asc' }));

/** Returns whether an index has the items in an order. */
function isOfIndex([key, ...rest]: Order): boolean {
  return key?.direction === 'asc' && rest.length === 1 && rest[0]!.direction === 'asc';
}

/**
 * Finds the ids of a page. Each sort column has an index that covers the others, but no index has an order by two columns.
 * So the first and the last value of the first key in the page are found in that key's index; a value that many items share is then
 * searched in the same way by the next key, instead of sorting its items.
 */
async function findPart(part: Page, order: Order, context: PageContext): Promise<string[]> {
  const { items } = part;
  const [key, ...rest] = order as readonly [Order[number], ...Order];
  const { is, lower, higher } = comparisonBy(key);
  const { maxSorted } = context;
  // The values before the page tell how many items of its first value are before it, unless they are many.
  const before = Math.min(part.offset, maxSorted);
  const ofKey = items.select(`${key.column} as value`).orderBy(sqlOf([key]));
  const rows = await ofKey
    .limit(part.limit + before)
    .offset(part.offset - before)
    .execute();
  const [first, last] = [rows[before]?.value, rows.at(-1)?.value];
  if (first === undefined || last === undefined) return [];
  const hasManyOf = async (value: Value) => {
    // With an equality, SQLite might look for an equality of the conditions in another index.
    const equal = items.where(is('>=', value)).where(is('<=', value));
    return (await countItems(equal.limit(maxSorted + 1), context)) > maxSorted;
  };
  const hasManyFirst = await hasManyOf(first);
  const hasManyLast = first === last ? hasManyFirst : await hasManyOf(last);
  const group = (bound: Value) => ({ condition: is('=', bound), find: findPart, keys: rest });
  const groups = [];
  if (hasManyFirst) groups.push(group(first));
  if (first !== last || !hasManyFirst) {
    const from = hasManyFirst ? higher : `${higher}=`;
    const condition = sql<SqlBool>`${is(from, first)} and ${is(hasManyLast ? lower : `${lower}=`, last)}`;
    groups.push({ condition, find: sortPart, keys: order });
  }
  if (first !== last && hasManyLast) groups.push(group(last));
  let { offset, limit } = part;
  if (!hasManyFirst) offset = rows.slice(0, before).filter(({ value }) => value === first).length;
  else if (offset > 0) offset -= await countItems(items.where(is(lower, first)), context);
  const found: string[][] = [];
  for (const { condition, find, keys } of groups) {
    const ids = await find({ items: items.where(condition), offset, limit }, keys, context);
    found.push(ids);
    limit -= ids.length;
    offset = 0;
  }
  return found.flat();
}

async function sortPart({ items, offset, limit }: Page, order: Order): Promise<string[]> {
  return idsOf(items.orderBy(sqlOf(order)).limit(limit).offset(offset));
}

async function idsOf(items: Items): Promise<string[]> {
  return (await items.select('id').execute()).map(({ id }) => id);
}

type Row = Pick<Tables['queue_items'], Order[number]['column']>;
type Value = Row[keyof Row];

/** Rows that share the values of some keys, and the items that share them, too. */
interface Group {
  rows: readonly Row[];
  /** The items, found with the index of their values. */
  indexed: Items;
  /** Tells the items from others, where these are found with the index of a further key. */
  isOfGroup: RawBuilder<SqlBool>;
  /** Number of items that come before all of them. */
  precedingCount: number;
}

/** Maximum number of values of a group for which one statement each counts the items before them. */
const maxCountedValues = 250;

/**
 * Numbers the rows of groups, which are in an order, among items. Those of a group between its first and its last row are sorted if they
 * are few; of others, the values of the first key are counted, for all groups at once, and the rows that share a value are numbered in
 * the same way by the next key.
 */
async function numberRows(groups: Group[], items: Items, order: Order, context: PageContext): Promise<NumberedId[]> {
  const [key, ...rest] = order as readonly [Order[number], ...Order];
  const { column } = key;
  const { is, lower, higher } = comparisonBy(key);
  const found: NumberedId[] = [];
  // No two items share an id, so groups have nothing to count together.
  if (column === 'id' && groups.length > 1) {
    for (const group of groups) found.push(...(await numberRows([group], items, order, context)));
    return found;
  }
  const walked = column === 'id' ? groups[0]!.indexed : items;
  // For one value, too: with an equality, SQLite would look for it in the order of the next key.
  const between = ({ isOfGroup }: Group, from: Value, to: Value) =>
    walked.where(sql<SqlBool>`${isOfGroup} and ${is(`${higher}=`, from)} and ${is(`${lower}=`, to)}`);
  const counted: (Group & { byValue: Map<Value, Row[]> })[] = [];
  for (const group of groups) {
    const { rows, indexed, precedingCount } = group;
    const [first, last] = [rows[0]![column], rows.at(-1)![column]];
    const byValue = groupBy(rows, (row) => row[column]);
    const limit = byValue.size > maxCountedValues ? Number.MAX_SAFE_INTEGER : context.maxSorted + 1;
    const sorted = await sortRows(rows, between(group, first, last).limit(limit), order, context);
    if (sorted.total >= limit) counted.push({ ...group, byValue });
    else found.push(...sorted.after(precedingCount + (await countItems(indexed.where(is(lower, first)), context))));
  }
  const ids = counted.flatMap(({ rows }) => rows.map(({ id }) => id));
  const ofRows = itemsOf(ids, context)
    .select(`${column} as value`)
    .distinct()
    .orderBy(sqlOf([key]));
  const values = ids.length > 0 ? await ofRows.execute() : [];
  const further: Group[] = [];
  let from = walked;
  for (const { value } of values) {
    const counts = await from
      .where(is(lower, value))
      .select(counted.map(({ isOfGroup }, at) => sql`count(*) filter (where ${isOfGroup})`.as(String(at))))
      .executeTakeFirstOrThrow();
    from = walked.where(is(`${higher}=`, value));
    for (const [at, group] of counted.entries()) {
      // PostgreSQL's driver returns counts as strings.
      group.precedingCount += Number(counts[at]);
      const { indexed, isOfGroup, precedingCount, byValue } = group;
      const rows = byValue.get(value);
      if (!rows) continue;
      const equal = between(group, value, value).limit(context.maxSorted + 1);
      const sorted = await sortRows(rows, equal, order, context);
      if (sorted.total <= context.maxSorted) {
        found.push(...sorted.after(precedingCount));
      } else {
        const isEqual = sql<SqlBool>`${isOfGroup} and ${withoutIndex(column)} = ${value}`;
        further.push({ rows, indexed: indexed.where(is('=', value)), isOfGroup: isEqual, precedingCount });
      }
    }
  }
  if (further.length > 0) found.push(...(await numberRows(further, items, rest, context)));
  return found;
}

/** Sorts items. Returns their number, and a function that numbers rows among them after a count of other items. */
async function sortRows(rows: readonly Row[], items: Items, order: Order, { transaction, database }: PageContext) {
  const ids = JSON.stringify(rows.map(({ id }) => id));
  const places = transaction
    .selectFrom(items.select(['id', ...sortFields]).as('queue_items'))
    .select('id')
    .select(sql<number>`row_number() over (order by ${sqlOf(order)})`.as('position'))
    .select(sql<number>`count(*) over ()`.as('total'));
  const found = await transaction
    .selectFrom(places.as('places'))
    .selectAll()
    .where(sql<boolean>`id in ${database.textsOf(ids)}`)
    .execute();
  // PostgreSQL's driver returns such numbers as strings. A row is missing if its items are only the first of many.
  const total = found.length < rows.length ? Number.MAX_SAFE_INTEGER : Number(found[0]!.total);
  const after = (count: number) => found.map(({ id, position }) => ({ id, position: count + Number(position) }));
  return { total, after };
}

/** Returns how to compare items by the value of a key, in the direction of the key. */
function comparisonBy({ column, direction }: Order[number]) {
  const [lower, higher] = direction === 'asc' ? ['<', '>'] : ['>', '<'];
  const value = sql.ref(`queue_items.${column}`);
  const is = (operator: string, bound: Value) => sql<SqlBool>`${value} ${sql.raw(operator)} ${bound}`;
  return { is, lower, higher };
}

function sqlOf(order: Order, sqlOfColumn = (column: Order[number]['column']) => sql.ref(`queue_items.${column}`)) {
  return sql.join(order.map(({ column, direction }) => sql`${sqlOfColumn(column)} ${sql.raw(direction)}`));
}

async function countItems(items: Items, { transaction }: PageContext): Promise<number> {
  const { count } = await transaction
    .selectFrom(items.select('id').as('items'))
    .select(({ fn }) => fn.countAll().as('count'))
    .executeTakeFirstOrThrow();
  // PostgreSQL's driver returns counts as strings.
  return Number(count);
}
