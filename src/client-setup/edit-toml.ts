import { parse, TomlError } from 'smol-toml';
import { HeddleError } from '../core/errors.ts';
import { type Edit, isLocal } from './edit-config.ts';

/**
 * The value of a TOML text.
 * @throws HeddleError `not_configured` that says where the text is malformed.
 */
export function parseToml(text: string): unknown {
  try {
    return JSON.parse(JSON.stringify(parse(text)));
  } catch (error) {
    const where = error instanceof TomlError ? ` in line ${error.line}` : '';
    const what = (error as Error).message.split('\n')[0]!.replace(/^Invalid TOML document: /, '');
    throw new HeddleError({
      code: 'not_configured',
      message: `The file is not valid TOML: ${what}${where}. It was left as it is.`,
      hint: 'Correct that line, then run the command again.',
      cause: error,
    });
  }
}

/**
 * Puts the table in, brings its members up to date, or takes it out, line by line: no library writes TOML and keeps the
 * comments. A file that writes its servers another way than as tables is recognised by whoever checks the outcome.
 */
export function editToml(text: string, edit: Edit & { existing: unknown }): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const lines = text === '' ? [] : text.split(/\r?\n/);
  const tables = tablesOf(lines);
  const isOurs = ({ path }: Table): boolean => path[0] === edit.servers && path[1] === edit.name;

  if (edit.entry === undefined || (edit.existing !== undefined && !isLocal(edit.existing))) {
    const gone = new Set(
      tables.flatMap((table, index) => {
        if (!isOurs(table)) return [];
        const next = tables[index + 1];
        return range(table.start, next && isOurs(next) ? table.end : contentEnd(lines, table.start, table.end));
      }),
    );
    const kept = lines.filter((_, index) => !gone.has(index));
    const first = tables.find(isOurs);
    // The empty lines that parted the table from what is around it are one too many.
    if (first && kept[first.start - 1] === '' && (kept[first.start] ?? '') === '') kept.splice(first.start - 1, 1);
    const without = kept.join(eol);
    return edit.entry === undefined ? without : editToml(without, { ...edit, existing: undefined });
  }
  const ours = tables.find((table) => isOurs(table) && table.path.length === 2);
  const members = Object.entries(edit.entry).map(([key, value]) => `${key} = ${literal(value)}`);
  if (!ours) {
    const lead = text.trim() === '' ? text.trimEnd() : `${text.replace(/(\r?\n)*$/, '')}${eol}${eol}`;
    const header = `[${edit.servers}.${/^[\w-]+$/.test(edit.name) ? edit.name : JSON.stringify(edit.name)}]`;
    return `${lead}${[header, ...members].join(eol)}${eol}`;
  }
  const old = membersOf(lines, ours).filter(({ key }) => key in edit.entry!);
  const gone = new Set(old.flatMap(({ start, end }) => range(start, end)));
  return lines
    .flatMap((line, index) => (index === ours.start ? [line, ...members] : gone.has(index) ? [] : [line]))
    .join(eol);
}

interface Table {
  path: string[];
  /** Line of the header, and the line behind the table. */
  start: number;
  end: number;
}

/** The tables of a text that is valid. A line that looks like a header may stand inside of a text or a list. */
function tablesOf(lines: string[]): Table[] {
  const tables: Table[] = [];
  let start = 0;
  for (const [index, line] of lines.entries()) {
    const path = headerPath(line);
    if (!path || !isWhole(lines.slice(start, index))) continue;
    const before = tables.at(-1);
    if (before) before.end = index;
    tables.push({ path, start: index, end: lines.length });
    start = index;
  }
  return tables;
}

/** The keys of a table header; undefined for any other line. */
function headerPath(line: string): string[] | undefined {
  if (!/^\s*\[/.test(line)) return undefined;
  try {
    let node: unknown = parse(line);
    const path: string[] = [];
    for (;;) {
      if (Array.isArray(node)) node = node[0];
      const [key] = Object.keys(node as object);
      if (key === undefined) return path;
      path.push(key);
      node = (node as Record<string, unknown>)[key];
    }
  } catch {
    return undefined;
  }
}

/** The members of a table itself, each with its lines; a value may span several. */
function membersOf(lines: string[], { start, end }: Table): { key: string; start: number; end: number }[] {
  const members: { key: string; start: number; end: number }[] = [];
  for (let index = start + 1; index < end; index += 1) {
    if (/^\s*(#|$)/.test(lines[index]!)) continue;
    let last = index + 1;
    while (last < end && !isWhole(lines.slice(index, last))) last += 1;
    const [key] = isWhole(lines.slice(index, last)) ? Object.keys(parse(lines.slice(index, last).join('\n'))) : [];
    if (key === undefined) continue;
    members.push({ key, start: index, end: last });
    index = last - 1;
  }
  return members;
}

/** Comments and empty lines at a table's end stand before the next one, and are about it. */
function contentEnd(lines: string[], start: number, end: number): number {
  let last = end;
  while (last > start + 1 && /^\s*(#.*)?$/.test(lines[last - 1]!)) last -= 1;
  return last;
}

function isWhole(lines: string[]): boolean {
  try {
    parse(lines.join('\n'));
    return true;
  } catch {
    return false;
  }
}

function range(start: number, end: number): number[] {
  return Array.from({ length: end - start }, (_, index) => start + index);
}

/** JSON's strings and lists of strings are TOML's as well. */
function literal(value: string | string[]): string {
  return Array.isArray(value) ? `[${value.map((one) => JSON.stringify(one)).join(', ')}]` : JSON.stringify(value);
}
