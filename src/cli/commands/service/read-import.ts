import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { parse } from 'csv-parse';
import { parseExactJson } from '../../../core/json/json-numbers.ts';
import { isJsonObject } from '../../../core/json/json-object.ts';
import { invocation } from '../../invocation.ts';
import { inputError, readFileLines, unreadableFile } from './read-file.ts';

export const importFormats = ['csv', 'jsonl'] as const;
export type ImportFormat = (typeof importFormats)[number];

/** Columns of plain rows that are the output of the recorded call, if no others are named; the rest are its inputs. */
export const outputColumns = ['answer', 'output', 'response', 'completion', 'prediction'];

/** Members that only an item of a queue has; a row without any of them is plain. */
const itemMember = /^(call|call_.*|display_fields|added_by|annotation_state)$/;

/** Largest row of CSV, as for a line of JSON. */
const maxRowBytes = 32 * 1024 * 1024;

interface PlainRowOptions {
  opName: string;
  /** Columns that are the output of the recorded call. */
  output?: readonly string[];
}

/**
 * Reads a file as lines of JSON with the items of a queue. A plain row, like a question and an answer, becomes a recorded call
 * whose id follows from its content, so that the same row imported again is a duplicate.
 * @throws HeddleError `invalid_arguments` for a file that cannot be read, or is not CSV.
 */
export async function* readImportLines(
  file: string,
  format: ImportFormat | undefined,
  options: PlainRowOptions,
): AsyncGenerator<string> {
  const startedAt = new Date().toISOString();
  if ((format ?? (/\.csv$/i.test(file) ? 'csv' : 'jsonl')) === 'jsonl') {
    for await (const line of readFileLines(file)) yield fromLine(line, options, startedAt);
    return;
  }
  let line = 1;
  for await (const { record, info } of readCsv(file)) {
    // Keeps the numbers that errors name equal to those of the file.
    for (; line < info.lines - 1; line += 1) yield '';
    line += 1;
    yield isPlain(record) ? fromRow(record, options, startedAt) : JSON.stringify(withoutEmpty(record));
  }
}

type CsvRecord = { record: Record<string, string>; info: { lines: number } };

async function* readCsv(file: string): AsyncGenerator<CsvRecord> {
  const parser = parse({
    bom: true,
    columns: uniqueNames,
    info: true,
    skip_empty_lines: true,
    max_record_size: maxRowBytes,
    encoding: 'utf8',
  });
  const source = file === '-' ? invocation().stdin : createReadStream(file);
  // The loop below reports the failure of either.
  const piped = pipeline(source, checkUtf8, parser).catch(() => {});
  try {
    for await (const row of parser) yield row as CsvRecord;
  } catch (cause) {
    throw unreadableFile(file, cause);
  }
  await piped;
}

/** Passes text on, and fails for bytes that are not UTF-8, which would be stored as other characters. */
async function* checkUtf8(source: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for await (const chunk of source) yield decoder.decode(chunk, { stream: true });
  yield decoder.decode();
}

/** Checks the names in the first line: values of a column without a name, or of the second of two, would be lost. */
function uniqueNames(names: string[]): string[] {
  const trimmed = names.map((name) => name.trim());
  const twice = trimmed.find((name, index) => trimmed.indexOf(name) !== index);
  if (trimmed.includes('')) throw inputError('A column of the first line has no name.');
  if (twice !== undefined) throw inputError(`Two columns have the name ${JSON.stringify(twice)}.`);
  return trimmed;
}

/** Returns a line as it is, unless it is a plain row. A line that is not JSON is left for the import to report. */
function fromLine(line: string, options: PlainRowOptions, startedAt: string): string {
  let value: unknown;
  try {
    value = parseExactJson(line);
  } catch {
    return line;
  }
  if (!isJsonObject(value)) return line;
  return isPlain(value) && Object.keys(value).length > 0 ? fromRow(value, options, startedAt) : line;
}

function isPlain(row: object): boolean {
  return !Object.keys(row).some((name) => itemMember.test(name));
}

/** Returns the item of a plain row. */
function fromRow(row: object, { opName, output = outputColumns }: PlainRowOptions, startedAt: string): string {
  const members = Object.entries(row);
  const call = {
    inputs: Object.fromEntries(members.filter(([name]) => !output.includes(name))),
    output: Object.fromEntries(members.filter(([name]) => output.includes(name))),
  };
  const id = `row-${createHash('sha256')
    .update(JSON.stringify([opName, call]))
    .digest('hex')
    .slice(0, 24)}`;
  const display_fields = members.map(([name]) => `${output.includes(name) ? 'output' : 'inputs'}.${name}`);
  return JSON.stringify({
    call_id: id,
    call_op_name: opName,
    call_trace_id: id,
    call_started_at: startedAt,
    call_ended_at: startedAt,
    display_fields,
    call,
  });
}

/** Removes empty cells, which stand for members that a row of CSV does not have. */
function withoutEmpty(record: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== ''));
}
