import { randomBytes } from 'node:crypto';

const digits = '0123456789abcdefghjkmnpqrstvwxyz';
const timeLength = 9;
const randomLength = 8;

/**
 * Creates identifiers of 17 characters: the time in milliseconds, then 40 random bits. They sort by time and within one
 * call of this function, and cost an agent half the tokens of a UUID.
 */
export function newIds(count: number): string[] {
  const time = toBase32(BigInt(Date.now()), timeLength);
  // Clears the top bit so that counting up cannot overflow.
  let serial = BigInt(`0x${randomBytes(5).toString('hex')}`) >> 1n;
  return Array.from({ length: count }, () => time + toBase32(serial++, randomLength));
}

function toBase32(value: bigint, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest >>= 5n) text = digits[Number(rest & 31n)] + text;
  return text;
}
