import { Readable } from 'node:stream';
import { parse } from 'csv-parse';
import { type HeddleError, undefinedOnError } from '../../../core/errors.ts';
import { exactJson, parseKeepingNumbers } from '../../../core/json/exact-number.ts';
import { InexactNumberError, parseExactJson } from '../../../core/json/json-numbers.ts';
import { isJsonObject, type Members } from '../../../core/json/json-object.ts';
import { memberAt } from '../../../core/json/member-at.ts';
import { JsonLimitError } from '../../../core/json/parse-json.ts';
import { cutValue, pathSegments } from '../../../text/call-values.ts';
import { inputError, maxLineBytes, readText, splitLines, unreadableFile } from '../../access/text-file.ts';
import { invocation } from '../../invocation.ts';

export const importFormats = ['csv', 'jsonl'] as const;
export type ImportFormat = (typeof importFormats)[number];

export interface FileRow {
  /** Number of the line, or of the entry of a JSON array; from 1. */
  line: number;
  /** The row, or the text of a line that is not a JSON object. */
  value: Members | string;
  /** True if the values are the text of cells. */
  isCells?: boolean;
  /** The object around the rows, if the file is one. */
  around?: Members;
}

export interface RowOptions {
  /** Form of the file; found out by default. */
  format?: ImportFormat | undefined;
  /** Path to the rows in a file that is one JSON object. */
  rowsAt?: string | undefined;
  /** Returns whether an object is a row that a tool is known to write. */
  isKnownRow: (row: Members) => boolean;
}

/** Text that is read before the form of a file is decided, in characters. */
const headChars = 64 * 1024;
/** Maximum size of a file that is one JSON object, in characters; other files are read row by row. */
const maxDocumentChars = 256 * 1024 * 1024;

/**
 * Reads the rows of a file with CSV, lines of JSON, a JSON array, or one JSON object with the rows inside.
 * @throws HeddleError `invalid_arguments` for a file that cannot be read, is empty, or whose rows cannot be found.
 */
export async function* readRows(file: string, options: RowOptions): AsyncGenerator<FileRow> {
  const { head, text } = await readHead(readText(file));
  const start = head.trimStart();
  if (start === '') throw inputError(`${file} is empty: it has no rows.`);
  if (/^<(!doctype|html|\?xml)/i.test(start)) {
    throw inputError(`${file} is HTML or XML.`, undefined, 'Export it as CSV or JSON.');
  }
  // A line that is cut off can begin with anything: the file's name says what it is.
  const mayBeCsv = options.format === undefined && /^[^{[]/.test(start) && !/\.(jsonl|ndjson|json)$/i.test(file);
  const delimiter = options.format === 'csv' || mayBeCsv ? await delimiterOf(head.slice(0, headChars)) : undefined;
  const hasCsvName = /\.(csv|tsv|tab|psv|txt)$/i.test(file);
  if (options.format === 'csv' || (mayBeCsv && (delimiter !== undefined || hasCsvName))) {
    yield* readCsv(text, delimiter ?? ',', file);
  } else if (options.format !== 'jsonl' && start.startsWith('[')) {
    yield* readArray(text, file);
  } else if (options.format !== 'jsonl' && isDocument(start)) {
    yield* readDocument(text, file, options);
  } else {
    let line = 0;
    for await (const json of splitLines(text, file)) {
      line += 1;
      const value = json.trim() === '' ? undefined : undefinedOnError(() => parseKeepingNumbers(json));
      yield { line, value: isJsonObject(value) ? withoutWrapper(value) : json };
    }
  }
}

/**
 * Returns the rows of a file, which {@link readRows} reads.
 * @throws HeddleError for a row that is no object or has a number that would change.
 */
export async function readObjects(file: string, isKnownRow: RowOptions['isKnownRow']): Promise<unknown[]> {
  const rows: unknown[] = [];
  for await (const { line, value } of readRows(file, { isKnownRow })) {
    if (typeof value === 'string' && value.trim() === '') continue;
    const place = `${file}, line ${line}`;
    try {
      const row = parseExactJson(typeof value === 'string' ? value : exactJson(value));
      if (!isJsonObject(row)) throw new SyntaxError();
      rows.push(row);
    } catch (error) {
      throw jsonError(error, place, `${place}: ${shortJson(value)} is no JSON object.`);
    }
  }
  return rows;
}

/** Reads the JSON value of a file. @throws HeddleError for text that is not JSON or has a number that would change. */
export async function readJsonFile(file: string): Promise<unknown> {
  const lines: string[] = [];
  for await (const line of splitLines(readText(file), file)) lines.push(line);
  try {
    return parseExactJson(lines.join('\n'));
  } catch (error) {
    throw jsonError(error, file, `${file} is not valid JSON: ${(error as Error).message}.`);
  }
}

function jsonError(error: unknown, place: string, message: string): HeddleError {
  if (error instanceof InexactNumberError) return inputError(`${place}: ${error.message}.`, error);
  return inputError(error instanceof JsonLimitError ? `${place} is ${error.message}.` : message, error);
}

/** Reads the beginning of a text, at least to its second line, and returns it with the whole text. */
async function readHead(chunks: AsyncGenerator<string>): Promise<{ head: string; text: AsyncGenerator<string> }> {
  const parts: string[] = [];
  let chars = 0;
  let hasLine = false;
  while ((chars < headChars || !hasLine) && chars < maxLineBytes) {
    const { value, done } = await chunks.next();
    if (done) break;
    parts.push(value);
    chars += value.length;
    hasLine ||= /[\r\n][^\r\n]/.test(value);
  }
  const head = parts.join('');
  async function* text(): AsyncGenerator<string> {
    yield head;
    yield* chunks;
  }
  return { head, text: text() };
}

/** Returns whether text that begins with `{` is one JSON object, not an object a line. */
function isDocument(start: string): boolean {
  if (!start.startsWith('{')) return false;
  const end = start.search(/[\r\n]/);
  const first = end === -1 ? start : start.slice(0, end);
  const rest = end === -1 ? '' : start.slice(end).trimStart();
  if (rest === '') return true;
  return !first.trimEnd().endsWith('}') && !rest.startsWith('{');
}

/** Returns the row inside of an entry of the rows API of Hugging Face. */
function withoutWrapper(row: Members): Members {
  return typeof row.row_idx === 'number' && isJsonObject(row.row) ? row.row : row;
}

const delimiters = [',', ';', '\t', '|'];
/** Rows that are compared to find the character between the cells. */
const sampleRows = 50;

/** Returns the character that separates the cells: the one with which most rows have as many as the first; undefined without any. */
async function delimiterOf(head: string): Promise<string | undefined> {
  const named = /^sep=(.)\r?\n/.exec(head)?.[1];
  if (named !== undefined) return named;
  let best: { delimiter: string; score: number } | undefined;
  for (const delimiter of delimiters) {
    const counts: number[] = [];
    const parser = parse({
      delimiter,
      relax_column_count: true,
      skip_empty_lines: true,
      to: sampleRows,
      max_record_size: maxLineBytes,
    });
    try {
      for await (const cells of Readable.from([head]).pipe(parser)) counts.push((cells as string[]).length);
    } catch {
      // The last cell of the sample may be cut off inside of its quotes.
    }
    const [columns = 1, ...others] = counts;
    if (columns < 2) continue;
    const score = others.length === 0 ? 1 : others.filter((count) => count === columns).length / others.length;
    if (best === undefined || score > best.score) best = { delimiter, score };
  }
  return best?.delimiter;
}

async function* readCsv(text: AsyncIterable<string>, delimiter: string, file: string): AsyncGenerator<FileRow> {
  const parser = parse({
    delimiter,
    info: true,
    skip_empty_lines: true,
    relax_column_count: true,
    max_record_size: maxLineBytes,
  });
  const source = Readable.from(text);
  source.on('error', (error) => parser.destroy(error));
  let names: string[] | undefined;
  let line = 0;
  try {
    for await (const { record: cells, info } of source.pipe(parser) as AsyncIterable<CsvRecord>) {
      if (names === undefined) {
        // Excel writes its separator into a line of its own.
        if (!(cells.length <= 2 && /^sep=/.test(cells[0]!))) names = columnNames(cells);
        continue;
      }
      if (cells.length > names.length && cells.slice(names.length).some((cell) => cell !== '')) {
        warn(
          `Line ${info.lines} has ${cells.length} cells, and the first line ${names.length}: the others became columns of their own.`,
        );
      }
      for (let at = names.length; at < cells.length; at += 1) names.push(`column_${at + 1}`);
      line += 1;
      const entries = cells
        .map((cell, at) => [names![at]!, cell] as const)
        .filter(([name, cell]) => cell !== '' || !/^column_\d+$/.test(name));
      yield { line: Math.max(line + 1, info.lines), value: Object.fromEntries(entries), isCells: true };
    }
  } catch (cause) {
    throw unreadableFile(file, cause);
  } finally {
    source.destroy();
  }
  if (line === 0) throw inputError(`${file} has a first line with the names of columns, and no rows.`);
}

interface CsvRecord {
  record: string[];
  info: { lines: number };
}

/** Maximum length of a column's name: it becomes part of a path. */
const maxNameChars = 200;

/** Returns the names of columns: each one differs, and none is empty. */
function columnNames(cells: readonly string[]): string[] {
  const names: string[] = [];
  for (const [at, cell] of cells.entries()) {
    const trimmed = cell.trim();
    const name = trimmed === '' || trimmed.length > maxNameChars ? `column_${at + 1}` : trimmed;
    let unique = name;
    for (let count = 2; names.includes(unique); count += 1) unique = `${name}_${count}`;
    if (unique !== name)
      warn(`Two columns have the name ${JSON.stringify(name)}: the second became ${JSON.stringify(unique)}.`);
    names.push(unique);
  }
  return names;
}

function warn(text: string): void {
  invocation().stderr.write(`${text}\n`);
}

/** Reads the entries of a JSON array one by one, however long it is. */
async function* readArray(text: AsyncIterable<string>, file: string): AsyncGenerator<FileRow> {
  let line = 0;
  for await (const json of splitArray(text, file)) {
    line += 1;
    const value = undefinedOnError(() => parseKeepingNumbers(json));
    yield { line, value: isJsonObject(value) ? withoutWrapper(value) : json };
  }
  if (line === 0) throw inputError(`${file} is an empty list: it has no rows.`);
}

/** Splits the text of a JSON array into those of its entries. @throws HeddleError `invalid_arguments` for text that is no array. */
async function* splitArray(text: AsyncIterable<string>, file: string): AsyncGenerator<string> {
  let parts: string[] = [];
  let chars = 0;
  let depth = 0;
  let place: 'before' | 'inside' | 'string' | 'escape' | 'after' = 'before';
  const add = (part: string): void => {
    parts.push(part);
    chars += part.length;
    if (chars > maxLineBytes) throw inputError(`An entry of the list in ${file} is larger than ${maxLineBytes} bytes.`);
  };
  const entry = (): string => {
    const json = parts.join('').trim();
    parts = [];
    chars = 0;
    return json;
  };
  for await (const chunk of text) {
    let start = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const mark = chunk[at]!;
      if (place === 'escape') place = 'string';
      else if (place === 'string') {
        if (mark === '\\') place = 'escape';
        else if (mark === '"') place = 'inside';
      } else if (place === 'after') {
        if (mark.trim() !== '') throw inputError(`${file} has text after the end of its list.`);
      } else if (mark === '"') place = 'string';
      else if (mark === '[' || mark === '{') {
        depth += 1;
        if (depth === 1) {
          place = 'inside';
          start = at + 1;
        }
      } else if (mark === ']' || mark === '}') depth -= 1;
      if (place !== 'inside' || !((mark === ',' && depth === 1) || depth === 0)) continue;
      add(chunk.slice(start, at));
      start = at + 1;
      if (depth === 0) place = 'after';
      const json = entry();
      if (json !== '' || mark === ',') yield json;
    }
    if (place !== 'before' && place !== 'after') add(chunk.slice(start));
  }
  if (place !== 'after') throw inputError(`${file} ends inside of its list, after ${chars} characters of an entry.`);
}

/** A list of objects in a document, by the path to it. */
interface FoundList {
  path: string;
  rows: unknown[];
}

/** Names on the path to a list, at most. */
const maxListDepth = 3;

async function* readDocument(
  text: AsyncIterable<string>,
  file: string,
  { rowsAt, isKnownRow }: RowOptions,
): AsyncGenerator<FileRow> {
  const parts: string[] = [];
  let chars = 0;
  for await (const part of text) {
    parts.push(part);
    chars += part.length;
    if (chars > maxDocumentChars)
      throw inputError(`${file} is one JSON object of over ${maxDocumentChars} characters.`, undefined, asLines);
  }
  const json = parts.join('');
  let around: unknown;
  try {
    around = parseKeepingNumbers(json);
  } catch (cause) {
    if (cause instanceof JsonLimitError) throw inputError(`${file} is ${cause.message}.`, cause, asLines);
    if (/[\r\n]/.test(json.trim())) throw inputError(`${file} is not valid JSON: ${(cause as Error).message}.`, cause);
    yield { line: 1, value: json };
    return;
  }
  if (!isJsonObject(around)) return;
  for (const [index, row] of rowsIn(around, file, { rowsAt, isKnownRow }).entries()) {
    yield { line: index + 1, value: isJsonObject(row) ? withoutWrapper(row) : exactJson(row), around };
  }
}

const asLines = 'Write its rows as lines of JSON, one object a line: a file of lines may have any size.';

function rowsIn(document: Members, file: string, { rowsAt, isKnownRow }: RowOptions): readonly unknown[] {
  const lists = listsIn(document);
  const names = lists.map(({ path, rows }) => `${path} (${rows.length})`).join(', ');
  if (rowsAt !== undefined) {
    const rows = memberAt(document, pathSegments(rowsAt));
    if (Array.isArray(rows)) return rows;
    throw inputError(
      `${file} has no list at ${rowsAt}.`,
      undefined,
      names === '' ? 'It has no lists of objects.' : `Its lists of objects are ${names}.`,
    );
  }
  if (isKnownRow(document)) return [document];
  const known = lists.filter(
    ({ rows: [row] }) => isJsonObject(row) && (withoutWrapper(row) !== row || isKnownRow(row)),
  );
  const [only, ...others] = known.length > 0 ? known : lists;
  if (only === undefined) return [document];
  if (others.length === 0) return only.rows;
  throw inputError(
    `${file} is one JSON object with several lists of objects: ${names}.`,
    undefined,
    `Pass the one with the rows, like --rows ${only.path}. Its first row: ${shortJson(only.rows[0])}`,
  );
}

/** Finds the lists of objects in an object and the objects in it. */
function listsIn(value: Members, path: readonly string[] = []): FoundList[] {
  return Object.entries(value).flatMap(([name, member]): FoundList[] => {
    const at = [...path, name];
    if (Array.isArray(member)) return isJsonObject(member[0]) ? [{ path: at.join('.'), rows: member }] : [];
    return isJsonObject(member) && at.length < maxListDepth ? listsIn(member, at) : [];
  });
}

const maxShownChars = 400;

/** Returns a value as JSON that is short enough for a message, without secrets. */
export function shortJson(value: unknown): string {
  return String(cutValue(invocation().redactor.redact(exactJson(value)), maxShownChars));
}
