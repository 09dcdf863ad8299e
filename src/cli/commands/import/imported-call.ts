import { undefinedOnError } from '../../../core/errors.ts';
import { exactJson, parseKeepingNumbers, plainNumber } from '../../../core/json/exact-number.ts';
import { isJsonObject, type Members, objectOrEmpty } from '../../../core/json/json-object.ts';
import { normalizeTimestamp } from '../../../core/timestamps.ts';
import type { ItemFeedback } from '../../../service/start-service.ts';
import { isEmptyValue } from '../../../text/show-rows.ts';

/** A recorded call that a row of a file describes, with what people and programs said about it. */
export interface ImportedCall extends ItemFeedback {
  /** Id in the file; by default it follows from the content. */
  id?: string | undefined;
  opName?: string | undefined;
  traceId?: string | undefined;
  parentId?: string | undefined;
  threadId?: string | undefined;
  displayName?: string | undefined;
  /** Times in UTC; the start is that of the import by default. */
  startedAt?: string | undefined;
  endedAt?: string | undefined;
  inputs: Members;
  output?: unknown;
  exception?: string | undefined;
  attributes?: Members | undefined;
  usage?: Members | undefined;
  /** Paths of the values to judge; by default those of the inputs and the output. */
  show?: readonly string[] | undefined;
  /** True if the call is no item of the queue when the file has its parent. */
  isStep?: boolean | undefined;
  state?: 'unstarted' | 'in_progress' | 'completed' | 'skipped' | undefined;
}

/** Judgements, notes and scores of a call that another row or an earlier import describes. */
export interface ImportedFeedback extends ItemFeedback {
  feedbackOn: string;
}

/** A row in the form of a tool that exports it. */
export interface FileFormat {
  /** Name of the tool and of what the rows are. */
  name: string;
  /** Returns whether a row has this form. The values of cells are text. */
  matches: (row: Members) => boolean;
  /**
   * Returns the calls of a row. `around` is the object that the rows were found in, if the file is one.
   * @throws Error for a row that is not complete.
   */
  convert: (row: Members, around: Members, projectId: string) => readonly (ImportedCall | ImportedFeedback)[];
}

/** The operation, and the annotator, that a file does not name. */
export const unnamed = 'import';

/** Returns a value of a row; text that begins like JSON, as in cells of CSV, is parsed. */
export function parsedCell(value: unknown): unknown {
  if (typeof value !== 'string') return value ?? undefined;
  if (value === '') return undefined;
  if (!/^\s{0,9}[[{"]/.test(value)) return value;
  return undefinedOnError(() => parseKeepingNumbers(value)) ?? value;
}

/** Returns a value of a row as text; undefined for an empty one. */
export function optionalText(value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  return typeof value === 'string' ? value : exactJson(value);
}

/** Returns a value of a row as a number; undefined for anything else. */
export function numberOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : plainNumber(value);
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

/** Returns the value of a score or judgement: text that is a number or a boolean becomes one. */
export function judgedValueOf(value: unknown): unknown {
  if (typeof value !== 'string') return plainNumber(value);
  if (/^(true|false)$/i.test(value)) return value.toLowerCase() === 'true';
  // Keeps the digits of texts like 007.
  return /^-?(0|[1-9]\d{0,14})(\.\d{1,15})?$/.test(value) ? Number(value) : (parsedCell(value) ?? value);
}

/**
 * Returns a time in UTC: an ISO 8601 date or date and time, or the time since 1970 in seconds, milliseconds, microseconds or
 * nanoseconds, which its size tells. Returns undefined for anything else.
 */
export function timeOf(value: unknown): string | undefined {
  const number = plainNumber(value);
  const epoch = typeof number === 'number' ? number : /^\d{10,19}$/.test(String(value)) ? Number(value) : undefined;
  if (epoch !== undefined) {
    if (epoch < 1e8 || epoch > 1e19) return undefined;
    const digits = Math.floor(Math.log10(epoch));
    const divisor = digits < 11 ? 1e-3 : digits < 14 ? 1 : digits < 17 ? 1e3 : 1e6;
    return new Date(epoch / divisor).toISOString();
  }
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  return normalizeTimestamp(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00Z` : text);
}

/** Returns the time that a number of seconds after another has. */
export function timeAfter(time: string | undefined, seconds: number | undefined): string | undefined {
  if (time === undefined || seconds === undefined) return time;
  return new Date(Date.parse(time) + seconds * 1000).toISOString();
}

/** Returns an input in the form that a call has it: an object with its name. */
export function namedInputs(value: unknown, name = 'input'): Members {
  const input = parsedCell(value);
  if (input === undefined || input === null) return {};
  return isJsonObject(input) ? input : { [name]: input };
}

/** Returns the usage of a model in the form in which costs are computed from it; undefined without tokens. */
export function usageOf(model: unknown, prompt: unknown, completion: unknown, total?: unknown): Members | undefined {
  const [prompt_tokens, completion_tokens] = [numberOf(prompt) ?? 0, numberOf(completion) ?? 0];
  const total_tokens = numberOf(total) || prompt_tokens + completion_tokens;
  if (total_tokens === 0) return undefined;
  const usage = { requests: 1, prompt_tokens, completion_tokens, total_tokens };
  return Object.fromEntries([[optionalText(model) ?? 'unknown', usage]]);
}

/** Returns the members of a row that are not empty and that no other member of a call has. */
export function restOf(row: Members, used: readonly string[]): Members {
  const others = Object.entries(row).filter(
    ([name, value]) => !used.includes(name) && value !== null && value !== '' && value !== undefined,
  );
  return Object.fromEntries(others.map(([name, value]) => [name, parsedCell(value)]));
}

/** Returns an object without the members that are empty. */
export function filledMembers(members: Members): Members {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => !isEmptyValue(value)));
}

/** Returns tags as a list. */
export function tagsOf(value: unknown): unknown {
  const tags = parsedCell(value);
  return typeof tags === 'string' ? tags.split(/[,;]/).map((tag) => tag.trim()) : tags;
}

/** Members of a value that are shown one by one. */
const maxShownMembers = 30;

/** Returns the paths of the values to judge: those of the inputs and the output, each member by itself where there are few. */
export function shownPaths({ inputs, output }: Pick<ImportedCall, 'inputs' | 'output'>): string[] {
  const pathsBelow = (value: unknown, path: string): string[] => {
    const names = Object.keys(objectOrEmpty(value));
    const isPlain =
      names.length > 0 && names.length <= maxShownMembers && names.every((name) => /^[^.[\]]{1,200}$/.test(name));
    if (isPlain) return names.map((name) => `${path}.${name}`);
    return value === undefined || value === null || (isJsonObject(value) && names.length === 0) ? [] : [path];
  };
  return [...pathsBelow(inputs, 'inputs'), ...pathsBelow(output, 'output')];
}

/** Returns the reply of a model in a list of choices, or in a list of messages, the last of which it is. */
export function replyOf(messages: unknown): { before: unknown[]; reply: unknown } {
  const list = Array.isArray(messages) ? messages : [];
  const last = objectOrEmpty(list.at(-1));
  const isReply = /^(assistant|model|gpt|ai)$/.test(String(last.role ?? last.from ?? last.type));
  return isReply ? { before: list.slice(0, -1), reply: last } : { before: list, reply: undefined };
}
