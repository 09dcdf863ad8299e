import truncate from 'fast-string-truncated-width';
import { wrapAnsi } from 'fast-wrap-ansi';
import { escapeInvisible } from '../../text/table.ts';
import { paint } from './terminal.ts';

type Row = Record<string, unknown>;

export interface TableOptions {
  /** Number of columns of the terminal. */
  width: number;
  /** Names of the columns that come first; the others follow in the order in which rows have them. */
  order?: readonly string[];
  /** Names of columns that are never cut, since people copy them. */
  uncut?: readonly string[];
}

const gap = '  ';
/** A column is cut to this width at least; a table that would need narrower ones is written as a list. */
const minWidth = 10;
const ellipsis = '…';

interface Column {
  name: string;
  cells: string[];
  width: number;
  isCut: boolean;
  isNumeric: boolean;
}

/**
 * Draws rows as a table for people: a line of names, then one line for each row, cut to the width. Columns that are empty in
 * every row are left out. Where even cut columns do not fit, each row becomes a list of its values.
 */
export function drawTable(rows: readonly Row[], options: TableOptions): string {
  const columns = columnsOfRows(rows, options);
  if (!narrowTo(columns, options.width)) return rows.map((row) => drawRecord(row, options)).join('\n\n');
  const line = (textOf: (column: Column) => string): string =>
    columns
      .map((column) => pad(cut(textOf(column), column.width), column))
      .join(gap)
      .trimEnd();
  const head = line(({ name }) => name);
  return [paint('bold', head), ...rows.map((_, index) => line(({ cells }) => cells[index]!))].join('\n');
}

/** Draws the members of an object as lines of name and value. Long values are wrapped, and keep their own lines. */
export function drawRecord(record: Row, { width, order = [] }: TableOptions): string {
  const names = [...new Set([...order, ...Object.keys(record)])].filter((name) => isShown(record[name]));
  const nameWidth = Math.min(Math.max(0, ...names.map(widthOf)), Math.floor(width / 3));
  const valueWidth = Math.max(minWidth, width - nameWidth - gap.length);
  const indent = `\n${' '.repeat(nameWidth)}${gap}`;
  return names
    .map((name) => {
      const lines = linesOf(record[name], valueWidth);
      const shown = cut(escapeInvisible(name), nameWidth);
      return `${paint('bold', shown)}${' '.repeat(nameWidth - widthOf(shown))}${gap}${lines.join(indent)}`.trimEnd();
    })
    .join('\n');
}

/** Returns a value as one line without control characters, which could change the terminal. */
export function textOfValue(value: unknown): string {
  if (value === undefined || value === null) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return escapeInvisible(
    text
      .trim()
      .replaceAll(/\s*\r?\n\s*/g, ' ')
      .replaceAll('\t', ' '),
  );
}

/** Cuts a text to a width, with an ellipsis. */
export function cut(text: string, width: number): string {
  const { index, ellipsed, truncated } = truncate(text, { limit: width, ellipsis, ellipsisWidth: 1 });
  return truncated ? `${text.slice(0, index)}${ellipsed ? ellipsis : ''}` : text;
}

/** Returns the number of columns that a text takes on a terminal. */
export function widthOf(text: string): number {
  return truncate(text).width;
}

function columnsOfRows(rows: readonly Row[], { order = [], uncut = [] }: TableOptions): Column[] {
  const names = new Set([...order, ...rows.flatMap((row) => Object.keys(row))]);
  return [...names].flatMap((name) => {
    const values = rows.map((row) => row[name]);
    const shown = values.filter(isShown);
    if (shown.length === 0) return [];
    const cells = values.map(textOfValue);
    const column = { name: escapeInvisible(name), cells, isCut: !uncut.includes(name) };
    const width = Math.max(widthOf(column.name), ...cells.map(widthOf));
    return [{ ...column, width, isNumeric: shown.every((value) => typeof value === 'number') }];
  });
}

/** Narrows the widest columns until all fit. Returns false if they do not. */
function narrowTo(columns: Column[], width: number): boolean {
  const total = (limit: number): number =>
    columns.reduce((sum, column) => sum + (column.isCut ? Math.min(column.width, limit) : column.width), 0) +
    gap.length * (columns.length - 1);
  let limit = Math.max(minWidth, Math.min(width, Math.max(...columns.map((column) => column.width))));
  while (limit > minWidth && total(limit) > width) limit -= 1;
  if (total(limit) > width) return false;
  for (const column of columns) if (column.isCut) column.width = Math.min(column.width, limit);
  return true;
}

function pad(text: string, { width, isNumeric }: Column): string {
  const space = ' '.repeat(width - widthOf(text));
  return isNumeric ? space + text : text + space;
}

function linesOf(value: unknown, width: number): string[] {
  const text = typeof value === 'string' ? value.trim() : textOfValue(value);
  return text
    .split(/\r?\n/)
    .flatMap((line) => wrapAnsi(escapeInvisible(line.replaceAll('\t', ' ')), width, { hard: true }).split('\n'));
}

function isShown(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '' && !(Array.isArray(value) && value.length === 0);
}
