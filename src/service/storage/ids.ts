import { randomInt } from 'node:crypto';

/**
 * Creates identifiers of 17 characters: the time in milliseconds, then 39 random bits, each in base 32. They sort by time
 * and within one call of this function, and cost an agent half the tokens of a UUID.
 */
export function newIds(count: number): string[] {
  const time = Date.now().toString(32).padStart(9, '0');
  // Counting up from 39 bits stays within 8 characters, which hold 40.
  const first = randomInt(2 ** 39);
  return Array.from({ length: count }, (_, index) => time + (first + index).toString(32).padStart(8, '0'));
}
