import * as z from 'zod';
import { HeddleError } from '../core/errors.ts';
import { ownMember } from '../core/json/member-at.ts';
import { compactTable } from './compact-table.ts';

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
  common?: Record<string, unknown>,
): string {
  const more = nextOffset === undefined ? 'This is the last page.' : `More follow: next_offset ${nextOffset}.`;
  return `${summary} ${more}
${compactTable(rows, columnOrder, common)}`;
}

/** Returns a count with its noun, like `1 queue` or `3 queues`. */
export function pluralize(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/**
 * Returns a page that is too large with about `share` (0–1) of its rows, and at least one, and the offset of the next. `rows`
 * names the member with the rows, a plural in s.
 * @throws HeddleError `too_large` when the page cannot lose a row.
 */
export function withFirstRows<Page extends object>(page: Page, rows: string & keyof Page, share: number): Page {
  const { offset = 0 } = page as Partial<PagePosition>;
  const all = ownMember(page, rows) as unknown[];
  if (all.length <= 1) {
    throw new HeddleError({
      code: 'too_large',
      message: `The ${rows.slice(0, -1)} at offset ${offset} alone exceeds the result limit.`,
      hint: `Continue with offset ${offset + 1}, or ask the user to raise HEDDLE_MAX_RESULT_CHARS.`,
    });
  }
  const kept = all.slice(0, Math.max(Math.min(all.length - 1, Math.floor(all.length * share)), 1));
  return { ...page, [rows]: kept, ...pagePosition(offset, kept.length, true) };
}
