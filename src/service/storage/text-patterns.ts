/**
 * Memory of a call in bytes from which its texts are not compared with patterns: each comparison would hold the database for long.
 * The test of a query reads them.
 */
export const maxMatchedBytes = 256 * 1024;

/** Returns the characters between the wildcards of a pattern. */
export function runsOf(pattern: string): string[] {
  return pattern.split(/[%_]/).filter((run) => run !== '');
}
