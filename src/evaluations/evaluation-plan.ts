import * as z from 'zod';
import type { ServiceClient } from '../client/service-client.ts';
import { withFallback } from '../client/with-fallback.ts';
import { fillPlaceholders, findPlaceholders, messagesOfPrompt } from '../contract/prompts.ts';
import { parseReference } from '../contract/references.ts';
import { parseLlmModel, parseScorer, type RunnableScorer } from '../contract/scorers.ts';
import { concurrently } from '../core/concurrently.ts';
import { HeddleError, invalidArgument } from '../core/errors.ts';
import { ownMember } from '../core/json/member-at.ts';
import { sumOf } from '../core/statistics/score-lists.ts';
import { readVersion } from '../records/read-objects.ts';
import { type FoundEvaluation, nameInReference } from './find-evaluation.ts';

export type Row = Record<string, unknown>;

/** Rows from which columns and tokens are taken. */
const sampledRows = 200;
/** Rows that one request reads. */
const rowsPerRequest = 1000;
/** Scorers that are read at once. */
const concurrentReads = 8;
/** Characters that one token stands for, roughly. */
const charsPerToken = 4;

/** The rows of a dataset: a stored list, or the rows themselves. */
export interface DatasetRows {
  reference: string;
  count: number;
  /** The first rows. */
  sample: Row[];
  read: (limit: number) => Promise<Row[]>;
}

/** The plan of a run. */
export const runPlan = z.object({
  rows: z.int(),
  predictions: z.int(),
  judge_calls: z.int(),
  estimated_tokens: z.int(),
});
export type RunPlan = z.output<typeof runPlan>;

/** The scorers of an evaluation: those that ask a model, and the names of those that compare and of unknown ones. */
export interface EvaluationScorers {
  judges: Extract<RunnableScorer, { type: 'judge' }>['scorer'][];
  comparisons: string[];
  unknown: string[];
}

/**
 * Reads the dataset of an evaluation.
 * @throws HeddleError `not_found` or `invalid_request` when the evaluation has none that can be read.
 */
export async function readDataset({ val, name }: FoundEvaluation, service: ServiceClient): Promise<DatasetRows> {
  const reference = typeof val.dataset === 'string' ? parseReference(val.dataset) : undefined;
  const version = reference && (await readVersion(reference, service));
  if (!reference || !version) {
    throw new HeddleError({
      code: 'not_found',
      message: `The dataset of the evaluation ${name} does not exist: ${nameInReference(String(val.dataset))}.`,
      hint: 'Create an evaluation on a dataset that list_objects lists.',
    });
  }
  const { rows } = (version.val ?? {}) as { rows?: unknown };
  const project_id = `${reference.entity}/${reference.project}`;
  if (Array.isArray(rows)) {
    const all = rows as Row[];
    const read = async (limit: number): Promise<Row[]> => all.slice(0, limit);
    return { reference: val.dataset as string, count: all.length, sample: all.slice(0, sampledRows), read };
  }
  const table = typeof rows === 'string' ? parseReference(rows) : undefined;
  if (table?.kind !== 'table') {
    throw new HeddleError({
      code: 'invalid_request',
      message: `The dataset ${reference.name} of the evaluation ${name} has no rows that can be read.`,
      hint: 'Create the dataset again, and an evaluation on it.',
    });
  }
  const read = (limit: number): Promise<Row[]> => readTable(project_id, table.name, limit, service);
  const count = await withFallback(
    async () => (await service.call('countTableRows', { body: { project_id, digest: table.name } })).count,
    async () => (await read(Number.MAX_SAFE_INTEGER)).length,
  );
  return { reference: val.dataset as string, count, sample: await read(sampledRows), read };
}

async function readTable(project_id: string, digest: string, limit: number, service: ServiceClient): Promise<Row[]> {
  const rows: Row[] = [];
  while (rows.length < limit) {
    const page = { limit: Math.min(rowsPerRequest, limit - rows.length), offset: rows.length };
    const found = await service.call('queryTable', { body: { project_id, digest, ...page } });
    rows.push(...found.rows.map(({ val }) => val as Row));
    if (found.rows.length < page.limit) break;
  }
  return rows;
}

/** Reads the scorers of an evaluation. */
export async function readScorers({ val }: FoundEvaluation, service: ServiceClient): Promise<EvaluationScorers> {
  const references = Array.isArray(val.scorers) ? val.scorers : [];
  const read = await concurrently(references, concurrentReads, async (text: unknown) => {
    const reference = typeof text === 'string' ? parseReference(text) : undefined;
    const version = reference && (await readVersion(reference, service));
    return { name: nameInReference(String(text)), scorer: parseScorer(version?.val) };
  });
  return {
    judges: read.flatMap(({ scorer }) => (scorer?.type === 'judge' ? [scorer.scorer] : [])),
    comparisons: read.flatMap(({ name, scorer }) => (scorer?.type === 'comparison' ? [name] : [])),
    unknown: read.flatMap(({ name, scorer }) => (scorer ? [] : [name])),
  };
}

/**
 * Returns the placeholders that no column fills, after looking at all rows if the first do not have them.
 * @returns the columns as well, for the message.
 */
export async function unfilledPlaceholders(
  names: readonly string[],
  dataset: DatasetRows,
  maxRows: number,
): Promise<{ missing: string[]; columns: string[] }> {
  const columnsIn = (rows: readonly Row[]): Set<string> => new Set(rows.flatMap((row) => Object.keys(row)));
  let columns = columnsIn(dataset.sample);
  const isMissing = (name: string): boolean => !columns.has(name);
  if (names.some(isMissing) && dataset.sample.length < Math.min(dataset.count, maxRows)) {
    columns = columnsIn(await dataset.read(maxRows));
  }
  return { missing: names.filter(isMissing), columns: [...columns] };
}

/** Returns how many requests a run makes, and roughly how many tokens they have without the replies. */
export function planOf(
  messages: readonly unknown[],
  { count, sample }: DatasetRows,
  { judges }: Pick<EvaluationScorers, 'judges'>,
  { trials, maxRows }: { trials: number; maxRows: number },
): RunPlan {
  const rows = Math.min(count, maxRows);
  const predictions = rows * trials;
  const judgeMessages = judges.map(({ model, scoring_prompt }) => [
    ...(typeof model === 'object' ? (model.default_params?.messages_template ?? []) : []),
    { role: 'user', content: scoring_prompt ?? '' },
  ]);
  const used = sample.slice(0, rows);
  const chars = used.flatMap((row) => [messages, ...judgeMessages].map((template) => filledChars(template, row)));
  const estimated_tokens = Math.ceil(((sumOf(chars)! / used.length) * predictions) / charsPerToken);
  return { rows, predictions, judge_calls: predictions * judges.length, estimated_tokens };
}

/** Returns the strings of messages in which placeholders are filled: all but those of the assistant. */
function templateTexts(messages: readonly unknown[]): string[] {
  return messages.flatMap((message) =>
    (Object(message) as { role?: unknown }).role === 'assistant' ? [] : textsIn(message),
  );
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/**
 * Returns the names of the placeholders `{name}` in messages.
 * @param argument the argument of the tool that the messages come from.
 * @throws HeddleError `invalid_arguments` for a brace that belongs to none and is not doubled.
 */
export function placeholdersOf(messages: readonly unknown[], argument: string): string[] {
  const { names, loneBrace } = findPlaceholders(templateTexts(messages));
  if (loneBrace === undefined) return names;
  throw invalidArgument(argument, {
    consequence: 'Nothing was started',
    fault: `${argument} has a lone ${loneBrace}`,
    hint: `Write ${loneBrace}${loneBrace} for a literal brace, and {column} for a value of the row.`,
  });
}

/** Returns the number of characters of messages after their placeholders were filled from a row. */
function filledChars(messages: readonly unknown[], row: Row): number {
  const textOf = (name: string): string => {
    const value = Object.hasOwn(row, name) ? ownMember(row, name) : `{${name}}`;
    return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  };
  const added = templateTexts(messages).map(
    (text) => fillPlaceholders(text, textOf, (brace) => brace).length - text.length,
  );
  return messages.reduce<number>((sum, message) => sum + (JSON.stringify(message) ?? '').length, sumOf(added) ?? 0);
}

/**
 * Reads the messages of a stored prompt or model.
 * @throws HeddleError `not_found` or `invalid_arguments` when there are none.
 */
export async function readMessages(text: string, kind: 'prompt' | 'model', service: ServiceClient): Promise<unknown[]> {
  const reference = parseReference(text);
  const version = reference?.kind === 'object' ? await readVersion(reference, service) : undefined;
  if (!version) {
    throw new HeddleError({
      code: reference ? 'not_found' : 'invalid_arguments',
      message: `Nothing was started: the ${kind} ${text} does not exist.`,
      hint: `Check the reference, or pass ${kind === 'prompt' ? 'the text of the prompt' : 'the id of a model of inference'} itself.`,
    });
  }
  const messages = kind === 'prompt' ? messagesOfPrompt(version.val) : messagesOfModel(version.val);
  if (messages) return messages;
  throw new HeddleError({
    code: 'invalid_arguments',
    message: `Nothing was started: ${text} is no ${kind === 'prompt' ? 'prompt with messages' : 'stored model of inference'}.`,
    hint: 'Call read_object to see what it is.',
  });
}

function messagesOfModel(val: unknown): unknown[] | undefined {
  const model = parseLlmModel(val);
  return model && (model.default_params?.messages_template ?? []);
}
