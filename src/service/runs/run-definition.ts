import type { ResultOf } from '../../contract/endpoints.ts';
import { messagesOfPrompt } from '../../contract/prompts.ts';
import { objectReference, parseReference, type Reference } from '../../contract/references.ts';
import {
  type ComparisonScorer,
  type LlmModel,
  parseLlmModel,
  parseScorer,
  type RunnableScorer,
} from '../../contract/scorers.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { isJsonObject, type Members, objectOrEmpty } from '../../core/json/json-object.ts';
import { ownMember } from '../../core/json/member-at.ts';
import { compileLinearPattern } from '../../core/linear-pattern.ts';
import type { Transaction } from '../storage/database.ts';
import { contentDigest, tableDigest } from '../storage/digest.ts';
import { type Access, findReferenced, parseContent, readPrompt, withMarks } from '../storage/object-versions.ts';
import { findTable, putRows, putTable } from '../storage/row-tables.ts';
import { operationReference, runOperations } from './recorded-runs.ts';

/** A request to a model of inference, without its messages. */
export interface ModelRequest {
  /** Members of the body. */
  body: Members & { model: string };
  /** Messages that begin every request. */
  messages: unknown[];
  /** True if the reply is JSON text. */
  isJson: boolean;
}

/** A scorer that a run applies, with everything that it refers to. */
export type RunScorer = { key: string; reference: string; operation: string } & (
  | { kind: 'comparison'; scorer: ComparisonScorer }
  | {
      kind: 'judge';
      request: ModelRequest;
      /** Messages whose placeholders take the output and the columns of the row. */
      prompt: unknown[];
      columns: Record<string, string>;
      replySchema: Members | null;
    }
);

/** A scorer that a run cannot apply. */
export type LeftOutScorer = NonNullable<ResultOf<'evaluateModel'>['left_out_scorers']>[number];

/** The plan of a run, as it was when the run began. */
export interface RunDefinition {
  evaluation: string;
  model: string;
  request: ModelRequest;
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

interface DefinitionRequest extends Access {
  project_id: string;
  evaluation_ref: string;
  model_ref: string;
  account: string;
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
  const resolved = await resolveScorers(transaction, Array.isArray(scorers) ? scorers : [], request, operation);
  return {
    definition: {
      evaluation: evaluation.reference,
      model: model.reference,
      request: await modelRequest(transaction, llmModel, request),
      operations: { trial: await operation(runOperations.trial), predict: await operation(`${model.name}.predict`) },
      scorers: resolved.scorers,
      ...rows,
      trials: Number(trials),
    },
    leftOut: resolved.leftOut,
    name: typeof evaluation_name === 'string' ? evaluation_name : null,
  };
}

function wrongClass(kind: string, expected: string, found: string): Refusal {
  return new Refusal(400, `Invalid ${kind} reference: expected ${expected}, got ${found}`);
}

interface StoredVersion {
  /** The reference with a digest. */
  reference: string;
  project_id: string;
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
  return { reference, project_id, name: object_id, className: leaf_object_class ?? 'a plain object', val };
}

/** Finds the table with the rows of a dataset. Rows that a dataset has in itself are stored as a table of the project. */
async function readDataset(
  transaction: Transaction,
  dataset: unknown,
  request: DefinitionRequest,
): Promise<Pick<RunDefinition, 'table' | 'rowCount' | 'rowReference'>> {
  const { project_id, account } = request;
  const { val, className, reference, ...stored } = await readVersion(transaction, dataset, 'Dataset', request);
  if (className !== 'Dataset') throw wrongClass('dataset', 'Dataset', className);
  const { rows } = objectOrEmpty(val);
  if (Array.isArray(rows)) {
    if (!rows.every(isJsonObject)) {
      throw new Refusal(400, 'The dataset has rows that are no objects');
    }
    const digests = rows.map(contentDigest);
    const table = { project_id, table_digest: tableDigest(digests) };
    if (!(await findTable(transaction, table))) {
      await putRows(transaction, project_id, rows, digests);
      await putTable(transaction, { project_id, digest: table.table_digest, created_by: account }, digests);
    }
    return { table, rowCount: rows.length, rowReference: null };
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
  access: Access,
  operation: (name: string) => Promise<string>,
): Promise<{ scorers: RunScorer[]; leftOut: LeftOutScorer[] }> {
  if (scorers.length > maxScorers) throw new Refusal(400, `A run has at most ${maxScorers} scorers`);
  const resolved: RunScorer[] = [];
  const leftOut: LeftOutScorer[] = [];
  const keys = new Map<string, number>();
  for (const text of scorers) {
    const stored = await findStored(transaction, text, access);
    const parsed = stored && parseScorer(stored.val);
    const parts = parsed ? await resolveScorer(transaction, parsed, access) : reasonToLeaveOut(text, stored);
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
    resolved.push({ key, reference, operation: await operation(`${key}.score`), ...parts });
  }
  return { scorers: resolved, leftOut };
}

function reasonToLeaveOut(text: unknown, stored: StoredVersion | undefined): string {
  if (stored) return `Objects of the class ${stored.className} cannot be run here.`;
  const kind = typeof text === 'string' ? parseReference(text)?.kind : undefined;
  return kind === 'op' ? 'It is code of another program.' : 'It was not found.';
}

type ScorerParts = RunScorer extends infer Scorer
  ? Scorer extends RunScorer
    ? Omit<Scorer, 'key' | 'reference' | 'operation'>
    : never
  : never;

/** Reads what a scorer refers to. Returns the reason if it cannot be run. */
async function resolveScorer(
  transaction: Transaction,
  parsed: RunnableScorer,
  access: Access,
): Promise<ScorerParts | string> {
  if (parsed.type === 'comparison') {
    const { scorer } = parsed;
    if (scorer.kind === 'matches') {
      try {
        compileLinearPattern(scorer.pattern);
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
        return `Its pattern is invalid: ${error.message}`;
      }
    }
    return { kind: 'comparison', scorer };
  }
  const { model, scoring_prompt, scoring_prompt_ref, column_map, reply_schema } = parsed.scorer;
  const llmModel =
    typeof model === 'string' ? parseLlmModel((await findStored(transaction, model, access))?.val) : model;
  if (!llmModel) return 'Its model was not found, or is no LLMStructuredCompletionModel.';
  const text = scoring_prompt_ref ?? scoring_prompt;
  if (text == null) return 'It has no scoring_prompt.';
  const prompt = parseReference(text)
    ? messagesOfPrompt(await readPrompt(transaction, text, access))
    : [{ role: 'user', content: text }];
  if (!prompt) return `Its prompt ${text} was not found.`;
  const request = await modelRequest(transaction, llmModel, access);
  const columns = column_map ?? {};
  return { kind: 'judge', request, prompt, columns, replySchema: reply_schema ?? null };
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
