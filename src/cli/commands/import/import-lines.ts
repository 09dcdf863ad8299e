import { createHash } from 'node:crypto';
import { objectNamePattern } from '../../../contract/references.ts';
import { undefinedOnError } from '../../../core/errors.ts';
import { exactJson } from '../../../core/json/exact-number.ts';
import { isJsonObject, type Members, objectOrEmpty } from '../../../core/json/json-object.ts';
import { inputError } from '../../access/text-file.ts';
import { didYouMean } from '../../terminal/report-failure.ts';
import { type FileFormat, type ImportedCall, type ImportedFeedback, shownPaths, unnamed } from './imported-call.ts';
import { judgementExport } from './judgement-export.ts';
import { langfuseFormats } from './langfuse.ts';
import { langsmithFormats } from './langsmith.ts';
import { openaiFormats } from './openai.ts';
import { otlpSpans } from './otlp.ts';
import { isPlainRow, missingColumn, type PlainRowOptions, plainCall } from './plain-rows.ts';
import { promptfooFormats } from './promptfoo.ts';
import { type FileRow, type ImportFormat, readRows, shortJson } from './read-rows.ts';
import { recordedCalls } from './recorded-calls.ts';

export interface ImportOptions extends PlainRowOptions {
  /** Project that the calls go to. */
  projectId: string;
  format?: ImportFormat | undefined;
  rowsAt?: string | undefined;
  /** Columns, or paths to values of the call, that are shown to annotators. */
  show?: readonly string[] | undefined;
}

/** Facts about a file, collected while it is read. */
export interface FileFacts {
  /** The form of the rows, such as `Langfuse traces`; undefined for plain rows. */
  formats: Set<string>;
  /** Names of the inputs and of the output of the first plain row. */
  plain?: { inputs: string[]; output: string[] };
  /** Rows that hold nothing to store. */
  skippedRows: number;
}

/** Members that only an item of a queue has; a row with one of them is stored as it is. */
const itemMember = /^(call|call_.*|display_fields|added_by|annotation_state)$/;

const toolFormats: readonly FileFormat[] = [
  judgementExport,
  ...langfuseFormats,
  ...langsmithFormats,
  ...promptfooFormats,
  ...openaiFormats,
  recordedCalls,
  otlpSpans,
];

/**
 * Reads a file as lines of JSON with the items of a queue. A row of a tool that is known, or a plain row like a question and an
 * answer, becomes a recorded call. Its id, unless the row has one, follows from its content, so that the same row imported
 * again is a duplicate.
 * @throws HeddleError `invalid_arguments` for a file that cannot be read, is empty, or whose rows are not understood.
 */
export async function* readImportLines(
  file: string,
  options: ImportOptions,
  facts: FileFacts = { formats: new Set(), skippedRows: 0 },
): AsyncGenerator<string> {
  const context: RowContext = { file, options, facts, importedAt: new Date().toISOString() };
  const isKnownRow = (row: Members): boolean => formatOf(row, options) !== undefined || isItem(row);
  let line = 1;
  let merged: ImportedCall | undefined;
  const flush = (): string[] => {
    const lines = merged ? [lineOf(merged, context)] : [];
    merged = undefined;
    return lines;
  };
  for await (const row of readRows(file, { ...options, isKnownRow })) {
    // Keeps the numbers that errors name equal to those of the file.
    for (; line < row.line; line += 1) yield '';
    const calls = callsOf(row, context);
    if (typeof calls === 'string') {
      yield calls;
      line += 1;
      continue;
    }
    for (const call of calls) {
      if (
        merged &&
        'inputs' in call &&
        call.id !== undefined &&
        call.id === merged.id &&
        facts.formats.has(judgementExport.name)
      ) {
        merged.judgements = [...(merged.judgements ?? []), ...(call.judgements ?? [])];
        merged.notes = [...(merged.notes ?? []), ...(call.notes ?? [])];
        continue;
      }
      for (const ready of flush()) {
        yield ready;
        line += 1;
      }
      if ('inputs' in call) merged = call;
      else {
        yield feedbackLineOf(call);
        line += 1;
      }
    }
  }
  yield* flush();
}

interface RowContext {
  file: string;
  options: ImportOptions;
  facts: FileFacts;
  /** Start of the calls whose rows have no time. */
  importedAt: string;
  /** True once the first row was plain. */
  isPlain?: boolean;
}

/** Returns the calls of a row, or the line of a row that is an item as it stands. */
function callsOf(row: FileRow, context: RowContext): readonly (ImportedCall | ImportedFeedback)[] | string {
  const { value, line, isCells, around = {} } = row;
  const { file, options, facts } = context;
  if (typeof value === 'string') {
    if (line === 1 && isOtherJson(value)) throw notUnderstood(row, context);
    return value;
  }
  const fault = (cause: unknown) => inputError(`Line ${line} of ${file}: ${(cause as Error).message}.`, cause);
  const format = formatOf(value, options);
  if (format) {
    facts.formats.add(format.name);
    try {
      const calls = format.convert(value, around, options.projectId);
      if (calls.length === 0) facts.skippedRows += 1;
      return calls;
    } catch (cause) {
      throw fault(cause);
    }
  }
  if (isItem(value)) return exactJson(isCells ? withoutEmpty(value) : value);
  if (Object.keys(value).length === 0) return exactJson(value);
  if (facts.formats.size > 0) {
    throw inputError(`Line ${line} of ${file} is no row of ${[...facts.formats].join(' or ')}: ${shortJson(value)}`);
  }
  if (!context.isPlain) {
    const missing = missingColumn(value, options);
    const names = Object.keys(value);
    if (missing !== undefined) {
      throw inputError(
        `${file} has no column ${JSON.stringify(missing)}${didYouMean(missing, names)}.`,
        undefined,
        `Its columns are ${names.join(', ')}.`,
      );
    }
    if (!isPlainRow(value, options)) throw notUnderstood(row, context);
    context.isPlain = true;
  }
  try {
    const call = plainCall(value, options);
    facts.plain ??= { inputs: Object.keys(call.inputs), output: Object.keys(objectOrEmpty(call.output)) };
    return [call];
  } catch (cause) {
    throw fault(cause);
  }
}

/** Returns the form of a row that a known tool writes; undefined for any other, and where the options say what the columns are. */
function formatOf(row: Members, { inputs, output }: PlainRowOptions): FileFormat | undefined {
  return inputs || output ? undefined : toolFormats.find(({ matches }) => matches(row));
}

function isItem(row: Members): boolean {
  return Object.keys(row).some((name) => itemMember.test(name));
}

/** Returns whether a line is JSON, but no object. One that is not JSON, or has inexact numbers, is left for the import to report. */
function isOtherJson(text: string): boolean {
  return undefinedOnError(() => !isJsonObject(JSON.parse(text))) ?? false;
}

function notUnderstood({ value, line }: FileRow, { file }: RowContext): Error {
  const hint = isJsonObject(value)
    ? `Say which values are what, like --inputs ${Object.keys(value)[0]} --output ${Object.keys(value).at(-1)}; a path like a.b reaches into an object.`
    : 'Each row must be a JSON object, like {"question":"…","answer":"…"}.';
  return inputError(
    `The rows of ${file} are not understood. Row ${line}: ${isJsonObject(value) ? shortJson(value) : shortJson(JSON.parse(value))}`,
    undefined,
    hint,
  );
}

/** Returns the line of an item. */
function lineOf(imported: ImportedCall, { options, importedAt }: RowContext): string {
  const { id, startedAt, endedAt, inputs, output = null, judgements, notes, scores } = imported;
  const opName = options.opName ?? imported.opName ?? unnamed;
  const call = {
    inputs,
    output,
    exception: imported.exception,
    parent_id: imported.parentId && callIdOf(imported.parentId),
    thread_id: imported.threadId,
    display_name: imported.displayName,
    attributes: imported.attributes,
    summary: imported.usage && { usage: imported.usage },
  };
  const callId = id === undefined ? `row-${digestOf([opName, call, startedAt])}` : callIdOf(id);
  return exactJson({
    call_id: callId,
    call_op_name: opName,
    call_trace_id: imported.traceId ? callIdOf(imported.traceId) : callId,
    call_started_at: startedAt ?? importedAt,
    call_ended_at: endedAt ?? startedAt ?? importedAt,
    display_fields: displayFields(imported, options.show),
    annotation_state: imported.state,
    roots_only: imported.isStep,
    call,
    judgements,
    notes,
    scores,
  });
}

function feedbackLineOf({ feedbackOn, ...feedback }: ImportedFeedback): string {
  return exactJson({ feedback_on: callIdOf(feedbackOn), ...feedback });
}

/** Returns the id of a call, in the form that references to calls have. */
function callIdOf(id: string): string {
  return objectNamePattern.test(id) ? id : `row-${digestOf(id)}`;
}

function digestOf(content: unknown): string {
  return createHash('sha256').update(exactJson(content)).digest('hex').slice(0, 24);
}

/** Returns the paths of the values to judge; a name of a column stands for its place in the call. */
function displayFields({ show, ...call }: ImportedCall, named: readonly string[] | undefined): readonly string[] {
  if (named === undefined) return show ?? shownPaths(call);
  const paths = shownPaths(call);
  return named.map((name) => paths.find((path) => path === `inputs.${name}` || path === `output.${name}`) ?? name);
}

/** Removes empty cells, which stand for members that a row of CSV does not have. */
function withoutEmpty(row: Members): Members {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== ''));
}
