import type { RecordedCall } from '../../../contract/calls.ts';
import { isJsonObject, type Members, objectOrEmpty } from '../../../core/json/json-object.ts';
import { ownMember } from '../../../core/json/member-at.ts';
import { valueAt } from '../../../text/call-values.ts';
import { lastName } from '../../../text/nearest-paths.ts';
import {
  filledMembers,
  type ImportedCall,
  judgedValueOf,
  optionalText,
  parsedCell,
  tagsOf,
  timeOf,
  unnamed,
  usageOf,
} from './imported-call.ts';

/** Says which columns of a plain row are what. Each is the name of a column or the path to a value. */
export interface PlainRowOptions {
  opName?: string | undefined;
  id?: string | undefined;
  time?: string | undefined;
  inputs?: readonly string[] | undefined;
  output?: readonly string[] | undefined;
  /** Names of the queue's fields: a column with such a name holds judgements. */
  fields?: readonly string[] | undefined;
}

/** Columns that are the output of the recorded call, if no others are named. */
export const outputColumns = [
  ...['answer', 'output', 'response', 'completion', 'prediction', 'outputs', 'reply', 'result', 'generation'],
  ...['generated_text', 'model_output', 'model_answer', 'model_response', 'assistant', 'chosen'],
];

/** Columns with other members of a call, in lower case. */
const known = {
  time: ['timestamp', 'time', 'created_at', 'createdat', 'started_at', 'start_time', 'starttime', 'datetime', 'date'],
  id: ['id', 'uuid', 'call_id', 'trace_id'],
  thread: ['session_id', 'sessionid', 'conversation_id', 'thread_id'],
  tags: ['tags'],
  error: ['error', 'exception', 'error_message'],
  metadata: ['metadata', 'meta'],
  person: ['annotator', 'annotated_by', 'reviewer', 'rater', 'judge', 'labeler', 'labeller', 'user'],
  usage: ['prompt_tokens', 'completion_tokens', 'total_tokens'],
};

const uuid = /^[\da-f]{8}-?[\da-f]{4}-?[\da-f]{4}-?[\da-f]{4}-?[\da-f]{12}$/i;

/** Returns the value of a column, or at a path. */
export function columnOf(row: Members, name: string): unknown {
  return Object.hasOwn(row, name) ? ownMember(row, name) : valueAt(row as RecordedCall, name);
}

/** Returns the first column that the options name and a row does not have; undefined if it has all. */
export function missingColumn(
  row: Members,
  { id, time, inputs = [], output = [] }: PlainRowOptions,
): string | undefined {
  return [id, time, ...inputs, ...output].find((name) => name !== undefined && columnOf(row, name) === undefined);
}

/** Returns whether it is clear which values of a row a person is to judge: all of them, or those that the options name. */
export function isPlainRow(row: Members, options: PlainRowOptions): boolean {
  if (options.inputs || options.output) return true;
  const names = Object.keys(row);
  if (names.length === 0) return false;
  const hasOutput = outputNamesOf(names).length > 0;
  const nested = Object.entries(row).filter(
    ([name, value]) =>
      typeof value === 'object' && value !== null && ![...known.tags, ...known.metadata].includes(name.toLowerCase()),
  );
  return hasOutput || nested.length === 0 || names.some((name) => /^(inputs?|prompt|question)$/i.test(name));
}

/**
 * Returns the call of a plain row, like a question and an answer: the columns of the output, and the others as inputs, except
 * those that are another member of a call.
 * @throws Error for a time that is none.
 */
export function plainCall(row: Members, options: PlainRowOptions): ImportedCall {
  const columns = Object.entries(row);
  const find = (names: readonly string[]) => columns.find(([name]) => names.includes(name.toLowerCase()));
  const outputNames = options.output ?? outputNamesOf(Object.keys(row));
  const used = new Set<string>(outputNames);
  const take = (names: readonly string[], isFit: (value: unknown) => boolean = () => true): unknown => {
    const [name, value] = find(names) ?? [];
    if (name === undefined || used.has(name) || options.inputs?.includes(name) || !isFit(value)) return undefined;
    used.add(name);
    return value;
  };
  const named = (name: string): unknown => {
    used.add(name);
    return columnOf(row, name);
  };
  const startedAt =
    options.time === undefined
      ? timeOf(take(known.time, (value) => timeOf(value) !== undefined))
      : requiredTime(named(options.time), options.time);
  const id =
    options.id === undefined
      ? optionalText(take(known.id, (value) => uuid.test(String(value))))
      : optionalText(named(options.id));
  const threadId = optionalText(take(known.thread));
  const tags = tagsOf(take(known.tags));
  const exception = optionalText(take(known.error));
  const metadata = parsedCell(take(known.metadata));
  const [prompt, completion, total] = known.usage.map((name) => take([name]));
  const judged = (options.fields ?? []).filter((field) => Object.hasOwn(row, field) && !used.has(field));
  const annotator = judged.length > 0 ? (optionalText(take(known.person)) ?? unnamed) : unnamed;
  const judgements = judged.flatMap((field) => {
    const value = named(field);
    return optionalText(value) === undefined ? [] : [{ field, value: judgedValueOf(value), annotator }];
  });
  const inputNames = options.inputs ?? columns.map(([name]) => name).filter((name) => !used.has(name));
  const inputs = membersOf(row, inputNames, /^inputs?[._]/);
  const rest = columns.filter(([name]) => !used.has(name) && !inputNames.includes(name));
  return {
    id,
    opName: options.opName,
    threadId,
    startedAt,
    inputs,
    output: outputOf(row, outputNames),
    exception,
    usage: usageOf(ownMember(row, 'model'), prompt, completion, total),
    attributes: filledMembers({ tags, metadata, columns: Object.fromEntries(rest) }),
    judgements,
  };
}

/** Words with which a column's name ends that is probably the output, and those that say that it is not what the program wrote. */
const outputWords = ['answer', 'output', 'response', 'completion', 'reply', 'generation'];
const wantedWords = ['expected', 'reference', 'correct', 'gold', 'golden', 'ideal', 'target', 'true', 'human', 'best'];

/** Returns the columns of the output: those with a known name, or else the only one whose name ends like one, such as bot_answer. */
function outputNamesOf(names: readonly string[]): string[] {
  const exact = names.filter(isOutput);
  if (exact.length > 0) return exact;
  const similar = names.filter((name) => {
    const words = name
      .replaceAll(/([a-z])([A-Z])/g, '$1_$2')
      .toLowerCase()
      .split(/[\s_-]/);
    return outputWords.includes(words.at(-1)!) && !words.some((word) => wantedWords.includes(word));
  });
  return similar.length === 1 ? similar : [];
}

const isOutput = (name: string): boolean => outputColumns.includes(name.toLowerCase()) || /^outputs?[._]./i.test(name);

function requiredTime(value: unknown, name: string): string | undefined {
  const time = timeOf(value);
  if (time !== undefined || optionalText(value) === undefined) return time;
  throw new Error(
    `${name}: ${JSON.stringify(value)} is no ISO 8601 date and time, and no number of seconds or milliseconds since 1970`,
  );
}

/** Returns the values of columns under names that can be part of a path. A column with an object in it is replaced by its members. */
function membersOf(row: Members, names: readonly string[], prefix: RegExp): Members {
  const members = new Map<string, unknown>();
  for (const name of names) {
    const value = nestedOf(columnOf(row, name));
    if (value === undefined) continue;
    if (isJsonObject(value) && /^(inputs?|outputs?)$/i.test(name)) {
      for (const [key, member] of Object.entries(value)) members.set(key, member);
      continue;
    }
    const key = Object.hasOwn(row, name) ? name.replace(prefix, '').replaceAll(/[.[\]]/g, '_') : lastName(name);
    members.set(members.has(key) ? name.replaceAll(/[.[\]]/g, '_') : key, value);
  }
  return Object.fromEntries(members);
}

/** Returns a value of a row; JSON objects and lists in cells are parsed. */
function nestedOf(value: unknown): unknown {
  return typeof value === 'string' && /^\s{0,9}[[{]/.test(value) ? parsedCell(value) : value;
}

/** Returns the output of a call: the columns, or the object that the only one has. */
function outputOf(row: Members, names: readonly string[]): unknown {
  const [only, ...others] = names;
  const value = only === undefined ? undefined : nestedOf(columnOf(row, only));
  if (others.length === 0 && typeof value === 'object') return value;
  return names.length === 0 ? undefined : objectOrEmpty(membersOf(row, names, /^outputs?[._]/));
}
