import type { RecordedCall } from '../contract/calls.ts';
import { callPath } from './call-values.ts';
import { nearest } from './names.ts';

/** Paths among which the nearest are looked for. */
const maxPathsOfCall = 2000;

/**
 * Returns the paths of recorded calls that are spelled most like a path that does not exist; what it ends with counts as
 * much as the whole.
 */
export function nearestPaths(calls: readonly RecordedCall[], path: string): string[] {
  const known = new Set(calls.flatMap(pathsOf));
  known.delete(path);
  return nearest(path, [...known], (other) => [other, lastName(other)]);
}

/** Returns the last name on a path, like `content` for `inputs.messages[0].content`. */
export function lastName(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1).replace(/\[\d+\]$/, '');
}

/** Lists the paths to the values of a call, those with the fewest names first; of a list only the first entry. */
function pathsOf({ inputs, output, ...rest }: RecordedCall): string[] {
  const paths: string[] = [];
  // Recorded values come before members that the service added.
  let level: [string, unknown][] = Object.entries({ inputs, output, ...rest });
  while (level.length > 0 && paths.length < maxPathsOfCall) {
    const next: [string, unknown][] = [];
    for (const [path, value] of level) {
      if (path.length > callPath.maxLength!) continue;
      paths.push(path);
      if (paths.length >= maxPathsOfCall) break;
      if (Array.isArray(value))
        next.push(...value.slice(0, 1).map((entry): [string, unknown] => [`${path}[0]`, entry]));
      else if (typeof value === 'object' && value !== null) {
        for (const [name, member] of Object.entries(value).slice(0, maxPathsOfCall)) {
          if (!/[.[]/.test(name)) next.push([`${path}.${name}`, member]);
        }
      }
      if (next.length > maxPathsOfCall) break;
    }
    level = next;
  }
  return paths;
}
