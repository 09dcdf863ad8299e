import * as z from 'zod';
import type { RecordedCall } from '../../contract/calls.ts';

/** A path to a value of a recorded call. */
export const callPath = z.string().min(1).max(500);
/** Maximum number of paths to values of one call; each of them is looked up, and its value is written. */
export const maxPaths = 100;

/** Splits a path like `inputs.messages[0].content` into names and indices. */
export function pathSegments(path: string): string[] {
  return path.replace(/\[(\d+)\]/g, '.$1').split('.');
}

/**
 * Returns the value of a recorded call at a path like `inputs.subject` or `inputs.messages[0].content`; undefined when
 * there is none. Inherited members are ignored.
 */
export function valueAt(call: RecordedCall, path: string): unknown {
  return pathSegments(path).reduce<unknown>(
    (at, part) =>
      typeof at === 'object' && at !== null && Object.hasOwn(at, part)
        ? (at as Record<string, unknown>)[part]
        : undefined,
    call,
  );
}

/**
 * Cuts a value to `maxChars` characters and appends how many are missing. A value that is not a string is returned
 * unchanged if its JSON is short enough, and as cut JSON text otherwise.
 */
export function cutValue(value: unknown, maxChars: number): unknown {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (text === undefined || text.length <= maxChars) return value;
  return `${text.slice(0, maxChars).toWellFormed()}…[+${text.length - maxChars} characters]`;
}

/**
 * Returns the values at several paths, each cut to `maxChars`; paths without a value, and paths beyond the limit that a
 * service sends, are omitted.
 */
export function valuesAt(call: RecordedCall, paths: readonly string[], maxChars: number): Record<string, unknown> {
  return Object.fromEntries(
    [...new Set(paths)]
      .filter((path) => path.length <= callPath.maxLength!)
      .slice(0, maxPaths)
      .map((path) => [path, cutValue(valueAt(call, path), maxChars)] as const)
      .filter(([, value]) => value !== undefined),
  );
}
