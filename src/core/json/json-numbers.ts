import type { ErrorDetail } from '../errors.ts';
import { checkJsonLimits, endOfString, parseCheckedJson, type StringSearch, scanJson } from './parse-json.ts';

/*
 * JSON.parse rounds a large integer to the nearest number it can hold, and reads 1e999 as Infinity, which becomes null
 * when it is written again. Rounding a fraction to 17 digits is what every reader of JSON does and not a change here.
 */

const maxFaults = 20;
const maxShownChars = 40;
const maxShownName = 100;

/** The error of {@link parseExactJson} for numbers that JSON.parse changes. */
export class InexactNumberError extends SyntaxError {
  /** The value with the changed numbers. */
  readonly value: unknown;
  /** One fault per number, with the path to it as `loc`, of the first 20. */
  readonly faults: ErrorDetail[];

  constructor(value: unknown, faults: ErrorDetail[]) {
    const [{ loc, msg } = { loc: [], msg: '' }] = faults;
    super([loc.join('.'), msg].filter(Boolean).join(': '));
    this.value = value;
    this.faults = faults;
  }
}

/**
 * Parses JSON that heddle is going to store or to send on.
 * @throws InexactNumberError for numbers that would change; else as `parseJsonText` does.
 */
export function parseExactJson(json: string): unknown {
  const { hasLargeNumber } = checkJsonLimits(json);
  const value = parseCheckedJson(json);
  const faults = hasLargeNumber ? inexactNumbers(json) : [];
  if (faults.length > 0) throw new InexactNumberError(value, faults);
  return value;
}

function inexactNumbers(json: string): ErrorDetail[] {
  const faults: ErrorDetail[] = [];
  for (const { start, end, path } of searchNumbers(json)) {
    const cut = end - start > maxShownChars ? '…' : '';
    const msg = `${json.slice(start, Math.min(end, start + maxShownChars))}${cut} cannot be kept exactly as a number: write it as a string`;
    const loc = path().map((step) => (typeof step === 'string' ? step.slice(0, maxShownName).toWellFormed() : step));
    faults.push({ loc, msg, type: 'value_error' });
    if (faults.length === maxFaults) break;
  }
  return faults;
}

/**
 * Parses JSON from outside: a number whose value JSON.parse would change becomes a string of its digits.
 * @param search looks through the strings of the text, and in the end through each number that became one.
 * @throws as `parseJsonText` does.
 */
export function parseKeepingDigits(json: string, search?: StringSearch): unknown {
  const { hasLargeNumber } = checkJsonLimits(json, search);
  const value = parseCheckedJson(json);
  if (!hasLargeNumber) return value;
  // Joined at the end: a text that grows by small pieces takes several times as long.
  const quoted: string[] = [];
  let copied = 0;
  for (const { start, end } of searchNumbers(json)) {
    quoted.push(json.slice(copied, start), json.slice(start, end));
    copied = end;
  }
  if (copied === 0) return value;
  quoted.push(json.slice(copied));
  const text = quoted.join('"');
  if (search) scanJson(text, search);
  return parseCheckedJson(text);
}

interface NumberPosition {
  start: number;
  end: number;
  path: () => (string | number)[];
}

/** Yields the numbers of a valid JSON text whose values JSON.parse changes. It takes several times as long as to parse the text. */
function* searchNumbers(json: string): Generator<NumberPosition> {
  const number = /-?\d[\d.eE+-]*/y;
  // Of each list that is open the index, of each object the last name as JSON.
  const place: (string | number)[] = [];
  const path = () => place.map((step) => (typeof step === 'string' ? (JSON.parse(step) as string) : step));
  let text = '';
  for (let at = 0; at < json.length; at += 1) {
    const character = json[at]!;
    if (character === '"') {
      const end = endOfString(json, at);
      text = json.slice(at, end + 1);
      at = end;
    } else if (character === '{') place.push('""');
    else if (character === '[') place.push(0);
    else if (character === '}' || character === ']') place.pop();
    else if (character === ':') place[place.length - 1] = text;
    else if (character === ',') {
      const last = place.at(-1);
      if (typeof last === 'number') place[place.length - 1] = last + 1;
    } else if (character === '-' || (character >= '0' && character <= '9')) {
      number.lastIndex = at;
      const [written] = number.exec(json)!;
      if (isInexact(written)) yield { start: at, end: at + written.length, path };
      at += written.length - 1;
    }
  }
}

/** Returns whether JSON.parse changes the value of a number. Compares an integer with the digits that JavaScript writes for it, which may be exact beyond 2^53 too. */
export function isInexact(written: string): boolean {
  const value = Number(written);
  if (!Number.isFinite(value)) return true;
  if (Number.isSafeInteger(value) || !/^-?\d+$/.test(written)) return false;
  const shown = String(value);
  // A number below 10^21 is written without an exponent. BigInt would take most of the time for a long list of them.
  if (!shown.includes('e')) return shown !== written;
  const [mantissa = '', exponent = '0'] = shown.split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return BigInt(whole + fraction) * 10n ** BigInt(Number(exponent) - fraction.length) !== BigInt(written);
}
