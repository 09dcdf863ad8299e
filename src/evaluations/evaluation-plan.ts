import * as z from 'zod';
import type { ServiceClient } from '../client/service-client.ts';
import { ifSupported } from '../client/with-fallback.ts';
import { charsPerToken } from '../contract/inference.ts';
import { fillPlaceholders, messagesOfPrompt, templateTexts } from '../contract/prompts.ts';
import { parseReference } from '../contract/references.ts';
import {
  type LlmJudgeScorer,
  type LlmModel,
  parseLlmModel,
  parseScorer,
  type RunnableScorer,
} from '../contract/scorers.ts';
import { groupBy } from '../core/append-to.ts';
import { concurrently } from '../core/concurrently.ts';
import { HeddleError } from '../core/errors.ts';
import { ownMember } from '../core/json/member-at.ts';
import { detectableDifference } from '../core/statistics/intervals.ts';
import { rounded } from '../core/statistics/rounded.ts';
import { sumOf } from '../core/statistics/score-lists.ts';
import { drawPlaces } from '../core/statistics/seeded-random.ts';
import { readVersion } from '../records/read-objects.ts';
import { knownProjects } from '../records/require-project.ts';
import { type FoundEvaluation, nameInReference } from './find-evaluation.ts';

export type Row = Record<string, unknown>;

/** Rows from which columns and tokens are taken. */
const sampledRows = 200;
const rowsPerRequest = 1000;
/** Scorers that are read at once. */
const concurrentReads = 8;
/** Standard deviation of the difference of a row where half of the rows pass, and two runs have nothing in common. */
const worstDeviation = Math.SQRT1_2;

/** The rows of a dataset: a stored list, or the rows themselves. */
export interface DatasetRows {
  reference: string;
  count: number;
  /** The first rows. */
  sample: Row[];
  /** Reads rows from one place up to another, which may be beyond the end. */
  read: (start: number, end: number) => Promise<Row[]>;
}

/** Rows that are drawn from a dataset: the same number and seed draw the same rows. */
export interface RowSample {
  n: number;
  seed: number;
}

/** The plan of a run. Each prediction of a row is one request to the model, and one to each judge. */
export const runPlan = z.object({
  rows: z.int(),
  model_requests: z.int(),
  judge_requests: z.int(),
  estimated_tokens: z.int(),
  detectable: z
    .number()
    .describe('Difference of pass rates that a comparison on so many rows shows in 80 % of cases, at worst.'),
});
export type RunPlan = z.output<typeof runPlan>;

/** A scorer that asks a model. */
interface Judge {
  name: string;
  /** Id of its model; undefined if the model cannot be read. */
  modelId: string | undefined;
  messages: unknown[];
  /** The messages whose placeholders the service fills. */
  filled: unknown[];
  columnMap: LlmJudgeScorer['column_map'];
}

/** The scorers of an evaluation: those that ask a model, those of heddle's own, and the names of unknown ones. */
export interface EvaluationScorers {
  judges: Judge[];
  /** With the columns that each compares with, or that say which rows it scores. */
  comparisons: { name: string; columns: string[] }[];
  unknown: string[];
}

/**
 * Reads the dataset of an evaluation.
 * @throws HeddleError `not_found` or `invalid_request` when the evaluation has none that can be read.
 */
export async function readDataset(
  { val, name }: Pick<FoundEvaluation, 'val' | 'name'>,
  service: ServiceClient,
): Promise<DatasetRows> {
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
    const read = async (start: number, end: number): Promise<Row[]> => all.slice(start, end);
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
  const read = (start: number, end: number): Promise<Row[]> =>
    readTable({ project_id, digest: table.name }, start, end, service);
  const counted = await ifSupported(service.call('countTableRows', { body: { project_id, digest: table.name } }));
  const count = counted?.count ?? (await read(0, Number.MAX_SAFE_INTEGER)).length;
  return { reference: val.dataset as string, count, sample: await read(0, sampledRows), read };
}

async function readTable(
  table: { project_id: string; digest: string },
  start: number,
  end: number,
  service: ServiceClient,
): Promise<Row[]> {
  const rows: Row[] = [];
  while (start + rows.length < end) {
    const page = { limit: Math.min(rowsPerRequest, end - start - rows.length), offset: start + rows.length };
    const found = await service.call('queryTable', { body: { ...table, ...page } });
    rows.push(...found.rows.map(({ val }) => val as Row));
    if (found.rows.length < page.limit) break;
  }
  return rows;
}

/** Draws rows of a dataset, in their order; all of them if it has no more. Only the parts with drawn rows are read. */
export async function drawRows(dataset: DatasetRows, { n, seed }: RowSample): Promise<DatasetRows> {
  if (n >= dataset.count) return dataset;
  const parts = groupBy(drawPlaces(dataset.count, n, seed), (place) => Math.floor(place / rowsPerRequest));
  const drawn = await concurrently([...parts.values()], concurrentReads, async (places) => {
    const [first, last] = [places[0]!, places.at(-1)!];
    const found = await dataset.read(first, last + 1);
    return places.map((place) => found[place - first]!);
  });
  const rows = drawn.flat();
  const read = async (start: number, end: number): Promise<Row[]> => rows.slice(start, end);
  return { reference: dataset.reference, count: rows.length, sample: rows.slice(0, sampledRows), read };
}

/** Reads the scorers of an evaluation. */
export function readScorers({ val }: FoundEvaluation, service: ServiceClient): Promise<EvaluationScorers> {
  return readScorersOf(Array.isArray(val.scorers) ? val.scorers : [], service);
}

/** Reads scorers, with the judges that are parts of others. */
export async function readScorersOf(
  references: readonly unknown[],
  service: ServiceClient,
): Promise<EvaluationScorers> {
  const read = await concurrently(references, concurrentReads, async (text: unknown) => {
    const name = nameInReference(String(text));
    const scorer = parseScorer(await readValue(text, service));
    return { name, scorer, ...(await readParts(name, scorer, service)) };
  });
  return {
    judges: read.flatMap(({ judges }) => judges),
    comparisons: read.flatMap(({ comparisons }) => comparisons),
    unknown: read.flatMap(({ name, scorer }) => (scorer ? [] : [name])),
  };
}

/** Says how many requests to judges may come on top, because a judge is asked once more if its reply does not fit. */
export function repeatsOf(judgeRequests: number): string {
  return `up to ${judgeRequests} more if replies of judges do not fit`;
}

/** Returns the ids of the models that judges ask. */
export function modelsOf(judges: readonly Judge[]): string[] {
  return judges.flatMap(({ modelId }) => modelId ?? []);
}

/** Reads the judges that a scorer asks, one for each request, and the columns it compares with. The service reports what does not exist. */
async function readParts(
  name: string,
  scorer: RunnableScorer | undefined,
  service: ServiceClient,
): Promise<Pick<EvaluationScorers, 'judges' | 'comparisons'>> {
  if (scorer === undefined) return { judges: [], comparisons: [] };
  const { only_if, expected } = scorer.scorer;
  const columns = [only_if, expected].filter((column) => typeof column === 'string');
  if (scorer.type === 'judge') {
    const judge = await readJudge(name, scorer.scorer, service);
    // Other programs ask a judge about every row.
    return { judges: [judge], comparisons: columns.length > 0 ? [{ name, columns }] : [] };
  }
  const comparisons = [{ name, columns }];
  if (scorer.type === 'combined') {
    const parts = await readScorersOf(scorer.scorer.scorers, service);
    return {
      judges: parts.judges,
      comparisons: [...comparisons, ...parts.comparisons.map((part) => ({ ...part, name }))],
    };
  }
  if (scorer.type !== 'pairwise') return { judges: [], comparisons };
  const { model, prompt, both_orders } = scorer.scorer;
  // The two answers are no columns of the row.
  const scoring_prompt = prompt.replaceAll(/\{(first|second)\}/g, '{output}');
  const judge = await readJudge(name, { model, scoring_prompt }, service);
  return { judges: both_orders ? [judge, judge] : [judge], comparisons };
}

/** Reads the messages of a judge. The service reports what does not exist. */
async function readJudge(
  name: string,
  { model, scoring_prompt, scoring_prompt_ref, column_map: columnMap }: LlmJudgeScorer,
  service: ServiceClient,
): Promise<Judge> {
  const llmModel = typeof model === 'string' ? parseLlmModel(await readValue(model, service)) : model;
  const text = scoring_prompt_ref ?? scoring_prompt ?? '';
  const prompt = parseReference(text)
    ? messagesOfPrompt(await readValue(text, service))
    : [{ role: 'user', content: text }];
  const template = llmModel ? await messagesOfModel(llmModel, service) : [];
  const messages = [...template, ...(prompt ?? [])];
  // The public service sends the messages of a judge's model as they are. Only heddle's own lists its projects.
  const isVerbatim = /[{}]/.test(templateTexts(template).join('')) && (await knownProjects(service)) === undefined;
  const filled = isVerbatim ? (prompt ?? []) : messages;
  return { name, modelId: llmModel?.llm_model_id, messages, filled, columnMap };
}

/** Reads the value of a stored object; undefined if the text is no reference to one. */
async function readValue(text: unknown, service: ServiceClient): Promise<unknown> {
  const reference = typeof text === 'string' ? parseReference(text) : undefined;
  return reference?.kind === 'object' ? (await readVersion(reference, service))?.val : undefined;
}

/** Returns how many requests a run sends to models, and roughly how many tokens they have without the replies. */
export function planOf(
  messages: readonly unknown[],
  { count, sample }: DatasetRows,
  { judges }: Pick<EvaluationScorers, 'judges'>,
  trials: number,
): RunPlan {
  const model_requests = count * trials;
  const templates = [messages, ...judges.map((judge) => judge.messages)];
  const chars = sample.flatMap((row) => templates.map((template) => filledChars(template, row)));
  const estimated_tokens = Math.ceil(((sumOf(chars)! / sample.length) * model_requests) / charsPerToken);
  return {
    rows: count,
    model_requests,
    judge_requests: model_requests * judges.length,
    estimated_tokens,
    detectable: rounded(Math.min(1, detectableDifference(worstDeviation, count)), 4),
  };
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
 * Reads the messages of a stored prompt or model, and the id of the model.
 * @throws HeddleError `not_found` or `invalid_arguments` when there are none.
 */
export async function readTemplate(
  text: string,
  kind: 'prompt' | 'model',
  service: ServiceClient,
): Promise<{ messages: unknown[]; modelId?: string }> {
  const reference = parseReference(text);
  const version = reference?.kind === 'object' ? await readVersion(reference, service) : undefined;
  if (!version) {
    throw new HeddleError({
      code: reference ? 'not_found' : 'invalid_arguments',
      message: `Nothing was started: the ${kind} ${text} does not exist.`,
      hint: `Check the reference, or pass ${kind === 'prompt' ? 'the text of the prompt' : 'the id of a model of inference'} itself.`,
    });
  }
  const model = parseLlmModel(version.val);
  const messages = kind === 'prompt' ? messagesOfPrompt(version.val) : model && (await messagesOfModel(model, service));
  if (messages) return { messages, ...(model && { modelId: model.llm_model_id }) };
  throw new HeddleError({
    code: 'invalid_arguments',
    message: `Nothing was started: ${text} is no ${kind === 'prompt' ? 'prompt with messages' : 'stored model of inference'}.`,
    hint: 'Call read_object to see what it is.',
  });
}

/** Reads the messages that begin every request to a model: those of its prompt, or its template. */
async function messagesOfModel({ default_params }: LlmModel, service: ServiceClient): Promise<unknown[]> {
  const { prompt, messages_template } = default_params ?? {};
  if (prompt == null) return messages_template ?? [];
  return messagesOfPrompt(await readValue(prompt, service)) ?? [];
}
