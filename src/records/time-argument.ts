import * as z from 'zod';
import { invalidArgument } from '../core/errors.ts';

const secondsPerUnit = new Map([
  ['m', 60],
  ['h', 3600],
  ['d', 86_400],
  ['w', 604_800],
]);

/** Argument for a time: a date, a date and time, or how long ago it was, like `24h`. */
export const timeArgument = z.string().refine((text) => !Number.isNaN(secondsOf(text)), {
  message: 'must be a date or time like 2026-01-31 or 2026-01-31T09:00:00Z, or a time ago like 24h or 7d',
});

/** @throws HeddleError `invalid_arguments` for a filter whose time range has no time in it. */
export function requireTimeRange(filter: { started_after?: string; started_before?: string }): void {
  const { started_after: after, started_before: before } = filter;
  if (after === undefined || before === undefined || secondsOf(after) < secondsOf(before)) return;
  throw invalidArgument(['filter', 'started_after'], {
    fault: 'No call can match: started_after is not earlier than started_before',
    hint: 'Exchange their values, or leave one out.',
  });
}

/** Returns the seconds since 1970 of a time, in UTC if it names no zone; NaN for any other text. */
export function secondsOf(text: string): number {
  const [, count, unit = ''] = /^(\d{1,6})([mhdw])(?: ago)?$/.exec(text) ?? [];
  if (count !== undefined) return Math.max(0, Date.now() / 1000 - Number(count) * secondsPerUnit.get(unit)!);
  const [, date, clock = 'T00:00:00', zone = 'Z'] =
    /^(\d{4}-\d\d-\d\d)([T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?(Z|[+-]\d\d:\d\d)?$/.exec(text) ?? [];
  // A day that the month does not have would be taken for one of the next month.
  const midnightMs = date === undefined ? Number.NaN : Date.parse(date);
  if (Number.isNaN(midnightMs) || !new Date(midnightMs).toISOString().startsWith(date!)) return Number.NaN;
  return Date.parse(`${date}${clock.replace(' ', 'T')}${zone}`) / 1000;
}
