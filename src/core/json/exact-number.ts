import { isInexact } from './json-numbers.ts';
import { checkJsonLimits, endOfString, JsonLimitError, maxNodes, parseCheckedJson } from './parse-json.ts';

/** Begins each exact number while JSON is written. Nobody can know it, and no output has it. */
let mark: string | undefined;
let isWriting = false;
let hasWritten = false;

/**
 * A number as it stands in a JSON text, where JavaScript would write it otherwise: 1234567890123456789, 1.0, 1e-07.
 * {@link exactJson} writes its text; anything else takes it for the nearest number.
 */
export class ExactNumber {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** Returns whether JavaScript has a number with the same value. */
  get isSafe(): boolean {
    return !isInexact(this.#text);
  }

  toString(): string {
    return this.#text;
  }

  valueOf(): number {
    return Number(this.#text);
  }

  toJSON(): unknown {
    if (!isWriting) return this.valueOf();
    hasWritten = true;
    mark ??= crypto.randomUUID().replaceAll('-', '').slice(0, 12);
    return mark + this.#text;
  }
}

/** Returns a number that is written as Python writes a float: 2.0 instead of 2. */
export function floatNumber(value: number): number {
  // Where it is not written as JSON, it is the number.
  return Number.isInteger(value) && Math.abs(value) < 1e16
    ? (new ExactNumber(`${value}.0`) as unknown as number)
    : value;
}

/** Returns the nearest number for an exact number, and any other value as it is. */
export function plainNumber(value: unknown): unknown {
  return value instanceof ExactNumber ? value.valueOf() : value;
}

/** Returns a JSON value with the nearest number in the place of each exact number. */
export function withPlainNumbers(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

/** Writes a value as JSON.stringify does, but exact numbers as they are. */
export function exactJson(value: unknown, replacer?: (name: string, value: unknown) => unknown): string {
  return writeJson(value, replacer).json;
}

/** Writes a value as {@link exactJson} does, to be read by {@link parseStoredJson}. */
export function storedJson(value: unknown, replacer?: (name: string, value: unknown) => unknown): string {
  const { json, hasExactNumbers } = writeJson(value, replacer);
  // Only JSON that begins with a space has to be searched for exact numbers when it is read.
  return hasExactNumbers ? ` ${json}` : json;
}

function writeJson(value: unknown, replacer?: (name: string, value: unknown) => unknown) {
  isWriting = true;
  hasWritten = false;
  try {
    const json = JSON.stringify(value, replacer);
    if (!hasWritten) return { json, hasExactNumbers: false };
    return { json: json.replaceAll(new RegExp(`"${mark}([^"]*)"`, 'g'), '$1'), hasExactNumbers: true };
  } finally {
    isWriting = false;
  }
}

/**
 * Parses JSON that comes from outside and keeps every number as it is written.
 * @throws JsonLimitError as `parseJsonText` does, or for more than a million different exact numbers; SyntaxError for text that is not JSON.
 */
export function parseKeepingNumbers(json: string): unknown {
  const { hasUnusualNumber } = checkJsonLimits(json);
  const value = parseCheckedJson(json);
  return hasUnusualNumber ? keepNumbers(json, value) : value;
}

/** Parses JSON that {@link storedJson} has written. */
export function parseStoredJson(json: string): unknown {
  const value: unknown = JSON.parse(json);
  return json.startsWith(' ') ? keepNumbers(json, value) : value;
}

const [quote, openList, closeList, openObject, closeObject, colon, comma, minus] = [...'"[]{}:,-'].map((sign) =>
  sign.charCodeAt(0),
);

/** A list or an object on the way to a number, and the index or the name of its current entry. */
interface Step {
  container: unknown;
  name: number | string;
}

/** Replaces the numbers of a parsed JSON text that JavaScript would write otherwise. */
function keepNumbers(json: string, value: unknown): unknown {
  const whole = [value];
  const kept = new Map<string, ExactNumber>();
  const steps: Step[] = [];
  let step: Step = { container: whole, name: 0 };
  let text = '';
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === quote) {
      const end = endOfString(json, at);
      text = json.slice(at, end + 1);
      at = end;
    } else if (code === openObject || code === openList) {
      steps.push(step);
      step = { container: entryOf(step), name: code === openList ? 0 : '' };
    } else if (code === closeObject || code === closeList) step = steps.pop()!;
    else if (code === colon) step.name = text.includes('\\') ? JSON.parse(text) : text.slice(1, -1);
    else if (code === comma) {
      if (typeof step.name === 'number') step.name += 1;
    } else if (code === minus || (code >= 0x30 && code <= 0x39)) {
      const end = endOfNumber(json, at);
      const written = json.slice(at, end);
      const number = Number(written);
      // Of two members of the same name, the last one counts, which may have another value.
      if (String(number) !== written && Object.is(entryOf(step), number)) setEntry(step, exactNumber(written, kept));
      at = end - 1;
    }
  }
  return whole[0];
}

function exactNumber(written: string, kept: Map<string, ExactNumber>): ExactNumber {
  const known = kept.get(written);
  if (known) return known;
  if (kept.size === maxNodes) throw new JsonLimitError(`made of more than ${maxNodes} numbers of many digits`);
  const number = new ExactNumber(written);
  kept.set(written, number);
  return number;
}

function endOfNumber(json: string, start: number): number {
  let end = start + 1;
  // Digits, a point, an exponent and its sign.
  for (let code = json.charCodeAt(end); end < json.length; code = json.charCodeAt(end)) {
    const isPart = (code >= 0x30 && code <= 0x39) || code === 0x2e || code === 0x2b || code === 0x2d;
    if (!isPart && (code | 0x20) !== 0x65) break;
    end += 1;
  }
  return end;
}

function entryOf({ container, name }: Step): unknown {
  if (Array.isArray(container)) return container[Number(name)];
  return Object.getOwnPropertyDescriptor(Object(container), name)?.value;
}

function setEntry({ container, name }: Step, value: unknown): void {
  Object.defineProperty(container, name, { value, configurable: true, enumerable: true, writable: true });
}

/** Returns the exact number at a path of a value; undefined if there is none. */
export function exactNumberAt(value: unknown, path: readonly (string | number)[]): ExactNumber | undefined {
  const found = path.length === 0 ? undefined : valueAt(value, path);
  return found instanceof ExactNumber ? found : undefined;
}

function valueAt(value: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>((container, name) => entryOf({ container, name }), value);
}

/**
 * Replaces exact numbers at some paths of a value by the numbers that JavaScript has for them, for members that take a number.
 * @returns whether there was one to replace.
 */
export function replaceExactNumbers(value: unknown, paths: readonly (readonly (string | number)[])[]): boolean {
  let hasReplaced = false;
  for (const path of paths) {
    const found = exactNumberAt(value, path);
    if (!found?.isSafe) continue;
    setEntry({ container: valueAt(value, path.slice(0, -1)), name: path.at(-1)! }, found.valueOf());
    hasReplaced = true;
  }
  return hasReplaced;
}
