import { parse, TomlError } from 'smol-toml';
import { HeddleError } from '../core/errors.ts';
import { type Edit, isLocalEntry } from './entry.ts';

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
    throw new HeddleError({
      code: 'not_configured',
      message: `The file is not valid TOML: ${reason}${where}. It was not changed.`,
      hint: 'Fix that line, then run the command again.',
      cause: error,
    });
  }
}

/**
 * Adds the entry as a table, updates its members or removes it, and keeps every comment. `existing` is its current value.
 * The caller must check the result, which is wrong for servers that are not written as tables.
 */
export function editToml(text: string, { existing, ...edit }: Edit & { existing: unknown }): string {
  if (edit.entry === undefined) return removeTables(text, edit);
  const keptText = existing === undefined || isLocalEntry(existing) ? text : removeTables(text, edit);
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  // JSON's strings and lists of strings are valid TOML.
  const members = Object.entries(edit.entry).map(
    ([key, value]) => `${key} = ${JSON.stringify(value).replaceAll('","', '", "')}`,
  );
  const statements = statementsOf(keptText);
  const header = statements.find(({ isHeader, table }) => isHeader && table.length === 2 && isInEntry(table, edit));
  if (!header) {
    const before = keptText.trim() === '' ? '' : `${keptText.replace(/(\r?\n)*$/, '')}${eol}${eol}`;
    const name = /^[\w-]+$/.test(edit.name) ? edit.name : JSON.stringify(edit.name);
    return `${before}${[`[${edit.servers}.${name}]`, ...members].join(eol)}${eol}`;
  }
  // Statements keep the carriage returns of Windows.
  const memberLines = members.map((member) => member + eol.slice(0, -1));
  return statements
    .filter(({ isHeader, table, keys }) => isHeader || table !== header.table || !(keys[0]! in edit.entry!))
    .flatMap((statement) => (statement === header ? [statement.text, ...memberLines] : [statement.text]))
    .join('\n');
}

/** Removes the table of an entry and the tables inside it, but not the comments in front of the next table. */
function removeTables(text: string, edit: Edit): string {
  const statements = statementsOf(text);
  const isRemoved = ({ table }: Statement, index: number): boolean => {
    const next = statements.slice(index).find(({ keys }) => keys.length > 0);
    return isInEntry(table, edit) && next !== undefined && isInEntry(next.table, edit);
  };
  const first = statements.findIndex(isRemoved);
  const lines = statements
    .filter((statement, index) => !isRemoved(statement, index))
    .map((statement) => statement.text);
  // Empty lines separated the table from its neighbours on both sides; one side is enough.
  if (first > 0 && lines[first - 1]!.trim() === '' && (lines[first] ?? '').trim() === '') lines.splice(first - 1, 1);
  return lines.join('\n');
}

function isInEntry([servers, name]: string[], edit: Edit): boolean {
  return servers === edit.servers && name === edit.name;
}

/** A table header, a member, a comment or an empty line. */
interface Statement {
  /** One line, or several if the value of a member spans them. */
  text: string;
  isHeader: boolean;
  /** Keys of a header or a member; empty for comments. */
  keys: string[];
  /** Keys of the table that the statement belongs to. */
  table: string[];
}

/** Splits valid TOML into statements: a line is the first of a statement, or continues one that does not parse yet. */
function statementsOf(text: string): Statement[] {
  const statements: Statement[] = [];
  let table: string[] = [];
  let pending = '';
  for (const line of text.split('\n')) {
    pending += pending === '' ? line : `\n${line}`;
    const keys = keysOf(pending);
    if (!keys) continue;
    const isHeader = /^\s*\[/.test(pending);
    if (isHeader) table = keys;
    statements.push({ text: pending, isHeader, keys, table });
    pending = '';
  }
  return statements;
}

/** Returns the keys of one statement, or undefined if its value continues on the next line. */
function keysOf(statement: string): string[] | undefined {
  try {
    return keyPath(parse(`${statement}\n`));
  } catch {
    return undefined;
  }
}

function keyPath(value: unknown): string[] {
  const inner: unknown = Array.isArray(value) ? value[0] : value;
  const [member] = typeof inner === 'object' && inner !== null ? Object.entries(inner) : [];
  return member ? [member[0], ...keyPath(member[1])] : [];
}
