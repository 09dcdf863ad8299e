import { type ComparisonScorer, columnOfPlaceholder } from '../../contract/scorers.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { canonicalJson } from '../../core/json/canonical-json.ts';
import { parseFencedJson } from '../../core/json/fenced-json.ts';
import { type Members, objectOrEmpty } from '../../core/json/json-object.ts';
import { fitsSchema } from '../../core/json/json-schema.ts';
import { ownMember } from '../../core/json/member-at.ts';
import { isDeeperThan, JsonLimitError, parseJsonText } from '../../core/json/parse-json.ts';
import { compileLinearPattern } from '../../core/linear-pattern.ts';
import { type ModelClient, NoReplyError } from '../inference/model-client.ts';
import { applyTemplateVariables } from '../inference/template-variables.ts';
import type { ModelRequest, RunScorer } from './run-definition.ts';

/** The result of asking a model or of applying a scorer. `exception` says why there is no output. */
export interface Outcome {
  output?: unknown;
  exception?: string;
  /** Counts by model, as calls have them in `summary.usage`. */
  usage: Record<string, Members>;
}

/** The row, the output and what is needed to ask a model. */
interface Judged {
  row: Members;
  output: unknown;
  modelClient: ModelClient;
  signal: AbortSignal;
}

/**
 * Asks the model of a run about a row.
 * @throws the reason of `signal` when it is aborted.
 */
export async function predict(
  request: ModelRequest,
  row: Members,
  { modelClient, signal }: Pick<Judged, 'modelClient' | 'signal'>,
): Promise<Outcome> {
  return asOutcome(request, async () => {
    const messages = applyTemplateVariables(request.messages, row);
    const { content, usage } = await modelClient.ask(request.body, messages, signal);
    if (!request.isJson) return { output: content, usage };
    const parsed = typeof content === 'string' ? parseFencedJson(content) : undefined;
    return parsed ? { output: parsed.value, usage } : { exception: 'The reply of the model is not JSON.', usage };
  });
}

/**
 * Applies a scorer to an output.
 * @throws the reason of `signal` when it is aborted.
 */
export async function applyScorer(scorer: RunScorer, judged: Judged): Promise<Outcome> {
  if (scorer.kind === 'judge') return judge(scorer, judged);
  try {
    return { output: compare(scorer.scorer, judged.output, judged.row), usage: {} };
  } catch (error) {
    if (error instanceof NoScore) return { exception: error.message, usage: {} };
    throw error;
  }
}

/** Explains why a scorer has no score for an output. */
class NoScore extends Error {}

const numberPattern = /^[+-]?(\d{1,400}(\.\d{0,400})?|\.\d{1,400})(e[+-]?\d{1,3})?$/i;

function compare(scorer: ComparisonScorer, output: unknown, row: Members): boolean {
  switch (scorer.kind) {
    case 'equals':
      return textOf(output, scorer) === textOf(expectedOf(scorer.expected, row), scorer);
    case 'contains':
      return textOf(output, scorer).includes(textOf(expectedOf(scorer.expected, row), scorer));
    case 'matches':
      return patternOf(scorer)(textOf(output, { ignore_case: false }));
    case 'number_within': {
      const expected = numberOf(expectedOf(scorer.expected, row));
      if (expected === undefined) throw new NoScore(`The column ${scorer.expected} of the row is no number.`);
      const found = numberOf(output);
      return found !== undefined && Math.abs(found - expected) <= scorer.tolerance;
    }
    case 'json_valid':
      return typeof output !== 'string' || isJson(output);
  }
}

type PatternScorer = ComparisonScorer & { kind: 'matches' };
const patterns = new WeakMap<PatternScorer, (text: string) => boolean>();

/** Compiles the pattern of a scorer once. */
function patternOf(scorer: PatternScorer): (text: string) => boolean {
  const compiled =
    patterns.get(scorer) ?? compileLinearPattern(scorer.pattern, { ignoreCase: scorer.ignore_case === true });
  patterns.set(scorer, compiled);
  return compiled;
}

function expectedOf(column: string, row: Members): unknown {
  if (!Object.hasOwn(row, column)) throw new NoScore(`The row has no column ${column}.`);
  return ownMember(row, column);
}

function textOf(value: unknown, { ignore_case }: { ignore_case?: boolean | null }): string {
  const text = (typeof value === 'string' ? value : canonicalJson(value ?? null)).trim();
  return ignore_case ? text.toLowerCase() : text;
}

function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  const text = typeof value === 'string' ? value.trim() : '';
  return numberPattern.test(text) ? Number(text) : undefined;
}

function isJson(text: string): boolean {
  try {
    parseJsonText(text);
    return true;
  } catch (error) {
    if (error instanceof JsonLimitError) throw new NoScore(`The output is ${error.message}.`);
    return false;
  }
}

/** Asks a model for its judgement; once again if the reply does not have the form that was asked for. */
async function judge(
  { request, prompt, columns, replySchema }: RunScorer & { kind: 'judge' },
  { row, output, modelClient, signal }: Judged,
): Promise<Outcome> {
  return asOutcome(request, async () => {
    const names = new Set([...Object.keys(row), ...Object.keys(columns)]);
    const named = [...names].flatMap((name) => {
      const column = columnOfPlaceholder(name, columns);
      return column !== undefined && Object.hasOwn(row, column) ? [[name, ownMember(row, column)]] : [];
    });
    const variables = { inputs: row, ...Object.fromEntries(named), output };
    const messages = applyTemplateVariables([...request.messages, ...prompt], variables);
    const total: Members = Object.create(null);
    for (let attempt = 1; ; attempt += 1) {
      const { content, usage } = await modelClient.ask(request.body, messages, signal);
      addCounts(total, { requests: 1, ...usage });
      if (!replySchema && !request.isJson) return { output: content, usage: total };
      const parsed = typeof content === 'string' ? parseFencedJson(content) : undefined;
      if (parsed && (!replySchema || fitsSchema(replySchema, parsed.value)))
        return { output: parsed.value, usage: total };
      if (attempt < 2) continue;
      const fault = parsed ? 'does not fit the schema' : 'is not JSON';
      return { exception: `The reply of the judge ${fault}, also when it was asked again.`, usage: total };
    }
  });
}

/** Less than what clients read, because results contain the reply some levels down. */
const maxReplyNesting = 400;

/** Turns the failures of a model, and of placeholders that the row cannot fill, into outcomes. */
async function asOutcome(
  { body }: ModelRequest,
  ask: () => Promise<{ output?: unknown; exception?: string; usage: Members | undefined }>,
): Promise<Outcome> {
  try {
    const { usage, ...outcome } = await ask();
    const counts = usage && Object.keys(usage).length > 0 ? { [body.model]: { requests: 1, ...usage } } : {};
    if (isDeeperThan([outcome.output, usage], maxReplyNesting)) {
      return { exception: `The reply of the model is nested deeper than ${maxReplyNesting} levels.`, usage: {} };
    }
    return { ...outcome, usage: counts };
  } catch (error) {
    if (error instanceof NoReplyError || error instanceof Refusal) return { exception: error.message, usage: {} };
    throw error;
  }
}

/** Adds counts to those of the same name; `total` has no prototype, because the names come from outside. */
function addCounts(total: Members, counts: unknown): void {
  for (const [name, value] of Object.entries(objectOrEmpty(counts))) {
    if (typeof value === 'number') total[name] = Number(total[name] ?? 0) + value;
  }
}

/** Adds up usage by model. */
export function sumUsage(list: readonly Record<string, unknown>[]): Record<string, Members> {
  const total: Record<string, Members> = Object.create(null);
  for (const usage of list) {
    for (const [model, counts] of Object.entries(usage)) {
      total[model] ??= Object.create(null) as Members;
      addCounts(total[model], counts);
    }
  }
  return total;
}
