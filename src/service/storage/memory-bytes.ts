import { endOfString } from '../../core/json/parse-json.ts';

/** A text is read, parsed, and sent again, and its characters may take two bytes. */
const bytesPerChar = 4;
/** Measured with Node 20 to 24; most of it is the object or list itself, or the hidden class of an object with new names. */
const bytesPerGroup = 48;
const bytesPerMember = 32;
const bytesPerElement = 8;

/** Keeps the sum of two sizes within an integer column. */
const maxBytes = 1_000_000_000;

/**
 * Estimates the memory in bytes that a request needs to read JSON texts, with their values: `[{},{}]` takes twenty times as much
 * as its characters. A missing text takes none.
 */
export function memoryBytesOf(...texts: (string | null)[]): number {
  const bytes = texts.reduce((sum, text) => sum + (text === null ? 0 : bytesOf(text)), 0);
  return Math.min(bytes, maxBytes);
}

/** Returns the memory of rows together, in bytes. */
export function totalMemoryOf(rows: readonly { memory_bytes: number }[]): number {
  return rows.reduce((sum, { memory_bytes }) => sum + memory_bytes, 0);
}

const [quote, openList, openObject, colon, comma] = [...'"[{:,'].map((sign) => sign.charCodeAt(0));

function bytesOf(text: string): number {
  let bytes = text.length * bytesPerChar;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at);
    else if (code === openList || code === openObject) bytes += bytesPerGroup;
    else if (code === colon) bytes += bytesPerMember;
    else if (code === comma) bytes += bytesPerElement;
  }
  return bytes;
}
