import { ExactNumber } from '../../core/json/exact-number.ts';

/**
 * Serialises JSON content in the form that the public service computes digests of: as Python writes it, in ASCII, with
 * sorted member names. Members that are undefined are left out.
 */
export function stableJson(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return asciiString(value);
    case 'number':
      return pythonNumber(value);
    case 'object':
      if (value === null) return 'null';
      if (value instanceof ExactNumber) return pythonText(value);
      if (Array.isArray(value)) return `[${value.map(stableJson).join(', ')}]`;
      return stableObject(value);
    default:
      return value === undefined ? 'null' : String(value);
  }
}

function stableObject(value: object): string {
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  members.sort(([a], [b]) => compareCodePoints(a, b));
  return `{${members.map(([name, member]) => `${asciiString(name)}: ${stableJson(member)}`).join(', ')}}`;
}

const beyondAscii = /[\u007f-\uffff]/;

function asciiString(text: string): string {
  const json = JSON.stringify(text);
  if (!beyondAscii.test(json)) return json;
  return json.replaceAll(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Python writes an exponent from 1e-5 downwards, JavaScript from 1e-7 downwards; Python's has at least two digits. */
function pythonNumber(value: number): string {
  const isSmall = value !== 0 && Math.abs(value) < 1e-4;
  return pythonExponent(isSmall ? value.toExponential() : String(value));
}

function pythonExponent(text: string): string {
  return text.replace(/e([+-])(\d)$/, 'e$10$2');
}

/** Returns a number of JSON as Python writes it again: an integer of any size, or a float. */
function pythonText(exact: ExactNumber): string {
  const text = exact.toString();
  if (/^-?\d+$/.test(text)) return text === '-0' ? '0' : text;
  const value = exact.valueOf();
  if (!Number.isFinite(value)) return String(value);
  if (!Number.isInteger(value)) return pythonNumber(value);
  if (Object.is(value, -0)) return '-0.0';
  return Math.abs(value) < 1e16 ? `${value}.0` : pythonExponent(value.toExponential());
}

const surrogate = /[\ud800-\udfff]/;

/** Compares strings by code points; JavaScript's own order differs where one has a character beyond U+FFFF. */
function compareCodePoints(a: string, b: string): number {
  if (surrogate.test(a) || surrogate.test(b)) return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return a < b ? -1 : 1;
}
