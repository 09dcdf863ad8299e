import type { RecordedCall } from '../../contract/calls.ts';
import type { EvaluationTrial } from '../../contract/evaluation-runs.ts';
import { plainNumber } from '../../core/json/exact-number.ts';
import { type Members, objectOrEmpty } from '../../core/json/json-object.ts';
import { unpricedIn } from '../../core/statistics/call-totals.ts';
import { sumOf } from '../../core/statistics/score-lists.ts';
import { attributesOf, type CallOfRun } from './recorded-runs.ts';

/** Returns the scores that a trial ended with, by the names of the scorers. */
export function scoresOf(trial: RecordedCall): Members {
  return objectOrEmpty(objectOrEmpty(trial.output).scores);
}

/** Returns the output of the model that a trial ended with; SDKs name it `output` or `model_output`. */
export function outputOf(trial: RecordedCall): unknown {
  const { output, model_output } = objectOrEmpty(trial.output);
  return output ?? model_output ?? null;
}

/**
 * Returns a trial as clients see it, whatever program recorded it.
 * @param children the calls that the trial made: one of the model, and one of each scorer.
 * @param options.hasCosts whether their costs were added.
 */
export function toTrial(
  trial: RecordedCall,
  children: readonly CallOfRun[],
  { hasCosts = false } = {},
): EvaluationTrial {
  const recorded = scoresOf(trial);
  const prediction = findPrediction(trial, children, recorded);
  const isScorer = (call: CallOfRun): boolean =>
    isMarkedScorer(call) || /\.score|scorer/i.test(call.operation) || Object.hasOwn(recorded, call.operation);
  const scorers = children.filter((call) => call !== prediction && isScorer(call));
  const scores = new Map(Object.entries(recorded));
  const errors = new Map<string, string>();
  for (const call of scorers) {
    const name = scorerKey(call);
    if (call.exception) errors.set(keyFor(recorded, call) ?? name, call.exception);
    // Scores may be added after the trial has ended.
    else if (call.ended_at && keyFor(recorded, call) === undefined) scores.set(name, call.output);
  }
  const ids = [...scores.keys()].flatMap((key) => {
    const call = scorers.find((scorer) => keyFor({ [key]: true }, scorer) !== undefined);
    return call ? [[key, call.id] as const] : [];
  });
  const asking = prediction ? [prediction, ...scorers] : scorers;
  const unpriced = hasCosts ? [...new Set(asking.flatMap(({ summary }) => unpricedIn(summary)))] : [];
  return {
    predict_and_score_call_id: trial.id,
    predict_call_id: prediction?.id ?? sourceCallOf(trial) ?? null,
    model_output: outputOf(trial) ?? prediction?.output ?? null,
    scores: Object.fromEntries(scores),
    model_latency_seconds: latencyOf(trial, prediction),
    // The usage of a trial whose output comes from elsewhere is that of its judges.
    total_tokens: sourceCallOf(trial) !== undefined ? null : tokensOf(prediction ?? trial),
    total_cost: costOf(prediction),
    judge_tokens: sumOf(scorers.flatMap((call) => tokensOf(call) ?? [])) ?? null,
    judge_cost: sumOf(scorers.flatMap((call) => costOf(call) ?? [])) ?? null,
    ...(unpriced.length > 0 && { unpriced_models: unpriced }),
    scorer_call_ids: Object.fromEntries(ids),
    error: prediction?.exception ?? trial.exception ?? null,
    scorer_errors: Object.fromEntries(errors),
  };
}

/** Returns the id of the call whose output a trial has taken over; undefined if its run asked for the output itself. */
function sourceCallOf(trial: RecordedCall): string | undefined {
  const { source_call_id } = attributesOf(trial);
  return typeof source_call_id === 'string' ? source_call_id : undefined;
}

/** Returns the call of the model: of the traced function that is the model, of a method of it, or of one that predicts. */
function findPrediction(trial: RecordedCall, children: readonly CallOfRun[], scores: Members): CallOfRun | undefined {
  const { model } = objectOrEmpty(trial.inputs);
  return children.find((call) => {
    if (isMarkedScorer(call)) return false;
    if (call.op_name === model || objectOrEmpty(call.inputs).self === model) return true;
    return /predict|invoke/i.test(call.operation) && !Object.hasOwn(scores, call.operation);
  });
}

function isMarkedScorer(call: RecordedCall): boolean {
  const { score } = objectOrEmpty(objectOrEmpty(call.attributes)._weave_eval_meta);
  return attributesOf(call).score === 'true' || Boolean(score);
}

/** Returns the name of the scorer that made a call. */
function scorerKey({ operation }: CallOfRun): string {
  return operation.replace(/\.score$/, '');
}

/**
 * Returns the name under which a trial has the score of a call; undefined if it has none. SDKs shorten the name of a
 * scorer: `helpfulness` is the score of `HelpfulnessScorer.score`, `known` is not the score of `unknown`.
 */
function keyFor(scores: Members, call: CallOfRun): string | undefined {
  const name = scorerKey(call);
  if (Object.hasOwn(scores, name)) return name;
  const operation = call.operation.toLowerCase();
  const beginsWord = (at: number): boolean => at === 0 || (at > 0 && !/[a-z0-9]/.test(operation.charAt(at - 1)));
  return Object.keys(scores)
    .filter((key) => key !== '' && beginsWord(operation.indexOf(key.toLowerCase())))
    .reduce<string | undefined>((longest, key) => (key.length > (longest?.length ?? 0) ? key : longest), undefined);
}

function latencyOf(trial: RecordedCall, prediction: RecordedCall | undefined): number | null {
  if (prediction?.started_at && prediction.ended_at) {
    return (Date.parse(prediction.ended_at) - Date.parse(prediction.started_at)) / 1000;
  }
  const { model_latency } = objectOrEmpty(trial.output);
  const latency = plainNumber(model_latency);
  const seconds = typeof latency === 'number' ? latency : plainNumber(objectOrEmpty(latency).mean);
  return typeof seconds === 'number' ? seconds : null;
}

function tokensOf(call: RecordedCall): number | null {
  const counts = Object.values(objectOrEmpty(objectOrEmpty(call.summary).usage))
    .map((usage) => plainNumber(objectOrEmpty(usage).total_tokens))
    .filter((tokens) => typeof tokens === 'number');
  return sumOf(counts.map(Math.trunc)) ?? null;
}

/** Returns what the models of a call cost; null if no price is known. */
function costOf(call: RecordedCall | undefined): number | null {
  const costs = Object.values(objectOrEmpty(objectOrEmpty(objectOrEmpty(call?.summary).weave).costs)).map(
    objectOrEmpty,
  );
  const costOfModel = ({ prompt_tokens_total_cost, completion_tokens_total_cost }: Members): number =>
    Number(prompt_tokens_total_cost ?? 0) + Number(completion_tokens_total_cost ?? 0);
  return sumOf(costs.map(costOfModel)) ?? null;
}
