import { ownMember } from '../core/json/member-at.ts';

type Row = Record<string, unknown>;

interface Column {
  name: string;
  cells: string[];
}

/** Maximum number of cells in a table. Rows that have few members in common are shorter as lines of JSON. */
const maxCells = 500_000;

/**
 * Formats rows as a table that costs few tokens: one line per row, with tabs between cells. A column with the same value
 * in every row, or equal to another column, is stated once above the table. No member of any row is lost.
 * `columnOrder` names the columns that come first; columns that no row has are skipped. `common` has members that all rows
 * share and that they lack.
 */
export function compactTable(rows: readonly Row[], columnOrder: readonly string[], common: Row = {}): string {
  const present = new Set(Object.keys(common));
  for (const row of rows) for (const name of Object.keys(row)) present.add(name);
  const names = new Set([...columnOrder.filter((name) => present.has(name)), ...present]);
  if (rows.length * names.size > maxCells) return rows.map((row) => cell({ ...common, ...row })).join('\n');
  const constants: string[] = [];
  const equals: string[] = [];
  const columns: Column[] = [];
  const columnsByCells = new Map<string, Column>();
  for (const name of names) {
    if (Object.hasOwn(common, name)) {
      constants.push(memberPair(name, ownMember(common, name)));
      continue;
    }
    const cells = rows.map((row) => cell(ownMember(row, name)));
    if (rows.length > 1 && cells.every((text) => text === cells[0])) {
      constants.push(pair(cell(name), cells[0]!));
      continue;
    }
    // No cell has a tab in it.
    const key = cells.join('\t');
    const twin = columnsByCells.get(key);
    if (rows.length > 1 && twin) equals.push(pair(cell(name), cell(twin.name)));
    else {
      const column = { name, cells };
      columns.push(column);
      columnsByCells.set(key, twin ?? column);
    }
  }
  return [
    ...(constants.length > 0 ? [`same in every row: ${constants.join(' ')}`] : []),
    ...(equals.length > 0 ? [`columns equal to another: ${equals.join(' ')}`] : []),
    columns.map(({ name }) => cell(name)).join('\t'),
    ...rows.map((_, row) => columns.map(({ cells }) => cells[row]).join('\t')),
  ].join('\n');
}

/** Joins a name and a value with `=`, so that pairs can follow one another, with spaces or semicolons between them. */
export function memberPair(name: string, value: unknown): string {
  return pair(cell(name), cell(value));
}

/** Joins two cells with `=`, quoting whichever could be read as more than one pair. */
function pair(name: string, value: string): string {
  const quoted = (text: string): string =>
    /^["[{]/.test(text) || !/[\s=";]/.test(text) ? text : escapeInvisible(JSON.stringify(text));
  return `${quoted(name)}=${quoted(value)}`;
}

/**
 * Characters that a reader does not see, in which text can hide or alter its surroundings. The variation selector that
 * turns a single sign into an emoji is harmless.
 */
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u{2800}]|(?!\u{fe0f}(?!\p{DI}))\p{DI}/gu;

/** Most texts. None has a character that {@link invisible} finds. */
const visibleAscii = /^[ -~]*$/;

/** Text that reads as JSON: a string, list, object, literal or number. */
const looksLikeJson = /^(["[{]|null$|true$|false$|-?\d+(\.\d+)?([eE][+-]?\d+)?$)/;

/**
 * Formats a value as one line. A string that is empty, looks like JSON, or has spaces around it, tabs, line ends, escape
 * sequences or invisible characters becomes a JSON string. A missing member is an empty cell.
 */
export function cell(value: unknown): string {
  if (value === undefined) return '';
  if (typeof value !== 'string') return escapeInvisible(JSON.stringify(value));
  // Timestamps of the service mostly end in zero milliseconds, which cost tokens and say nothing.
  const hasZeros = value.length === 24 && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$/.test(value);
  const text = hasZeros ? value.replace('.000Z', 'Z') : value;
  const isVisible = visibleAscii.test(text) || text.search(invisible) === -1;
  const isPlain = isVisible && text !== '' && text === text.trim() && !looksLikeJson.test(text);
  return isPlain ? text : escapeInvisible(JSON.stringify(text));
}

/** Escapes invisible characters as `\uXXXX`: controls, bidirectional marks, tags, line separators, lone surrogates. */
export function escapeInvisible(text: string): string {
  return text.replace(invisible, (character) => {
    const units = character.length === 1 ? [character] : [character[0]!, character[1]!];
    return units.map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
  });
}
