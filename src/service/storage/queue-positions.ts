import { type RawBuilder, sql } from 'kysely';
import type { Transaction } from './database.ts';
import type { OrderKey } from './total-order.ts';

export interface QueueKey {
  project_id: string;
  queue_id: string;
}

/** The values of an item's order keys, most important first, as they are stored. */
type KeyValues = string[];

/**
 * 1-based places of items in their whole queue. `items` holds the order keys of the items, in that order.
 *
 * Level by level: items that share their first keys form a group, and within it each different value of the next key
 * adds the rows between the value before it and itself. These ranges are disjoint, so a level costs about one pass over
 * an index up to the last item, however sparse the page lies in the queue and however many items share a value.
 */
export async function positionsInQueue(
  transaction: Transaction,
  queue: QueueKey,
  order: OrderKey[],
  items: KeyValues[],
): Promise<number[]> {
  const positions = items.map(() => 1);
  const groupSizes = await largestGroups(transaction, queue, order, items);
  for (let level = 0; level < order.length; level++) {
    const ranges = rangesOfLevel(items, level);
    const counts = await countRanges(transaction, queue, order.slice(0, level + 1), ranges, groupSizes);
    let before = 0;
    ranges.forEach((range, i) => {
      before = range.after === undefined ? counts[i]! : before + counts[i]!;
      for (let item = range.first; item < (ranges[i + 1]?.first ?? items.length); item++) positions[item]! += before;
    });
  }
  return positions;
}

/** Rows that equal `item` in the keys before the level's, and in that key lie before `item`, but not before `after`. */
interface Range {
  item: KeyValues;
  after: string | undefined;
  /** Index of the first item that these rows stand before. */
  first: number;
}

function rangesOfLevel(items: KeyValues[], level: number): Range[] {
  const ranges: Range[] = [];
  items.forEach((item, first) => {
    const previous = items[first - 1];
    const shared = previous ? item.findIndex((value, key) => value !== previous[key]) : -1;
    if (previous && shared > level) return;
    ranges.push({ item, after: previous && shared === level ? previous[level] : undefined, first });
  });
  return ranges;
}

/** Beyond this many rows with one value, a range over the next key's index reads less than the group of the value. */
const largeGroup = 2000;
/** Ranges of one statement: keeps it far below SQLite's limits on parameters. */
const rangesPerStatement = 500;

/**
 * For each key but `id`, how many rows share one value, at most, among the values on the page. Only asked where an order
 * has several keys: with one, the index that has it first is always the right one.
 */
async function largestGroups(
  transaction: Transaction,
  queue: QueueKey,
  order: OrderKey[],
  items: KeyValues[],
): Promise<number[]> {
  if (order.length === 2) return [0];
  const sizes: number[] = [];
  for (let key = 0; key < order.length - 1; key++) {
    const values = [...new Set(items.map((item) => item[key]!))];
    const counts = await countPerRow(
      transaction,
      queue,
      values.map((value) => [value]),
      [sql`${sql.ref(order[key]!.column)} = page.c0`],
    );
    sizes.push(Math.max(0, ...counts));
  }
  return sizes;
}

async function countRanges(
  transaction: Transaction,
  queue: QueueKey,
  keys: OrderKey[],
  ranges: Range[],
  groupSizes: number[],
): Promise<number[]> {
  const counts: number[] = ranges.map(() => 0);
  for (const bounded of [false, true]) {
    const chosen = ranges.flatMap((range, i) => ((range.after !== undefined) === bounded ? [i] : []));
    const rows = chosen.map((i) => [...ranges[i]!.item.slice(0, keys.length), ...(bounded ? [ranges[i]!.after!] : [])]);
    const found = await countPerRow(transaction, queue, rows, rangeConditions(keys, bounded, groupSizes));
    chosen.forEach((range, i) => {
      counts[range] = found[i]!;
    });
  }
  return counts;
}

function rangeConditions(keys: OrderKey[], bounded: boolean, groupSizes: number[]): RawBuilder<unknown>[] {
  const level = keys.length - 1;
  const { column, direction } = keys[level]!;
  const sizes = groupSizes.slice(0, level);
  const smallest = Math.min(...sizes);
  const readRange = level === 0 || (bounded && column !== 'id' && smallest > largeGroup);
  const conditions = keys.slice(0, level).map((key, i) => {
    // An expression instead of the column keeps the planner, which cannot know the group's size, off that key's index.
    const indexed = !readRange && sizes.indexOf(smallest) === i;
    const value = sql.ref(`page.c${i}`);
    return indexed ? sql`${sql.ref(key.column)} = ${value}` : sql`${sql.ref(key.column)} || '' = ${value}`;
  });
  const before = sql.raw(direction === 'asc' ? '<' : '>');
  conditions.push(sql`${sql.ref(column)} ${before} ${sql.ref(`page.c${level}`)}`);
  const notBefore = sql.raw(direction === 'asc' ? '>=' : '<=');
  if (bounded) conditions.push(sql`${sql.ref(column)} ${notBefore} ${sql.ref(`page.c${level + 1}`)}`);
  return conditions;
}

/** For each row of values (`page.c0`, `page.c1` …) the number of the queue's items that meet the conditions. */
async function countPerRow(
  transaction: Transaction,
  { project_id, queue_id }: QueueKey,
  rows: string[][],
  conditions: RawBuilder<unknown>[],
): Promise<number[]> {
  const counts: number[] = [];
  for (let start = 0; start < rows.length; start += rangesPerStatement) {
    const chunk = rows.slice(start, start + rangesPerStatement);
    const columns = chunk[0]!.map((_, i) => sql.ref(`c${i}`));
    const values = chunk.map(
      (row, i) => sql`(${sql.lit(i)}, ${sql.join(row.map((value) => sql`cast(${value} as text)`))})`,
    );
    const found = await sql<{ i: number; items: number }>`
      with page (i, ${sql.join(columns)}) as (values ${sql.join(values)})
      select i, (
        select count(*) from queue_items
        where project_id = ${project_id} and queue_id = ${queue_id} and deleted_at is null
        and ${sql.join(conditions, sql` and `)}
      ) as items from page`.execute(transaction);
    for (const { i, items } of found.rows) counts[start + i] = Number(items);
  }
  return counts;
}
