import truncate from 'fast-string-truncated-width';
import { wrapAnsi } from 'fast-wrap-ansi';
import { undefinedOnError } from '../../core/errors.ts';
import { parseKeepingDigits } from '../../core/json/json-numbers.ts';
import { isJsonObject } from '../../core/json/json-object.ts';
import { toSeconds } from '../../core/timestamps.ts';
import { escapeInvisible } from '../../text/compact-table.ts';
import { paint } from './terminal.ts';

const gap = '  ';
/** A name is wrapped at this width at least, and an id keeps as many characters. */
const minWidth = 10;
/** A value is cut to this width at least; a table that would need narrower ones is written as a list. */
const minValueWidth = 20;
/** On a narrower terminal, a table that does not fit is written as a list at once. */
export const minTableWidth = 120;
/** Name of a column whose values people seldom read. */
const idColumn = /(?:^|_)(?:id|digest|ref|reference)$/;
/** Name of a column whose values are times of the service. */
const timeColumn = /(?:^|_)at$/;
/** Lines above a table: with values that all its rows have, and one that only a model needs. */
const pairsLine = /^same in every row: /;
const equalsLine = /^columns equal to another: /;
/** A column that says nothing to people. */
const versionColumn = 'guidelines_version';
/**
 * Each matches one part of a line of pairs: a name or a separator, a value other than a list or object, and a part of a list or object.
 * A string that is not closed goes on to the end, so that nothing is searched twice.
 */
const name = /"(?:[^"\\]|\\.?)*(?:"|$)|[^\s=";]+|[\s;=]/sy;
const plainValue = /"(?:[^"\\]|\\.?)*(?:"|$)|[^\s;]*/sy;
const jsonPart = /"(?:[^"\\]|\\.?)*(?:"|$)|[{}[\]]|[^"{}[\]]+/sy;
/** Columns that say of runs which is better. */
const verdictColumn = /^(verdict|changes)$/;
/** Columns that say what people and scorers found, and what they may choose: their values are never cut. */
const wholeColumn = /^(score .+|scorer|result|run \d+|verdict|changes|judgements|gold|fields)$/;
/** Columns whose values lack the beginning that they share, which the tool has cut. */
const shortenedColumn = /^output of run \d+$/;
/** The words that tools write before the choices of a field, which follow as a list in JSON. */
const beforeChoices = '(one of ';
const ellipsis = '…';
const cutNote = 'Values with … are cut; --json shows them whole.';

interface Column {
  /** The name and the values, those of a cut id without its beginning. */
  cells: string[];
  width: number;
  /** Width to which it may be narrowed. */
  least: number;
  isNumeric: boolean;
  isId: boolean;
}

/**
 * Aligns the tables in a text of a tool, whose cells have tabs between them, and fits them to the width of a terminal: ids are
 * cut first, as far as they stay different, then long names are wrapped and the widest other columns cut, but the first and those
 * with scores, judgements and choices; the last line says that something was cut. Where a table would still be too wide, and where
 * the terminal has less than 120 columns, each row becomes a list of its values, which cuts nothing. JSON is written as words, and times to the second.
 */
export function alignTables(text: string, width: number): string {
  const drawn: string[] = [];
  let table: string[][] = [];
  let isCut = false;
  const endTable = (): void => {
    if (table.length > 0) {
      const version = table[0]!.indexOf(versionColumn);
      const result = drawTable(version < 0 ? table : table.map((cells) => cells.toSpliced(version, 1)), width);
      drawn.push(result.text);
      isCut ||= result.isCut;
    }
    table = [];
  };
  for (const line of text.split('\n')) {
    const cells = line.split('\t');
    const [names] = table;
    if (names && names.length !== cells.length) {
      endTable();
      // Nothing else separates two tables of a tool.
      if (cells.length > 1) drawn.push('');
    }
    if (cells.length > 1) table.push(cells);
    else if (!equalsLine.test(line))
      drawn.push(
        drawLine(choicesInWords(headingForPeople(line)), width).replace(
          /(?<=: )(better|worse)(?=: [+-]\d)/,
          paintVerdict,
        ),
      );
  }
  endTable();
  if (isCut) drawn.push(cutNote);
  return drawn.join('\n');
}

/** Returns the heading of a page without what only programs need: a page from the beginning is all there is unless more follow. */
export function headingForPeople(line: string): string {
  const from = /^(\d+ \w+(?: of \d+)?|No \w+) (?:from|at) offset (\d+)/;
  if (!from.test(line)) return line;
  return line
    .replace(
      from,
      (_, counted: string, offset: string) => counted + (offset === '0' ? '' : ` after the first ${offset}`),
    )
    .replace(/ This is the last page\.$/, '')
    .replace(/ More follow: next_offset (\d+)\.$/, ' More follow with "offset":$1.');
}

/** Draws a line outside of tables: an object in JSON as a list of its members, and the pairs of a table as words. */
function drawLine(line: string, width: number): string {
  if (pairsLine.test(line)) {
    const pairs = line.replace(pairsLine, 'For all of them: ').replace(/ guidelines_version=\S+/, '');
    return escapeInvisible(pairsInWords(pairs).replace(/\s+/g, ' '));
  }
  const value = line.startsWith('{') ? parsed(line) : undefined;
  if (!isJsonObject(value)) return line;
  // Of members that were asked for, null is an answer; a whole call has many that say nothing.
  const isCall = Object.hasOwn(value, 'trace_id');
  const members = Object.entries(value).filter(([, member]) => !(isCall && member === null));
  return drawRecord(
    members.map(([name, member]) => [name, wordsOf(member)]),
    width,
  );
}

function drawTable(lines: readonly string[][], width: number): { text: string; isCut: boolean } {
  const [names, ...rows] = lines as [string[], ...string[][]];
  const columns = names.map((_, at) => columnOf(lines.map((cells) => cells[at] ?? '')));
  const whole = columns.map(({ cells }) => cells);
  const isShortened = names.some(
    (name, at) => shortenedColumn.test(name) && rows.every((cells) => cells[at]?.includes(ellipsis)),
  );
  if (!narrowTo(columns, width)) {
    const records = rows.map((cells) =>
      drawRecord(
        names.map((name, at) => [name, readable(name, cells[at] ?? '')]),
        width,
      ),
    );
    return { text: records.join('\n\n'), isCut: isShortened };
  }
  const shown = columns.map((column) => column.cells.map((text) => cut(text, column.width)));
  const body = rows.map((_, row) =>
    columns
      .map((column, at) => paintVerdicts(names[at]!, pad(shown[at]![row + 1]!, column)))
      .join(gap)
      .trimEnd(),
  );
  const heads = columns.map(({ cells: [name = ''], width: nameWidth }) => wrap(name, nameWidth));
  const head = Array.from({ length: Math.max(...heads.map(({ length }) => length)) }, (_, row) =>
    columns.map((column, at) => pad(heads[at]![row] ?? '', column)).join(gap),
  );
  const isCut = shown.some((cells, at) => cells.some((text, row) => row > 0 && text !== whole[at]![row]));
  return {
    text: [...head.map((line) => paint('bold', line.trimEnd())), ...body].join('\n'),
    isCut: isCut || isShortened,
  };
}

/** Draws lines of name and value. Long values are wrapped and keep their own lines; empty ones are left out. */
export function drawRecord(entries: readonly (readonly [name: string, value: unknown])[], width: number): string {
  const shown = entries
    .filter(([, value]) => value !== '')
    .map(([name, value]) => [escapeInvisible(name), String(value)] as const);
  const nameWidth = Math.min(Math.max(0, ...shown.map(([name]) => widthOf(name))), Math.floor(width / 3));
  const valueWidth = Math.max(minWidth, width - nameWidth - gap.length);
  return shown
    .flatMap(([name, value]) => {
      const lines = value
        .split('\n')
        .flatMap((line) => wrap(escapeInvisible(line.replaceAll('\t', gap)), valueWidth))
        .map((line) => paintVerdicts(name, line));
      const names = wrap(name, nameWidth);
      return Array.from({ length: Math.max(names.length, lines.length) }, (_, row) => {
        const part = names[row] ?? '';
        const space = ' '.repeat(nameWidth - widthOf(part));
        return `${part && paint('bold', part)}${space}${gap}${lines[row] ?? ''}`.trimEnd();
      });
    })
    .join('\n');
}

function wrap(text: string, width: number): string[] {
  return wrapAnsi(text, width, { hard: true }).split('\n');
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
  const cells = [name, ...values.map((value) => escapeInvisible(readable(name, value).replace(/\s+/g, ' ')))];
  const isNumeric = values.every((text) => /^(-?\d+(\.\d+)?)?$/.test(text));
  const valueWidth = Math.max(0, ...cells.slice(1).map(widthOf));
  return {
    cells,
    width: Math.max(widthOf(name), valueWidth),
    least: wholeColumn.test(name) ? valueWidth : Math.min(valueWidth, minValueWidth),
    isNumeric,
    isId: idColumn.test(name),
  };
}

/** Returns the text of a cell for people: a time to the second, and what is written in JSON as words. */
function readable(name: string, text: string): string {
  if (timeColumn.test(name)) return toSeconds(text);
  if (name === 'judgements') return pairsInWords(text);
  if (!/^["[{]/.test(text)) return choicesInWords(text);
  const value = parsed(text);
  return value === undefined ? text : wordsOf(value);
}

/** Returns pairs of name and value, which a tool quotes like JSON, as words with commas between them. */
function pairsInWords(text: string): string {
  let words = '';
  for (let at = 0; at < text.length; ) {
    const afterName = endOf(name, text, at);
    const part = text.slice(at, afterName);
    const isPair = text[afterName] === '=' && /[^\s;=]/.test(part[0]!);
    words += isPair ? readable('', part) : part;
    at = afterName;
    if (!isPair) continue;
    const end = /[{[]/.test(text[at + 1] ?? '') ? endOfJson(text, at + 1) : endOf(plainValue, text, at + 1);
    words += `=${readable('', text.slice(at + 1, end))}`;
    at = end;
    if (text[at] === ' ' && /\S/.test(text[at + 1] ?? '')) words += ',';
  }
  return words;
}

/** Returns a text with the choices of its fields as `--field` takes them. */
function choicesInWords(text: string): string {
  const [before, ...parts] = text.split(`${beforeChoices}[`);
  return parts.reduce((words, part) => {
    const list = `[${part}`;
    const end = endOfJson(list, 0);
    const choices = parsed(list.slice(0, end));
    return Array.isArray(choices)
      ? `${words}(${escapeInvisible(choices.join('|'))}${list.slice(end)}`
      : `${words}${beforeChoices}${list}`;
  }, before!);
}

/** Returns the place after what a sticky expression finds at a place of a text. */
function endOf(expression: RegExp, text: string, at: number): number {
  expression.lastIndex = at;
  return at + (expression.exec(text)?.[0].length ?? 0);
}

/** Returns the place after the list or object in JSON that begins at a place of a text; the end of the text if it is not closed. */
function endOfJson(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; ) {
    const end = endOf(jsonPart, text, at);
    if (/[{[]/.test(text[at]!)) depth += 1;
    if (/[}\]]/.test(text[at]!)) depth -= 1;
    at = end;
    if (depth === 0) return at;
  }
  return text.length;
}

function parsed(json: string): unknown {
  return undefinedOnError(() => parseKeepingDigits(json));
}

function wordsOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(wordsOf).join(value.some(isJsonObject) ? '\n' : ', ');
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.entries(value)
    .map(([name, member]) => `${name}: ${wordsOf(member)}`)
    .join(', ');
}

/** Narrows columns until all fit. Returns false if they do not. */
function narrowTo(columns: Column[], width: number): boolean {
  const limited = columns.slice(1).filter(({ isId }) => !isId);
  const total = (limit: number): number =>
    columns.reduce(
      (sum, column) => sum + gap.length + (limited.includes(column) ? narrowed(column, limit) : column.width),
      -gap.length,
    );
  if (total(width) > width && width < minTableWidth) return false;
  const ids = total(width) > width ? columns.filter(({ isId }) => isId) : [];
  const wholeIds = ids.map((column) => ({ ...column }));
  ids.forEach(cutIds);
  let limit = Math.max(minWidth, width);
  while (limit > minWidth && total(limit) > width) limit -= 1;
  if (total(limit) > width) return false;
  for (const column of limited) column.width = narrowed(column, limit);
  for (const [at, column] of ids.entries()) {
    const wholeId = wholeIds[at]!;
    if (total(limit) - column.width + wholeId.width <= width) Object.assign(column, wholeId);
  }
  return true;
}

function narrowed({ width, least }: Column, limit: number): number {
  return Math.min(width, Math.max(limit, least));
}

/** Cuts the beginning of ids, which those of a table often share, as far as their ends differ. */
function cutIds(column: Column): void {
  const [name = '', ...ids] = column.cells;
  const count = new Set(ids).size;
  let chars = minWidth - ellipsis.length;
  while (new Set(ids.map((id) => id.slice(-chars))).size < count) chars += 1;
  const short = ids.map((id) => (id.length > chars + 1 ? `${ellipsis}${id.slice(-chars).toWellFormed()}` : id));
  column.cells = [name, ...short];
  column.width = Math.min(column.width, Math.max(minWidth, ...short.map(widthOf)));
}

function pad(text: string, { width, isNumeric }: Column): string {
  const space = ' '.repeat(width - widthOf(text));
  return isNumeric ? space + text : text + space;
}
