import * as z from 'zod';
import { HeddleError } from '../core/errors.ts';
import { compactTable } from './table.ts';

/** Arguments that select a page of a list. */
export const pageArguments = {
  limit: z.int().min(1).max(1000).default(50).describe('Maximum number of results to return.'),
  offset: z.int().min(0).optional().describe('Number of results to skip.'),
};

/** Result members that locate a page in its list. */
export const pageMembers = {
  offset: z.int().describe('Position of the first result, from 0.'),
  next_offset: z.int().optional().describe('Offset of the next page; absent on the last page.'),
};

/** The position of a page in its list. */
export interface PagePosition {
  offset: number;
  next_offset?: number;
}

/** Returns the position of a page of `count` rows; `hasMore` adds the offset of the next page. */
export function pagePosition(offset: number, count: number, hasMore: boolean): PagePosition {
  return { offset, ...(hasMore && { next_offset: offset + count }) };
}

/** Renders a page: a summary, whether more rows follow, and the rows as a table. */
export function renderPage(
  summary: string,
  rows: readonly Record<string, unknown>[],
  columnOrder: readonly string[],
  nextOffset: number | undefined,
): string {
  const more = nextOffset === undefined ? 'This is the last page.' : `More follow: next_offset ${nextOffset}.`;
  return `${summary} ${more}
${compactTable(rows, columnOrder)}`;
}

/** Returns a count with its noun, like `1 queue` or `3 queues`. */
export function pluralize(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/**
 * Returns the first rows of a page that is too large: about `share` (0–1) of them, and at least one.
 * @throws HeddleError `too_large` when the page cannot lose a row.
 */
export function firstRows<Row>(rows: readonly Row[], share: number, offset: number, noun: string): Row[] {
  if (rows.length <= 1) {
    throw new HeddleError({
      code: 'too_large',
      message: `The ${noun} at offset ${offset} alone exceeds the result limit.`,
      hint: `Continue with offset ${offset + 1}, or ask the user to raise HEDDLE_MAX_RESULT_CHARS.`,
    });
  }
  const kept = Math.min(rows.length - 1, Math.floor(rows.length * share));
  return rows.slice(0, Math.max(kept, 1));
}
