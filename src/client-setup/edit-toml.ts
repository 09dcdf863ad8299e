import { parse, TomlError } from 'smol-toml';
import { notConfigured, undefinedOnError } from '../core/errors.ts';
import { type Edit, isSameKind } from './entry.ts';

/**
 * Parses TOML.
 * @throws HeddleError `not_configured` naming the line that is malformed.
 */
export function parseToml(text: string): unknown {
  try {
    return JSON.parse(JSON.stringify(parse(text)));
  } catch (error) {
    const where = error instanceof TomlError ? ` in line ${error.line}` : '';
    const reason = (error as Error).message.split('\n')[0]!.replace(/^Invalid TOML document: /, '');
    throw notConfigured(
      `The file is not valid TOML: ${reason}${where}. It was not changed.`,
      'Fix that line, then run the command again.',
    );
  }
}

/**
 * Adds the entry as a table, updates its members or removes it, and keeps every comment. `existing` is its current value.
 * The caller must check the result, which is wrong for servers that are not written as tables and for unusual values.
 */
export function editToml(text: string, { servers, name, entry, existing }: Edit & { existing: unknown }): string {
  const lines = text.split(/(?<=\n)/);
  const tables = tablesOf(lines);
  const isInEntry = ([first, second]: string[] = []): boolean => first === servers && second === name;
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  // JSON's strings and lists of strings are valid TOML.
  const members = Object.entries(entry ?? {})
    .map(([key, value]) => `${key} = ${JSON.stringify(value).replaceAll('","', '", "')}${eol}`)
    .join('');

  const header = tables.findIndex((keys) => isInEntry(keys) && keys.length === 2);
  if (entry && isSameKind(existing, entry) && header >= 0) {
    const end = tables.lastIndexOf(tables[header]!) + 1;
    const oldMembers = new RegExp(`^[ \\t]*(${Object.keys(entry).join('|')})\\s*=\\s*(\\[[^\\]]*\\])?.*\\r?\\n?`, 'gm');
    const otherMembers = lines
      .slice(header + 1, end)
      .join('')
      .replaceAll(oldMembers, '');
    return [...lines.slice(0, header + 1), members, otherMembers, ...lines.slice(end)].join('');
  }
  const others = lines
    // Empty lines separate the entry from the tables on both sides; one side is enough.
    .filter((line, index) => !isInEntry(tables[index]) && !(line.trim() === '' && isInEntry(tables[index + 1])))
    .join('');
  if (entry === undefined) return others;
  const before = others.trim() === '' ? '' : `${others.replace(/(?<![\r\n])[\r\n]+$/, '')}${eol}${eol}`;
  const key = /^[\w-]+$/.test(name) ? name : JSON.stringify(name);
  return `${before}[${servers}.${key}]${eol}${members}`;
}

/** Returns the keys of the table that each line is in. Comments and empty lines in front of a header are in none. */
function tablesOf(lines: string[]): string[][] {
  let table: string[] = [];
  const tables = lines.map((line) => {
    if (/^\s*\[/.test(line)) table = keysOf(line);
    return table;
  });
  for (let index = lines.length - 1; index >= 0; index -= 1) {
    if (/^\s*(#|$)/.test(lines[index]!) && tables[index] !== tables[index + 1]) tables[index] = [];
  }
  return tables;
}

/** Returns the keys in a header. A line of another kind, such as one of a list or a long string, has none. */
function keysOf(header: string): string[] {
  const keysIn = (table: object): string[] => Object.entries(table).flatMap(([key, value]) => [key, ...keysIn(value)]);
  return undefinedOnError(() => keysIn(parse(header))) ?? [];
}
