import { columnOfPlaceholder } from '../../contract/scorers.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { parseFencedJson } from '../../core/json/fenced-json.ts';
import { type Members, objectOrEmpty } from '../../core/json/json-object.ts';
import { fitsSchema } from '../../core/json/json-schema.ts';
import { ownMember } from '../../core/json/member-at.ts';
import { isDeeperThan } from '../../core/json/parse-json.ts';
import { meanOf, sumOf } from '../../core/statistics/score-lists.ts';
import { type ModelClient, NoReplyError, type RequestMeter } from '../inference/model-client.ts';
import { NoEndpointReply, type ScorerEndpoints } from '../inference/scorer-endpoints.ts';
import { applyTemplateVariables } from '../inference/template-variables.ts';
import { contentDigest } from '../storage/digest.ts';
import { type ComparedOutput, compareOutput, expectedOf, NoScore } from './compare-output.ts';
import { appliesTo, type ModelRequest, type ScorerParts } from './run-definition.ts';

/** The result of asking a model or of applying a scorer. `exception` says why there is no output. */
export interface Outcome {
  output?: unknown;
  exception?: string;
  /** Counts by model, as calls have them in `summary.usage`. */
  usage: Record<string, Members>;
  /** Id of the recorded call whose score is used again. */
  reusedCallId?: string;
  /** True if nothing was asked, because of the row. */
  isUnasked?: boolean;
}

/** What is needed to ask a model. */
export interface Asking {
  modelClient: ModelClient;
  signal: AbortSignal;
  /** Counts the requests. */
  meter?: RequestMeter | undefined;
}

/** The row, the output and what is needed to ask about them. */
export interface Judged extends ComparedOutput, Asking {
  scorerEndpoints: ScorerEndpoints;
}

/**
 * Asks the model of a run about a row.
 * @throws the reason of `signal` when it is aborted, and what the meter throws.
 */
export async function predict(request: ModelRequest, row: Members, asking: Asking): Promise<Outcome> {
  return asOutcome(request, async () => {
    const messages = applyTemplateVariables(request.messages, row);
    const { content, usage } = await asking.modelClient.ask(request.body, messages, asking.signal, asking.meter);
    if (!request.isJson) return { output: content, usage };
    const parsed = typeof content === 'string' ? parseFencedJson(content) : undefined;
    return parsed ? { output: parsed.value, usage } : { exception: 'The reply of the model is not JSON.', usage };
  });
}

/**
 * Applies a scorer to an output. The score is null where the scorer does not apply.
 * @throws the reason of `signal` when it is aborted, and what the meter throws.
 */
export async function applyScorer(scorer: ScorerParts, judged: Judged): Promise<Outcome> {
  try {
    if (!appliesTo(scorer, judged.row)) return { output: null, usage: {} };
    const outcome = await scoreWith(scorer, judged);
    return scorer.negate && outcome.exception === undefined && outcome.output != null
      ? { ...outcome, output: negated(outcome.output) }
      : outcome;
  } catch (error) {
    if (error instanceof NoEndpointReply) return { exception: error.message, usage: {} };
    if (error instanceof NoScore) return { exception: error.message, usage: {}, isUnasked: true };
    throw error;
  }
}

function scoreWith(scorer: ScorerParts, judged: Judged): Outcome | Promise<Outcome> {
  switch (scorer.kind) {
    case 'comparison':
      return { output: compareOutput(scorer.scorer, judged), usage: {} };
    case 'judge':
      return judge(scorer, judged);
    case 'pairwise':
      return judgePair(scorer, judged);
    case 'endpoint':
      return askEndpoint(scorer.endpoint, judged);
    case 'combined':
      return combine(scorer, judged);
  }
}

/** Returns the opposite of a score: of a truth value, of a number from 0 to 1, or of the member of an object that is one. */
function negated(output: unknown): unknown {
  if (typeof output === 'boolean') return !output;
  if (typeof output === 'number') return 1 - output;
  const member = scoreMembers.find((name) => ['boolean', 'number'].includes(typeof ownMember(output, name)));
  if (member === undefined) throw new NoScore('The score is no truth value and no number, so it cannot be negated.');
  return { ...objectOrEmpty(output), [member]: negated(ownMember(output, member)) };
}

/** The members in which scorers put whether an output passed, the first of which counts. */
const scoreMembers = ['passed', 'score'] as const;

/** Returns how far an output passed, from 0 to 1. */
function shareOf(output: unknown): number {
  const member = scoreMembers.find((name) => ownMember(output, name) !== undefined);
  const value = member === undefined ? output : ownMember(output, member);
  if (typeof value === 'boolean') return Number(value);
  if (typeof value === 'number' && value >= 0 && value <= 1) return value;
  throw new NoScore('One of the scores is no truth value and no number from 0 to 1, so it cannot be combined.');
}

/** Applies the scorers that another one joins; those that do not apply do not count. With weights, the score tells the share that passed as well. */
async function combine(
  { parts, isAny, weights, threshold }: ScorerParts & { kind: 'combined' },
  judged: Judged,
): Promise<Outcome> {
  const shares: { share: number; weight: number }[] = [];
  const usages: Outcome['usage'][] = [];
  for (const [at, part] of parts.entries()) {
    const outcome = await applyScorer(part, judged);
    usages.push(outcome.usage);
    if (outcome.exception !== undefined) return { ...outcome, usage: sumUsage(usages) };
    if (outcome.output != null) shares.push({ share: shareOf(outcome.output), weight: weights?.[at] ?? 1 });
  }
  const usage = sumUsage(usages);
  if (shares.length === 0) return { output: null, usage };
  const total = sumOf(shares.map(({ weight }) => weight))!;
  const score = total === 0 ? 0 : sumOf(shares.map(({ share, weight }) => share * weight))! / total;
  const needed = threshold ?? (isAny ? Number.MIN_VALUE : 1);
  // Sums of shares miss 1 by the last digits.
  const passed = score >= needed - 1e-9 && score > 0;
  return { output: weights == null && threshold == null ? passed : { passed, score }, usage };
}

/** Asks a model for its judgement. */
function judge(
  { request, prompt, columns, replySchema }: ScorerParts & { kind: 'judge' },
  judged: Judged,
): Promise<Outcome> {
  const { row, output } = judged;
  const variablesOf = (): Members => {
    const names = new Set([...Object.keys(row), ...Object.keys(columns)]);
    const named = [...names].flatMap((name) => {
      const column = columnOfPlaceholder(name, columns);
      return column !== undefined && Object.hasOwn(row, column) ? [[name, ownMember(row, column)]] : [];
    });
    return { inputs: row, ...Object.fromEntries(named), output };
  };
  return askJudge(request, prompt, replySchema, variablesOf, judged);
}

/**
 * Asks a judge which of two answers is better: the output or a value of the row, without saying which is which. The score is 1 if
 * the output is better, 0 if the other is, and 0.5 if neither; with both orders their mean.
 */
async function judgePair(
  { request, prompt, expected, seed, bothOrders }: ScorerParts & { kind: 'pairwise' },
  judged: Judged,
): Promise<Outcome> {
  const { row, output } = judged;
  const other = expectedOf(expected, row);
  // As many characters of a digest are odd as even, so one is as good as a coin; the same pair always comes in the same order.
  const isFirst = contentDigest([seed, row, output ?? null]).charCodeAt(0) % 2 === 1;
  const scores: number[] = [];
  const usages: Outcome['usage'][] = [];
  for (const comesFirst of bothOrders ? [isFirst, !isFirst] : [isFirst]) {
    const answers = comesFirst ? { first: output, second: other } : { first: other, second: output };
    const reply = await askJudge(request, prompt, pairwiseReply, () => ({ ...row, ...answers }), judged);
    usages.push(reply.usage);
    if (reply.exception !== undefined) return { ...reply, usage: sumUsage(usages) };
    const { better } = objectOrEmpty(reply.output);
    scores.push(better === 'tie' ? 0.5 : Number((better === 'first') === comesFirst));
  }
  const usage = sumUsage(usages);
  const score = meanOf(scores)!;
  if (!bothOrders) return { output: { score, output_was: isFirst ? 'first' : 'second' }, usage };
  return { output: { score, same_in_both_orders: scores[0] === scores[1] }, usage };
}

/** JSON Schema of the reply of a judge of two answers. */
const pairwiseReply = {
  type: 'object',
  properties: { reasoning: { type: 'string' }, better: { enum: ['first', 'second', 'tie'] } },
  required: ['better'],
};

/** Asks a judge; once again if the reply does not have the form that was asked for. */
function askJudge(
  request: ModelRequest,
  prompt: readonly unknown[],
  replySchema: Members | null,
  variablesOf: () => Members,
  { modelClient, signal, meter }: Asking,
): Promise<Outcome> {
  return asOutcome(request, async () => {
    const messages = applyTemplateVariables([...request.messages, ...prompt], variablesOf());
    const total: Members = Object.create(null);
    for (let attempt = 1; ; attempt += 1) {
      const { content, usage } = await modelClient.ask(request.body, messages, signal, meter);
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

/** Asks a program of the user for a score. */
async function askEndpoint(name: string, { scorerEndpoints, row, output, signal }: Judged): Promise<Outcome> {
  const reply = await scorerEndpoints.ask(name, { inputs: row, output: output ?? null }, signal);
  if (isDeeperThan(reply, maxReplyNesting)) throw new NoScore('The reply of the scorer is nested too deeply.');
  return { output: reply, usage: {} };
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
    if (error instanceof NoReplyError) return { exception: error.message, usage: {} };
    if (error instanceof Refusal) return { exception: error.message, usage: {}, isUnasked: true };
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
