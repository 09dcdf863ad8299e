import * as z from 'zod';
import type { ServiceClient } from '../client/service-client.ts';
import { withFallback } from '../client/with-fallback.ts';
import { fillPlaceholders, messagesOfPrompt, templateTexts } from '../contract/prompts.ts';
import { parseReference } from '../contract/references.ts';
import {
  type LlmJudgeScorer,
  type LlmModel,
  parseLlmModel,
  parseScorer,
  type RunnableScorer,
} from '../contract/scorers.ts';
import { concurrently } from '../core/concurrently.ts';
import { HeddleError } from '../core/errors.ts';
import { ownMember } from '../core/json/member-at.ts';
import { sumOf } from '../core/statistics/score-lists.ts';
import { readVersion } from '../records/read-objects.ts';
import { knownProjects } from '../records/require-project.ts';
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

/** The plan of a run. Each prediction of a row is one request to the model, and one to each judge. */
export const runPlan = z.object({
  rows: z.int(),
  model_requests: z.int(),
  judge_requests: z.int(),
  estimated_tokens: z.int(),
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

/** The scorers of an evaluation: those that ask a model, and the names of those that compare and of unknown ones. */
export interface EvaluationScorers {
  judges: Judge[];
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
    return { name, scorer, judges: await readJudges(name, scorer, service) };
  });
  return {
    judges: read.flatMap(({ judges }) => judges),
    comparisons: read.flatMap(({ name, scorer }) => (scorer && scorer.type !== 'judge' ? [name] : [])),
    unknown: read.flatMap(({ name, scorer }) => (scorer ? [] : [name])),
  };
}

/** Reads the judges that a scorer asks, one for each request. The service reports what does not exist. */
async function readJudges(name: string, scorer: RunnableScorer | undefined, service: ServiceClient): Promise<Judge[]> {
  if (scorer?.type === 'judge') return [await readJudge(name, scorer.scorer, service)];
  if (scorer?.type === 'combined') return (await readScorersOf(scorer.scorer.scorers, service)).judges;
  if (scorer?.type !== 'pairwise') return [];
  const { model, prompt, both_orders } = scorer.scorer;
  // The two answers are no columns of the row.
  const scoring_prompt = prompt.replaceAll(/\{(first|second)\}/g, '{output}');
  const judge = await readJudge(name, { model, scoring_prompt }, service);
  return both_orders ? [judge, judge] : [judge];
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
  { trials, maxRows }: { trials: number; maxRows: number },
): RunPlan {
  const rows = Math.min(count, maxRows);
  const model_requests = rows * trials;
  const used = sample.slice(0, rows);
  const templates = [messages, ...judges.map((judge) => judge.messages)];
  const chars = used.flatMap((row) => templates.map((template) => filledChars(template, row)));
  const estimated_tokens = Math.ceil(((sumOf(chars)! / used.length) * model_requests) / charsPerToken);
  return { rows, model_requests, judge_requests: model_requests * judges.length, estimated_tokens };
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
