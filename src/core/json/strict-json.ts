import { InexactNumberError, parseExactJson } from './json-numbers.ts';
import { JsonLimitError } from './parse-json.ts';

/** Marks, and strings as a whole. */
const tokens = /[{}[\],]|"(?:[^"\\]+|\\.)*"/g;

/**
 * Parses JSON that decides who may do what. JSON.parse would keep the last of two members with the same name, and copies of
 * an object lose a member `__proto__`; a reader of the file would expect otherwise.
 * @throws Error that names the repeated or forbidden member, or that the text is not JSON in UTF-8.
 */
export function parseStrictJson(bytes: Uint8Array): unknown {
  const text = decodeUtf8(bytes);
  const value = parse(text);
  /** The member names of the objects around the current token; undefined for a list. */
  const open: (Set<string> | undefined)[] = [];
  let previous = '';
  for (const [token] of text.matchAll(tokens)) {
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(undefined);
    else if (token === '}' || token === ']') open.pop();
    else if (token !== ',' && (previous === '{' || previous === ',')) addName(open.at(-1), JSON.parse(token) as string);
    previous = token;
  }
  return value;
}

/** @throws Error that quotes nothing of the text, which may contain a secret. */
function parse(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch (error) {
    if (error instanceof JsonLimitError) throw new Error(error.message);
    if (!(error instanceof InexactNumberError)) throw new Error('it is not JSON');
    const places = error.faults.map(({ loc }) => loc.join('.')).join(', ');
    throw new Error(`${places} cannot be kept exactly as a number: write it as a string`);
  }
}

function addName(names: Set<string> | undefined, name: string): void {
  if (names?.has(name)) throw new Error(`it has ${JSON.stringify(name)} twice`);
  if (names && name === '__proto__') throw new Error('it has a member "__proto__"');
  names?.add(name);
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error('it is not UTF-8 text');
  }
}
