import type { RecordedCall } from '../contract/calls.ts';
import type { QueueItem } from '../contract/queue-items.ts';
import { HeddleError } from '../core/errors.ts';
import type { CallContext } from '../records/call-context.ts';
import { readCalls } from '../records/read-calls.ts';
import { cutValue, valuesAt } from '../text/call-values.ts';
import { readByDisagreement, sortsByDisagreement } from './items-by-disagreement.ts';
import { type ItemsFilter, learnCaller, wholeFilter } from './items-filter.ts';
import { judgementsOf } from './judgements.ts';
import { findWithWholeNames, requireKnownNames } from './known-names.ts';
import { matchingItems, type OrderedItems, partOf } from './matching-items.ts';
import { readUnfinished, unfinishedOf } from './own-progress.ts';
import type { QueueAccess } from './queue-access.ts';
import { type ItemQuery, type ItemsPage, isIgnored, readItems } from './read-items.ts';
import { rememberItems } from './shown-items.ts';

/** An item with the values of its recorded call and why that call failed, or the error that kept the call from being read. */
export type ItemWithValues = QueueItem & {
  call_values?: Record<string, unknown>;
  exception?: string;
  call_error?: HeddleError;
};

/** Minimum length of a serialised item, in characters; it limits how many items are requested. */
const minItemChars = 200;

/** The items of a queue to read. */
export interface ItemPageRequest
  extends Pick<ItemQuery, 'sort_by' | 'include_position' | 'include_feedback' | 'include_own_state'> {
  filter?: ItemsFilter | undefined;
  /** Leaves out items that the account has completed or skipped; needs `include_own_state`, and no order by disagreement. */
  isUnfinishedOnly?: boolean;
  limit: number;
  offset?: number | undefined;
}

/** A page of items; `as_of` is a time before which they were read. */
export interface ItemPage extends OrderedItems {
  hasMore: boolean;
  as_of: string;
  /** By item: the values that annotators gave to the fields on which they differ; only for disputed items. */
  disputes?: ReadonlyMap<string, Disputes>;
}

/** Values by annotator, by field. */
export type Disputes = Record<string, Record<string, unknown>>;

/** Reads a page of items, and remembers how they were shown, for changes with its `as_of`. */
export async function readItemPage(
  { filter: givenFilter = {}, isUnfinishedOnly = false, limit, offset = 0, ...members }: ItemPageRequest,
  queue: QueueAccess & Pick<CallContext, 'maxResultChars'>,
): Promise<ItemPage> {
  const readAtMs = Date.now();
  const pageSize = Math.min(limit, Math.ceil(queue.maxResultChars / minItemChars));
  const { sort_by, include_position, include_feedback, include_own_state } = members;
  const query = { sort_by, include_position, include_feedback, include_own_state };
  // Asking for one item more than needed tells whether there is a next page.
  const part = { offset, limit: pageSize + 1 };
  const readAtService = async (tried: ItemsFilter): Promise<ItemsPage | undefined> => {
    const atService = { ...query, ...part, filter: wholeFilter(tried, queue) };
    if (isIgnored(atService, queue)) return undefined;
    const page = await (isUnfinishedOnly ? readUnfinished : readItems)(queue, atService);
    return isIgnored(atService, queue) ? undefined : page;
  };
  const readInOrder = async (): Promise<OrderedItems> => {
    if (sortsByDisagreement(sort_by)) return readByDisagreement(queue, givenFilter, { ...query, ...part, sort_by });
    const { filter, found, judgements } = await findWithWholeNames(givenFilter, queue, {
      find: readAtService,
      isFound: (there) => (there?.items.length || there?.matching || 0) > 0,
    });
    if (!found) {
      const all = await matchingItems(queue, filter, query);
      return partOf(all, isUnfinishedOnly ? await unfinishedOf(all, queue) : all.items, offset);
    }
    const isAll = offset === 0 && found.items.length <= pageSize;
    const matching = isAll ? found.items.length : found.matching;
    if (matching !== undefined) await requireKnownNames(filter, queue, matching, judgements);
    return { ...found, filter, matching };
  };
  const { items, feedback, ...found } = await readInOrder();
  await learnCaller(found.filter, judgementsOf(feedback), queue);
  const page = items.slice(0, pageSize);
  const as_of = rememberItems(queue, readAtMs, page);
  return { items: page, feedback, hasMore: items.length > pageSize, as_of, ...found };
}

/** Adds the values of its recorded call to each item, or the error that kept the call from being read. */
export async function withCallValues(
  items: QueueItem[],
  project: string,
  maxValueChars: number,
  context: CallContext,
): Promise<ItemWithValues[]> {
  const calls = await readCalls(items, project, context.service);
  return items.map((item) => {
    const call = calls.get(item.call_id)!;
    if (call instanceof HeddleError) return { ...item, call_error: call };
    const call_values = valuesAt(call, item.display_fields, maxValueChars);
    return { ...item, call_values, ...exceptionOf(call, maxValueChars) };
  });
}

/** Adds to each item why its call failed, if it did. */
export async function withExceptions(
  items: readonly QueueItem[],
  project: string,
  maxValueChars: number,
  { service }: CallContext,
): Promise<ItemWithValues[]> {
  const withoutValues = items.map(({ call_id }) => ({ call_id, display_fields: [] }));
  const calls = await readCalls(withoutValues, project, service);
  return items.map((item) => ({ ...item, ...exceptionOf(calls.get(item.call_id), maxValueChars) }));
}

function exceptionOf(
  call: RecordedCall | HeddleError | undefined,
  maxValueChars: number,
): Pick<ItemWithValues, 'exception'> {
  if (!call || call instanceof HeddleError || !call.exception) return {};
  return { exception: String(cutValue(call.exception, maxValueChars)) };
}

const timeMembers = ['call_started_at', 'call_ended_at', 'created_at', 'updated_at', 'deleted_at'] as const;

/**
 * Adds the zone to the times of an item, because the public service sends them in UTC without saying so, and removes
 * milliseconds that are zero.
 */
export function withReadableTimes(item: QueueItem): QueueItem {
  let readable = item;
  for (const member of timeMembers) {
    const time = item[member];
    const shown = time && readableTime(time);
    if (shown === time) continue;
    if (readable === item) readable = { ...item };
    readable[member] = shown!;
  }
  return readable;
}

function readableTime(text: string): string {
  // Most times have a zone, and a fraction that is not zero.
  if (text.endsWith('Z') && !text.endsWith('0Z')) return text;
  const [, time, fraction, zone] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,9})?(Z?)$/.exec(text) ?? [];
  if (time === undefined) return text;
  const isWhole = fraction === undefined || Number(fraction) === 0;
  return isWhole || zone === '' ? `${time}${isWhole ? '' : fraction}Z` : text;
}

/**
 * Flattens an item into a table row: each value of its call gets its own column. `common` has the members that it shares with
 * other items.
 */
export function toItemRow(row: Record<string, unknown>, common: Record<string, unknown> = {}): Record<string, unknown> {
  if (row.call_values === undefined && row.call_error === undefined) return row;
  const { call_values, call_error, ...item } = row;
  const values = Object.entries((call_values as ItemWithValues['call_values']) ?? {}).map(([path, value]) => [
    Object.hasOwn(item, path) || Object.hasOwn(common, path) ? `call.${path}` : path,
    value,
  ]);
  const error = call_error as HeddleError | undefined;
  return {
    ...item,
    ...Object.fromEntries(values),
    ...(error && { call_error: `${error.code}: ${error.message}` }),
  };
}
