import { withFallback } from '../client/with-fallback.ts';
import { parseReference } from '../contract/references.ts';
import { type LlmModel, parseLlmModel, parseScorer, type RunnableScorer } from '../contract/scorers.ts';
import { concurrently } from '../core/concurrently.ts';
import { HeddleError } from '../core/errors.ts';
import type { ServiceAccess } from '../records/call-context.ts';
import { readVersion } from '../records/object-versions.ts';
import { filledChars } from '../records/prompt-template.ts';
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
export interface RunPlan {
  rows: number;
  predictions: number;
  judge_calls: number;
  estimated_tokens: number;
}

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
export async function readDataset({ val, name }: FoundEvaluation, access: ServiceAccess): Promise<DatasetRows> {
  const reference = typeof val.dataset === 'string' ? parseReference(val.dataset) : undefined;
  const version = reference && (await readVersion(reference, access));
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
  const read = (limit: number): Promise<Row[]> => readTable(project_id, table.name, limit, access);
  const count = await withFallback(
    async () =>
      (await access.service.call('countTableRows', { body: { project_id, digest: table.name } }, access)).count,
    async () => (await read(Number.MAX_SAFE_INTEGER)).length,
  );
  return { reference: val.dataset as string, count, sample: await read(sampledRows), read };
}

async function readTable(project_id: string, digest: string, limit: number, access: ServiceAccess): Promise<Row[]> {
  const rows: Row[] = [];
  while (rows.length < limit) {
    const page = { limit: Math.min(rowsPerRequest, limit - rows.length), offset: rows.length };
    const found = await access.service.call(
      'queryTable',
      { body: { project_id, digest, ...page } },
      { signal: access.signal },
    );
    rows.push(...found.rows.map(({ val }) => val as Row));
    if (found.rows.length < page.limit) break;
  }
  return rows;
}

/** Reads the scorers of an evaluation. */
export async function readScorers({ val }: FoundEvaluation, access: ServiceAccess): Promise<EvaluationScorers> {
  const references = Array.isArray(val.scorers) ? val.scorers : [];
  const read = await concurrently(references, concurrentReads, async (text: unknown) => {
    const reference = typeof text === 'string' ? parseReference(text) : undefined;
    const version = reference && (await readVersion(reference, access));
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
  const chars = used.reduce(
    (sum, row) => sum + [messages, ...judgeMessages].reduce((total, template) => total + filledChars(template, row), 0),
    0,
  );
  const tokens = used.length === 0 ? 0 : Math.ceil(((chars / used.length) * predictions) / charsPerToken);
  return { rows, predictions, judge_calls: predictions * judges.length, estimated_tokens: tokens };
}

/**
 * Reads the messages of a stored prompt or model.
 * @throws HeddleError `not_found` or `invalid_arguments` when there are none.
 */
export async function readTemplate(
  text: string,
  kind: 'prompt' | 'model',
  access: ServiceAccess,
): Promise<{ messages: unknown[]; model?: LlmModel }> {
  const reference = parseReference(text);
  const version = reference?.kind === 'object' ? await readVersion(reference, access) : undefined;
  if (!version) {
    throw new HeddleError({
      code: reference ? 'not_found' : 'invalid_arguments',
      message: `Nothing was started: the ${kind} ${text} does not exist.`,
      hint: `Check the reference, or pass ${kind === 'prompt' ? 'the text of the prompt' : 'the id of a model of inference'} itself.`,
    });
  }
  const val = version.val as { messages?: unknown; content?: unknown } | null;
  if (kind === 'model') {
    const model = parseLlmModel(val);
    if (model) return { messages: model.default_params?.messages_template ?? [], model };
  } else if (Array.isArray(val?.messages)) {
    return { messages: val.messages };
  } else if (typeof val?.content === 'string') {
    return { messages: [{ role: 'user', content: val.content }] };
  }
  throw new HeddleError({
    code: 'invalid_arguments',
    message: `Nothing was started: ${text} is no ${kind === 'prompt' ? 'prompt with messages' : 'stored model of inference'}.`,
    hint: 'Call read_object to see what it is.',
  });
}
