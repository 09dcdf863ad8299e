/** Maximum nesting of JSON that heddle reads; walking through deeper values could overflow the stack. */
export const maxNesting = 500;

/** Returns whether lists and objects of a parsed JSON value are nested deeper than `levels`. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (value === null || typeof value !== 'object') return false;
  return levels === 0 || Object.values(value).some((member) => isDeeperThan(member, levels - 1));
}
