import { randomBytes } from 'node:crypto';

const digits = '0123456789abcdefghjkmnpqrstvwxyz';
const timeLength = 9;
const randomLength = 8;

/**
 * Identifiers of 17 characters: the time in milliseconds, then 40 random bits. They sort by time, cost an agent half the
 * tokens of a UUID, and those made in one run of this function keep their order within a millisecond too.
 */
export function newIds(count: number): string[] {
  const time = inDigits(BigInt(Date.now()), timeLength);
  // Room above the start, so that counting up never runs over.
  let serial = BigInt(`0x${randomBytes(5).toString('hex')}`) >> 1n;
  return Array.from({ length: count }, () => time + inDigits(serial++, randomLength));
}

function inDigits(value: bigint, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest >>= 5n) text = digits[Number(rest & 31n)] + text;
  return text;
}
