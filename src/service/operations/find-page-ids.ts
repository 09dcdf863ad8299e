import { type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import type { sortFields } from '../../contract/queue-items.ts';
import type { Database, Transaction } from '../storage/database.ts';
import type { Tables } from '../storage/database-tables.ts';
import type { OrderKey } from '../storage/total-order.ts';
import { sortValue } from './select-items.ts';

type Items = SelectQueryBuilder<Tables, 'queue_items', object>;
type Order = readonly OrderKey<(typeof sortFields)[number]>[];

/** A page of items: those after the first `offset` in an order, at most `limit`. */
interface Page {
  items: Items;
  /** The items among which those of the page are numbered, if they are. */
  numbered: Items | undefined;
  offset: number;
  limit: number;
}

/** An item of a page, with its position if the page is numbered. */
interface PageId {
  id: string;
  position: number | null;
}

interface PageContext {
  transaction: Transaction;
  database: Database;
  /** Maximum number of items that are sorted where an index can take the place of sorting. */
  maxSorted: number;
}

/** Finds the ids of a page, in its order. `hold` is called with their number before they are read. */
export async function findPageIds(
  page: Page,
  order: Order,
  context: PageContext & { hold(count: number): void },
): Promise<PageId[]> {
  const { items, numbered, offset } = page;
  const needsSorting = numbered !== undefined || !isOfIndex(order);
  const maxPageCount = needsSorting ? Math.max(page.limit, context.maxSorted + 1) : page.limit;
  const maxCounted = Math.min(offset + maxPageCount, Number.MAX_SAFE_INTEGER);
  // Without an order, SQLite would count with its smallest index, and read every row for the filter.
  const count = await countItems(items.orderBy('created_at').limit(maxCounted), context);
  const limit = Math.max(0, Math.min(page.limit, count - offset));
  context.hold(limit);
  if (limit === 0) return [];
  const isLarge = numbered ? await hasMany(numbered, context) : needsSorting && count > context.maxSorted;
  return (isLarge ? findPart : sortPart)({ ...page, limit, precedingCount: 0 }, order, context);
}

/** Returns whether an index has the items in an order. */
function isOfIndex([key, ...rest]: Order): boolean {
  return key?.column !== 'latency' && key?.direction === 'asc' && rest.length === 1 && rest[0]!.direction === 'asc';
}

/** A part of a page, with the number of items that come before all those of `numbered`. */
type Part = Page & { precedingCount: number };

/**
 * Finds the ids of a part of a page. Each sort column has an index that covers the others, but no index has an order by two columns.
 * So the first and the last value of the first key in the part are found in that key's index; a value that many items share is then
 * searched in the same way by the next key, instead of sorting its items.
 */
async function findPart(part: Part, order: Order, context: PageContext): Promise<PageId[]> {
  const { items, numbered } = part;
  const [key, ...rest] = order as readonly [Order[number], ...Order];
  // Latency is in no index of the items.
  if (key.column === 'latency') return sortPart(part, order, context);
  const value = sortValue(key.column, context);
  const [lower, higher] = key.direction === 'asc' ? ['<', '>'] : ['>', '<'];
  const is = (operator: string, bound: string) => sql<SqlBool>`${value} ${sql.raw(operator)} ${bound}`;
  const values = items.select(sql<string>`${value}`.as('value')).orderBy(sqlOf([key], context));
  const { least, greatest } = await context.transaction
    .selectFrom(values.limit(part.limit).offset(part.offset).as('values'))
    .select(({ fn }) => [fn.min('value').as('least'), fn.max('value').as('greatest')])
    .executeTakeFirstOrThrow();
  const [first, last] = key.direction === 'asc' ? [least, greatest] : [greatest, least];
  const hasManyOf = (bound: string) => hasMany((numbered ?? items).where(is('=', bound)), context);
  const hasManyFirst = await hasManyOf(first);
  const hasManyLast = first === last ? hasManyFirst : await hasManyOf(last);
  const group = (bound: string) => ({
    condition: is('=', bound),
    preceding: is(lower, bound),
    find: findPart,
    keys: rest,
  });
  const groups = [];
  if (hasManyFirst) groups.push(group(first));
  if (first !== last || !hasManyFirst) {
    const [from, before] = hasManyFirst ? [higher, `${lower}=`] : [`${higher}=`, lower];
    const condition = sql<SqlBool>`${is(from, first)} and ${is(hasManyLast ? lower : `${lower}=`, last)}`;
    groups.push({ condition, preceding: is(before, first), find: sortPart, keys: order });
  }
  if (first !== last && hasManyLast) groups.push(group(last));
  let { offset, limit } = part;
  if (offset > 0) offset -= await countItems(items.where(is(lower, first)), context);
  const found: PageId[][] = [];
  for (const { condition, preceding, find, keys } of groups) {
    const ofGroup = { items: items.where(condition), numbered: numbered?.where(condition), offset, limit };
    const precedingCount = part.precedingCount + (numbered ? await countItems(numbered.where(preceding), context) : 0);
    const ids = await find({ ...ofGroup, precedingCount }, keys, context);
    found.push(ids);
    limit -= ids.length;
    offset = 0;
  }
  return found.flat();
}

async function sortPart(part: Part, order: Order, context: PageContext): Promise<PageId[]> {
  const { items, numbered, offset, limit } = part;
  const sorted = sqlOf(order, context);
  const page = items.select('id').orderBy(sorted).limit(limit).offset(offset);
  if (!numbered) return (await page.execute()).map(({ id }) => ({ id, position: null }));
  const places = numbered.select(['id', sql<number>`row_number() over (order by ${sorted})`.as('position')]);
  const rows = await context.transaction
    .selectFrom(places.as('places'))
    .select(['id', 'position'])
    .where('id', 'in', page)
    .orderBy('position')
    .execute();
  // PostgreSQL's driver returns row numbers as strings.
  return rows.map(({ id, position }) => ({ id, position: part.precedingCount + Number(position) }));
}

function sqlOf(order: Order, context: PageContext) {
  return sql.join(order.map(({ column, direction }) => sql`${sortValue(column, context)} ${sql.raw(direction)}`));
}

async function hasMany(items: Items, context: PageContext): Promise<boolean> {
  return (await countItems(items.limit(context.maxSorted + 1), context)) > context.maxSorted;
}

async function countItems(items: Items, { transaction }: PageContext): Promise<number> {
  const { count } = await transaction
    .selectFrom(items.select('id').as('items'))
    .select(({ fn }) => fn.countAll().as('count'))
    .executeTakeFirstOrThrow();
  // PostgreSQL's driver returns counts as strings.
  return Number(count);
}
