import type { RecordedCall } from '../../contract/calls.ts';

/**
 * The value at a path like `inputs.subject` or `inputs.messages[0].content` of a recorded call; undefined where there
 * is none. Only own members are followed.
 */
export function valueAt(call: RecordedCall, path: string): unknown {
  const parts = path.replace(/\[(\d+)\]/g, '.$1').split('.');
  return parts.reduce<unknown>(
    (at, part) =>
      typeof at === 'object' && at !== null && Object.hasOwn(at, part)
        ? (at as Record<string, unknown>)[part]
        : undefined,
    call,
  );
}

/**
 * A value cut to `limit` characters of its text, saying how many are missing. What is not a string is kept as it is
 * while its JSON is short enough, and becomes cut JSON text beyond that.
 */
export function cutValue(value: unknown, limit: number): unknown {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (text === undefined || text.length <= limit) return value;
  return `${text.slice(0, limit).toWellFormed()}…[+${text.length - limit} characters]`;
}

/** The values at several paths, each cut; a path that leads nowhere is left out. */
export function valuesAt(call: RecordedCall, paths: readonly string[], limit: number): Record<string, unknown> {
  return Object.fromEntries(
    paths
      .map((path) => [path, cutValue(valueAt(call, path), limit)] as const)
      .filter(([, value]) => value !== undefined),
  );
}
