import type { ResultOf } from '../../contract/endpoints.ts';
import type { RunLimits } from '../../contract/evaluations.ts';
import { messagesOfPrompt } from '../../contract/prompts.ts';
import { objectReference, parseReference, type Reference } from '../../contract/references.ts';
import {
  type ComparisonScorer,
  type LlmJudgeScorer,
  type LlmModel,
  parseLlmModel,
  parseScorer,
  type RunnableScorer,
} from '../../contract/scorers.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { isJsonObject, type Members, objectOrEmpty } from '../../core/json/json-object.ts';
import { ownMember } from '../../core/json/member-at.ts';
import { compileLinearPattern } from '../../core/linear-pattern.ts';
import type { ScorerEndpoints } from '../inference/scorer-endpoints.ts';
import type { Transaction } from '../storage/database.ts';
import { contentDigest, tableDigest } from '../storage/digest.ts';
import { readPricesAt, type TokenPrice } from '../storage/model-prices.ts';
import { type Access, findReferenced, parseContent, readPrompt, withMarks } from '../storage/object-versions.ts';
import { findTable, putRows, putTable } from '../storage/row-tables.ts';
import { operationReference, runOperations } from './recorded-runs.ts';

/** A request to a model of inference, without its messages. */
export interface ModelRequest {
  body: Members & { model: string };
  /** Messages that begin every request. */
  messages: unknown[];
  /** True if the reply is JSON text. */
  isJson: boolean;
}

/** What a scorer does, with everything that it refers to. */
export type ScorerParts = { negate: boolean; onlyIf?: string } & (
  | { kind: 'comparison'; scorer: ComparisonScorer }
  | {
      kind: 'judge';
      request: ModelRequest;
      /** Messages whose placeholders take the output and the columns of the row. */
      prompt: unknown[];
      columns: Record<string, string>;
      replySchema: Members | null;
    }
  | {
      kind: 'pairwise';
      request: ModelRequest;
      /** Messages whose placeholders take the two answers and the columns of the row. */
      prompt: unknown[];
      expected: string;
      seed: number;
      bothOrders: boolean;
    }
  | { kind: 'endpoint'; endpoint: string }
  | { kind: 'combined'; parts: ScorerParts[]; isAny: boolean; weights: number[] | null; threshold: number | null }
);

export type RunScorer = { key: string; reference: string; operation: string } & ScorerParts;

/** Returns the number of requests to models that a scorer takes, if each is answered at once. */
export function requestsOfScorer(scorer: ScorerParts): number {
  if (scorer.kind === 'judge') return 1;
  if (scorer.kind === 'pairwise') return scorer.bothOrders ? 2 : 1;
  if (scorer.kind === 'combined') return scorer.parts.reduce((sum, part) => sum + requestsOfScorer(part), 0);
  return 0;
}

/** Returns whether a scorer applies to a row; one that joins others does if any of them does. */
export function appliesTo(scorer: ScorerParts, row: Members): boolean {
  const { onlyIf } = scorer;
  if (onlyIf !== undefined && [undefined, null, false, ''].includes(ownMember(row, onlyIf) as null)) return false;
  return scorer.kind !== 'combined' || scorer.parts.some((part) => appliesTo(part, row));
}

/** Returns whether a scorer asks a model or an endpoint, so that its scores are worth keeping. */
export function isAsking(scorer: ScorerParts): boolean {
  if (scorer.kind === 'combined') return scorer.parts.some(isAsking);
  return scorer.kind !== 'comparison';
}

/** Returns whether a scorer looks at what the prediction took. */
export function readsFact(scorer: ScorerParts, kind: 'latency_within' | 'cost_within'): boolean {
  if (scorer.kind === 'combined') return scorer.parts.some((part) => readsFact(part, kind));
  return scorer.kind === 'comparison' && scorer.scorer.kind === kind;
}

/** Returns the scorers that ask judges, also as parts of others. */
export function judgesIn(scorer: ScorerParts): (ScorerParts & { kind: 'judge' | 'pairwise' })[] {
  if (scorer.kind === 'combined') return scorer.parts.flatMap(judgesIn);
  return scorer.kind === 'judge' || scorer.kind === 'pairwise' ? [scorer] : [];
}

/** Where the outputs of a run come from that does not ask for all of them. */
export interface RunSource {
  /** Trials of an earlier run, or recorded calls. */
  kind: 'trials' | 'calls';
  /** Rows with the member `call_id`: the trial or call of each prediction; without it where there is none. */
  table: { project_id: string; table_digest: string };
  /** True if the model is asked where there is no output; the rows are then those of the dataset. */
  asks: boolean;
}

/** A scorer that a run cannot apply. */
export type LeftOutScorer = NonNullable<ResultOf<'evaluateModel'>['left_out_scorers']>[number];

/** The plan of a run, as it was when the run began. */
export interface RunDefinition {
  /** Null for recorded calls that are scored without one. */
  evaluation: string | null;
  /** Null where no model is asked and none is known. */
  model: string | null;
  /** Null where no model is asked. */
  request: ModelRequest | null;
  source?: RunSource;
  budget?: RunLimits;
  /** Prices of the models, if there is a budget and all of them have one. */
  prices?: Record<string, TokenPrice>;
  operations: { trial: string; predict: string };
  scorers: RunScorer[];
  table: { project_id: string; table_digest: string };
  rowCount: number;
  trials: number;
  /** Precedes the digest of a row in the reference to it; null if the dataset has its rows in itself. */
  rowReference: string | null;
}

/** Limits what one run can make the service do. */
const maxTrials = 1_000_000;
const maxScorers = 100;

/** The members of a request that begins a run which its definition depends on. */
interface RunRequest extends Access {
  project_id: string;
  account: string;
  budget_limits: RunLimits | undefined;
  endpoints: ScorerEndpoints;
}

interface DefinitionRequest extends RunRequest {
  evaluation_ref: string;
  model_ref: string;
}

/**
 * Reads everything that a run needs, in a write transaction, which stores the operations of its calls.
 * @throws Refusal 404 for an unknown evaluation, model or dataset, 400 for one that cannot be run.
 */
export async function resolveDefinition(
  transaction: Transaction,
  request: DefinitionRequest,
): Promise<{ definition: RunDefinition; leftOut: LeftOutScorer[]; name: string | null }> {
  const { project_id, account } = request;
  const evaluation = await readVersion(transaction, request.evaluation_ref, 'Evaluation', request);
  if (evaluation.className !== 'Evaluation') throw wrongClass('evaluation', 'Evaluation', evaluation.className);
  const model = await readVersion(transaction, request.model_ref, 'Model', request);
  const llmModel = parseLlmModel(model.val);
  if (!llmModel) throw wrongClass('model', 'LLMStructuredCompletionModel', model.className);
  const { dataset, scorers, trials = 1, evaluation_name } = objectOrEmpty(evaluation.val);
  if (!Number.isInteger(trials) || Number(trials) < 1) throw new Refusal(400, `Invalid number of trials: ${trials}`);
  const rows = await readDataset(transaction, dataset, request);
  const count = rows.rowCount * Number(trials);
  if (count > maxTrials) throw new Refusal(400, `A run has at most ${maxTrials} predictions, not ${count}`);
  const operation = (name: string) => operationReference(transaction, { project_id, name, account });
  const resolved = await resolveScorers(transaction, Array.isArray(scorers) ? scorers : [], request);
  const modelOfRun = await modelRequest(transaction, llmModel, request);
  return {
    definition: {
      evaluation: evaluation.reference,
      model: model.reference,
      request: modelOfRun,
      ...(await budgetOf(transaction, [modelOfRun], resolved.scorers, request)),
      operations: { trial: await operation(runOperations.trial), predict: await operation(`${model.name}.predict`) },
      scorers: resolved.scorers,
      ...rows,
      trials: Number(trials),
    },
    leftOut: resolved.leftOut,
    name: typeof evaluation_name === 'string' ? evaluation_name : null,
  };
}

/**
 * Reads everything that a run needs which scores outputs that exist, in a write transaction, which stores the operations of its
 * calls.
 * @param callIds the trials or calls that are scored.
 * @throws Refusal 400 for a budget that cannot be kept.
 */
export async function resolveScoring(
  transaction: Transaction,
  request: RunRequest & {
    evaluation: string | null;
    model: string | null;
    kind: RunSource['kind'];
    callIds: readonly string[];
    scorer_refs: readonly unknown[];
  },
): Promise<{ definition: RunDefinition; leftOut: LeftOutScorer[]; name: string | null }> {
  const { project_id, account, evaluation, model, kind, callIds, scorer_refs } = request;
  const { scorers, leftOut } = await resolveScorers(transaction, scorer_refs, request);
  const table = await putSource(transaction, callIds, request);
  const trial = await operationReference(transaction, { project_id, name: runOperations.trial, account });
  const definition: RunDefinition = {
    evaluation,
    model,
    request: null,
    source: { kind, table, asks: false },
    ...(await budgetOf(transaction, [], scorers, request)),
    operations: { trial, predict: trial },
    scorers,
    table,
    rowCount: callIds.length,
    trials: 1,
    rowReference: null,
  };
  return { definition, leftOut, name: null };
}

/** Stores the ids of the trials or calls that a run takes its outputs from, in a write transaction; undefined stands for none. */
export async function putSource(
  transaction: Transaction,
  callIds: readonly (string | undefined)[],
  { project_id, account }: Pick<RunRequest, 'project_id' | 'account'>,
): Promise<RunSource['table']> {
  const rows = callIds.map((call_id) => (call_id === undefined ? {} : { call_id }));
  return storeTable(transaction, rows, { project_id, account });
}

/** Stores rows as a table of the project. */
async function storeTable(
  transaction: Transaction,
  rows: readonly object[],
  { project_id, account }: Pick<RunRequest, 'project_id' | 'account'>,
): Promise<RunDefinition['table']> {
  const digests = rows.map(contentDigest);
  const table = { project_id, table_digest: tableDigest(digests) };
  if (!(await findTable(transaction, table))) {
    await putRows(transaction, project_id, rows, digests);
    await putTable(transaction, { project_id, digest: table.table_digest, created_by: account }, digests);
  }
  return table;
}

/**
 * Returns the budget of a run, with the prices of its models.
 * @throws Refusal 400 for a limit in USD and a model without a price.
 */
async function budgetOf(
  transaction: Transaction,
  requests: readonly ModelRequest[],
  scorers: readonly ScorerParts[],
  { project_id, budget_limits }: RunRequest,
): Promise<Pick<RunDefinition, 'budget' | 'prices'>> {
  if (!budget_limits) return {};
  const all = [...requests, ...scorers.flatMap(judgesIn).map(({ request }) => request)];
  const models = [...new Set(all.map(({ body }) => body.model))];
  const prices = await readPricesAt(transaction, project_id, models, Date.now());
  const unknown = models.find((model) => !prices.has(model));
  if (unknown === undefined) return { budget: budget_limits, prices: Object.fromEntries(prices) };
  if (budget_limits.usd === undefined) return { budget: budget_limits };
  throw new Refusal(
    400,
    `A budget in USD needs the price of the model ${unknown}, and project ${project_id} has none: \`heddle price\` stores it; or limit tokens or requests`,
  );
}

function wrongClass(kind: string, expected: string, found: string): Refusal {
  return new Refusal(400, `Invalid ${kind} reference: expected ${expected}, got ${found}`);
}

interface StoredVersion {
  /** The reference with a digest. */
  reference: string;
  name: string;
  className: string;
  val: unknown;
}

async function readVersion(
  transaction: Transaction,
  text: unknown,
  kind: string,
  access: Access,
): Promise<StoredVersion> {
  const found = await findStored(transaction, text, access);
  if (!found) throw new Refusal(404, `${kind} ${text} not found`);
  return found;
}

async function findStored(transaction: Transaction, text: unknown, access: Access): Promise<StoredVersion | undefined> {
  const parsed: Reference | undefined = typeof text === 'string' ? parseReference(text) : undefined;
  const row = parsed?.kind === 'object' ? await findReferenced(transaction, parsed, access.maySee) : undefined;
  if (!row) return undefined;
  const { project_id, object_id, digest, leaf_object_class } = row;
  const reference = objectReference(project_id, object_id, digest);
  const val = withMarks(await parseContent(row, access), row);
  return { reference, name: object_id, className: leaf_object_class ?? 'a plain object', val };
}

/** Finds the table with the rows of a dataset. Rows that a dataset has in itself are stored as a table of the project. */
async function readDataset(
  transaction: Transaction,
  dataset: unknown,
  request: RunRequest,
): Promise<Pick<RunDefinition, 'table' | 'rowCount' | 'rowReference'>> {
  const { val, className, reference, ...stored } = await readVersion(transaction, dataset, 'Dataset', request);
  if (className !== 'Dataset') throw wrongClass('dataset', 'Dataset', className);
  const { rows } = objectOrEmpty(val);
  if (Array.isArray(rows)) {
    if (!rows.every(isJsonObject)) {
      throw new Refusal(400, 'The dataset has rows that are no objects');
    }
    return { table: await storeTable(transaction, rows, request), rowCount: rows.length, rowReference: null };
  }
  const found = await findRowTable(transaction, rows, request);
  if (!found) throw new Refusal(400, `The dataset ${stored.name} has no rows that can be read`);
  return { ...found, rowReference: `${reference}/attr/rows/id/` };
}

/** Finds the table that a dataset refers to for its rows; undefined if it is unknown or may not be seen. */
async function findRowTable(
  transaction: Transaction,
  rows: unknown,
  access: Access,
): Promise<Pick<RunDefinition, 'table' | 'rowCount'> | undefined> {
  const reference = typeof rows === 'string' ? parseReference(rows) : undefined;
  const project_id = `${reference?.entity}/${reference?.project}`;
  if (reference?.kind !== 'table' || !access.maySee(project_id)) return undefined;
  const table = { project_id, table_digest: reference.name };
  const found = await findTable(transaction, table);
  return found && { table, rowCount: found.row_count };
}

/** Counts the predictions that a run of an evaluation makes; 0 if that is unknown. */
export async function countPlanned(
  transaction: Transaction,
  evaluationReference: unknown,
  access: Access,
): Promise<number> {
  const evaluation = await findStored(transaction, evaluationReference, access);
  const { dataset, trials = 1 } = objectOrEmpty(evaluation?.val);
  const { rows } = objectOrEmpty((await findStored(transaction, dataset, access))?.val);
  const rowCount = Array.isArray(rows) ? rows.length : (await findRowTable(transaction, rows, access))?.rowCount;
  return (rowCount ?? 0) * Number(trials);
}

async function resolveScorers(
  transaction: Transaction,
  scorers: readonly unknown[],
  request: RunRequest,
): Promise<{ scorers: RunScorer[]; leftOut: LeftOutScorer[] }> {
  if (scorers.length > maxScorers) throw new Refusal(400, `A run has at most ${maxScorers} scorers`);
  const resolved: RunScorer[] = [];
  const leftOut: LeftOutScorer[] = [];
  const keys = new Map<string, number>();
  for (const text of scorers) {
    const stored = await findStored(transaction, text, request);
    const parsed = stored && parseScorer(stored.val);
    const parts = parsed ? await resolveScorer(transaction, parsed, request) : reasonToLeaveOut(text, stored);
    if (typeof parts === 'string') {
      leftOut.push({
        scorer: stored?.reference ?? (typeof text === 'string' ? text : JSON.stringify(text)),
        reason: parts,
      });
      continue;
    }
    const { name, reference } = stored!;
    const uses = (keys.get(name) ?? 0) + 1;
    keys.set(name, uses);
    const key = uses === 1 ? name : `${name}_${uses}`;
    const { project_id, account } = request;
    const operation = await operationReference(transaction, { project_id, name: `${key}.score`, account });
    resolved.push({ key, reference, operation, ...parts });
  }
  return { scorers: resolved, leftOut };
}

function reasonToLeaveOut(text: unknown, stored: StoredVersion | undefined): string {
  if (stored) return `Objects of the class ${stored.className} cannot be run here.`;
  const kind = typeof text === 'string' ? parseReference(text)?.kind : undefined;
  return kind === 'op' ? 'It is code of another program.' : 'It was not found.';
}

/** Levels on which scorers may be parts of others. */
const maxScorerNesting = 2;

/** Reads what a scorer refers to. Returns the reason if it cannot be run. */
export async function resolveScorer(
  transaction: Transaction,
  parsed: RunnableScorer,
  access: Access & Pick<RunRequest, 'endpoints'>,
  nesting = 1,
): Promise<ScorerParts | string> {
  const parts = await resolveParts(transaction, parsed, access, nesting);
  const { only_if } = parsed.scorer;
  return typeof parts === 'string' || only_if == null ? parts : { ...parts, onlyIf: only_if };
}

async function resolveParts(
  transaction: Transaction,
  parsed: RunnableScorer,
  access: Access & Pick<RunRequest, 'endpoints'>,
  nesting: number,
): Promise<ScorerParts | string> {
  if (parsed.type === 'judge') return resolveJudge(transaction, parsed.scorer, access);
  const negate = parsed.scorer.negate === true;
  switch (parsed.type) {
    case 'comparison':
      return patternFault(parsed.scorer) ?? { kind: 'comparison', negate, scorer: parsed.scorer };
    case 'endpoint': {
      const { endpoint } = parsed.scorer;
      if (access.endpoints.has(endpoint)) return { kind: 'endpoint', negate, endpoint };
      return `The settings of the service name no endpoint ${endpoint}.`;
    }
    case 'pairwise': {
      const { model, prompt, expected, seed, both_orders } = parsed.scorer;
      const llmModel = await findModel(transaction, model, access);
      if (!llmModel) return modelNotFound;
      return {
        kind: 'pairwise',
        negate,
        request: await modelRequest(transaction, llmModel, access),
        prompt: [{ role: 'user', content: prompt }],
        expected,
        seed: seed ?? 0,
        bothOrders: both_orders === true,
      };
    }
    case 'combined': {
      if (nesting > maxScorerNesting) return `Scorers are parts of others on more than ${maxScorerNesting} levels.`;
      const { kind, scorers, weights = null, threshold = null } = parsed.scorer;
      const parts: ScorerParts[] = [];
      for (const text of scorers) {
        const stored = await findStored(transaction, text, access);
        const part = stored && parseScorer(stored.val);
        const resolved = part
          ? await resolveScorer(transaction, part, access, nesting + 1)
          : reasonToLeaveOut(text, stored);
        if (typeof resolved === 'string') return `Of its part ${text}: ${resolved}`;
        parts.push(resolved);
      }
      return { kind: 'combined', negate, parts, isAny: kind === 'any_of', weights, threshold };
    }
  }
}

const modelNotFound = 'Its model was not found, or is no LLMStructuredCompletionModel.';

function patternFault(scorer: ComparisonScorer): string | undefined {
  if (scorer.kind !== 'matches') return undefined;
  try {
    compileLinearPattern(scorer.pattern);
    return undefined;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return `Its pattern is invalid: ${error.message}`;
  }
}

/** Returns the model of a judge, which is a part of it or stored on its own. */
async function findModel(
  transaction: Transaction,
  model: string | LlmModel,
  access: Access,
): Promise<LlmModel | undefined> {
  return typeof model === 'string' ? parseLlmModel((await findStored(transaction, model, access))?.val) : model;
}

async function resolveJudge(
  transaction: Transaction,
  { model, scoring_prompt, scoring_prompt_ref, column_map, reply_schema }: LlmJudgeScorer,
  access: Access,
): Promise<ScorerParts | string> {
  const llmModel = await findModel(transaction, model, access);
  if (!llmModel) return modelNotFound;
  const text = scoring_prompt_ref ?? scoring_prompt;
  if (text == null) return 'It has no scoring_prompt.';
  const prompt = parseReference(text)
    ? messagesOfPrompt(await readPrompt(transaction, text, access))
    : [{ role: 'user', content: text }];
  if (!prompt) return `Its prompt ${text} was not found.`;
  const request = await modelRequest(transaction, llmModel, access);
  const columns = column_map ?? {};
  return { kind: 'judge', negate: false, request, prompt, columns, replySchema: reply_schema ?? null };
}

/** Parameters of a model that are members of a request under the same name. */
const parameters = ['temperature', 'top_p', 'max_tokens', 'presence_penalty', 'frequency_penalty', 'stop', 'functions'];

async function modelRequest(
  transaction: Transaction,
  { llm_model_id, default_params }: LlmModel,
  access: Access,
): Promise<ModelRequest> {
  const given = objectOrEmpty(default_params);
  const { prompt, messages_template, response_format } = given;
  let messages: unknown[] = Array.isArray(messages_template) ? messages_template.map(withoutNulls) : [];
  if (typeof prompt === 'string') {
    const stored = messagesOfPrompt(await readPrompt(transaction, prompt, access));
    if (!stored) throw new Refusal(404, `Prompt ${prompt} not found`);
    messages = stored;
  }
  const isJson = response_format === 'json_object' || response_format === 'json';
  const set = parameters.filter((name) => (ownMember(given, name) ?? null) !== null);
  const body = {
    model: llm_model_id,
    ...Object.fromEntries(set.map((name) => [name, ownMember(given, name)])),
    ...(isJson && { response_format: { type: 'json_object' } }),
  };
  return { body, messages, isJson };
}

/** Removes members that are null, which stored messages have and model providers refuse. */
function withoutNulls(message: unknown): unknown {
  return Object.fromEntries(Object.entries(objectOrEmpty(message)).filter(([, value]) => value !== null));
}
