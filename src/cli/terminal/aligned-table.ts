import truncate from 'fast-string-truncated-width';
import { wrapAnsi } from 'fast-wrap-ansi';
import { parseKeepingDigits } from '../../core/json/json-numbers.ts';
import { escapeInvisible } from '../../text/compact-table.ts';
import { paint } from './terminal.ts';

const gap = '  ';
/** A column is cut to this width at least; a table that would need narrower ones is written as a list. */
const minWidth = 10;
/** On a narrower terminal, a table that does not fit is written as a list at once. */
const minTableWidth = 120;
/** Name of a column whose values people seldom read. */
const idColumn = /(?:^|_)(?:id|digest|ref|reference)$/;
/** Columns that say of runs which is better. */
const verdictColumn = /^(verdict|changes)$/;
const ellipsis = '…';

interface Column {
  cells: string[];
  width: number;
  isNumeric: boolean;
  isId: boolean;
}

/**
 * Aligns the tables in a text of a tool, whose cells have tabs between them, and fits them to the width of a terminal: ids are
 * cut first, then the widest other columns but the first. Where a table would still be too wide, and where the terminal has
 * less than 120 columns, each row becomes a list of its values, which cuts nothing. Values in JSON are written as words.
 */
export function alignTables(text: string, width: number): string {
  const drawn: string[] = [];
  let table: string[][] = [];
  const endTable = (): void => {
    if (table.length > 0) drawn.push(drawTable(table, width));
    table = [];
  };
  for (const line of text.split('\n')) {
    if (line.includes('\t')) table.push(line.split('\t'));
    else {
      endTable();
      drawn.push(line.replace(/(?<=: )(better|worse)(?=: [+-]\d)/, paintVerdict));
    }
  }
  endTable();
  return drawn.join('\n');
}

function drawTable(lines: readonly string[][], width: number): string {
  const [names, ...rows] = lines as [string[], ...string[][]];
  const columns = names.map((_, at) => columnOf(lines.map((cells) => cells[at] ?? '')));
  if (!narrowTo(columns, width)) {
    return rows
      .map((cells) =>
        drawRecord(
          names.map((name, at) => [name, inWords(cells[at] ?? '')]),
          width,
        ),
      )
      .join('\n\n');
  }
  const [head, ...body] = lines.map((_, row) =>
    columns
      .map((column) => paintVerdicts(column.cells[0]!, pad(cut(column.cells[row]!, column.width), column)))
      .join(gap)
      .trimEnd(),
  );
  return [paint('bold', head!), ...body].join('\n');
}

/** Draws lines of name and value. Long values are wrapped and keep their own lines; empty ones are left out. */
export function drawRecord(entries: readonly (readonly [name: string, value: unknown])[], width: number): string {
  const shown = entries.filter(([, value]) => value !== '').map(([name, value]) => [name, String(value)] as const);
  const nameWidth = Math.min(Math.max(0, ...shown.map(([name]) => widthOf(name))), Math.floor(width / 3));
  const valueWidth = Math.max(minWidth, width - nameWidth - gap.length);
  const indent = `\n${' '.repeat(nameWidth)}${gap}`;
  return shown
    .map(([name, value]) => {
      const lines = value
        .split('\n')
        .flatMap((line) => wrapAnsi(escapeInvisible(line), valueWidth, { hard: true }).split('\n'));
      const cutName = cut(name, nameWidth);
      const shownLines = paintVerdicts(name, lines.join(indent));
      return `${paint('bold', cutName)}${' '.repeat(nameWidth - widthOf(cutName))}${gap}${shownLines}`.trimEnd();
    })
    .join('\n');
}

/** Colors better and worse in the cells of a column as the page of results does. */
function paintVerdicts(column: string, text: string): string {
  return verdictColumn.test(column) ? text.replace(/\b(better|worse)\b/g, paintVerdict) : text;
}

function paintVerdict(verdict: string): string {
  return paint(verdict === 'better' ? 'green' : 'red', verdict);
}

/** Cuts a text to a width, with an ellipsis. */
export function cut(text: string, width: number): string {
  const { index, ellipsed, truncated } = truncate(text, { limit: width, ellipsis, ellipsisWidth: 1 });
  if (!truncated) return text;
  const end = ellipsed ? ellipsis : '';
  let kept = text.slice(0, index);
  // The package keeps one character too many after characters like an ellipsis.
  while (widthOf(kept + end) > width) kept = kept.replace(/.$/su, '');
  return kept + end;
}

/** Returns the number of columns that a text takes on a terminal. */
export function widthOf(text: string): number {
  return truncate(text).width;
}

function columnOf([name = '', ...values]: string[]): Column {
  const cells = [name, ...values.map((value) => escapeInvisible(inWords(value).replace(/\s+/g, ' ')))];
  const isNumeric = values.every((text) => /^(-?\d+(\.\d+)?)?$/.test(text));
  return { cells, width: Math.max(...cells.map(widthOf)), isNumeric, isId: idColumn.test(name) };
}

/** Returns the text of a cell for people: what is written in JSON as words. */
function inWords(text: string): string {
  if (!/^["[{]/.test(text)) return text;
  try {
    return wordsOf(parseKeepingDigits(text));
  } catch {
    return text;
  }
}

function wordsOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(wordsOf).join(', ');
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.entries(value)
    .map(([name, member]) => `${name}: ${wordsOf(member)}`)
    .join(', ');
}

/** Narrows columns until all fit. Returns false if they do not. */
function narrowTo(columns: Column[], width: number): boolean {
  const [first, ...others] = columns;
  const total = (limit: number): number =>
    others.reduce((sum, column) => sum + gap.length + Math.min(column.width, limit), first?.width ?? 0);
  if (total(width) > width && width < minTableWidth) return false;
  if (total(width) > width) {
    for (const column of columns) if (column.isId) column.width = Math.min(column.width, minWidth);
  }
  let limit = Math.max(minWidth, width);
  while (limit > minWidth && total(limit) > width) limit -= 1;
  if (total(limit) > width) return false;
  for (const column of others) column.width = Math.min(column.width, limit);
  return true;
}

function pad(text: string, { width, isNumeric }: Column): string {
  const space = ' '.repeat(width - widthOf(text));
  return isNumeric ? space + text : text + space;
}
