import type { EndedCall, RecordedCall, StartedCall } from '../../contract/calls.ts';
import type { BodyOf } from '../../contract/endpoints.ts';
import { scoreFeedbackType } from '../../contract/feedback.ts';
import { callReference, parseReference } from '../../contract/references.ts';
import { digestOf } from '../storage/digest.ts';
import type { RunKey } from '../storage/evaluation-jobs.ts';
import type { KeptScore } from '../storage/kept-scores.ts';
import { type Outcome, sumUsage } from './predict-and-score.ts';
import { attributesOf } from './recorded-runs.ts';
import type { RunDefinition, RunScorer } from './run-definition.ts';

/** Starts and ends of calls, to be recorded together, and what is stored with them. */
export interface CallEvents {
  starts: StartedCall[];
  ends: EndedCall[];
  /** Scores that later runs may use again. */
  kept?: KeptScore[];
  /** Scores as feedback on the recorded calls that they are about. */
  feedback?: BodyOf<'createFeedback'>[];
}

/** An outcome, and when it came about. */
export interface TimedOutcome extends Outcome {
  started_at: string;
  ended_at: string;
}

/** The row of a trial: what it is, and the reference to it or the row itself for the calls that are not the model's. */
export interface TrialRow {
  value: Record<string, unknown>;
  example: unknown;
}

/** An output that another run or program has produced. */
export interface SourceOutput {
  row: TrialRow;
  /** Its usage is empty, since the run that takes it over spends nothing on it. */
  prediction: TimedOutcome;
  /** What it took when it was produced. */
  usage: Outcome['usage'];
  /** Id of the call that scores are about. */
  callId: string;
}

/**
 * Builds the events that record one trial. The ids of its calls follow from the run and the trial, so that recording them
 * twice changes nothing.
 */
export class TrialEvents {
  readonly id: string;
  readonly predictionId: string;
  readonly #key: RunKey;
  readonly #definition: RunDefinition;
  readonly #row: TrialRow;

  constructor(key: RunKey, definition: RunDefinition, trial: number, row: TrialRow) {
    this.#key = key;
    this.#definition = definition;
    this.#row = row;
    this.id = derivedId(key.call_id, `trial ${trial}`);
    this.predictionId = derivedId(this.id, 'prediction');
  }

  scoreId({ key }: Pick<RunScorer, 'key'>): string {
    return derivedId(this.id, `score ${key}`);
  }

  /** @param taken the output of another call, if no model is asked. */
  start(started_at: string, taken?: SourceOutput): CallEvents {
    const { evaluation, model, operations } = this.#definition;
    const ofSource = taken && { source_call_id: taken.callId };
    const start = {
      ...this.#members(this.#key.call_id),
      id: this.id,
      op_name: operations.trial,
      started_at,
      attributes: { weave: { predict_call_id: taken?.callId ?? this.predictionId, ...ofSource } },
      inputs: { self: evaluation, model, example: this.#row.example },
    };
    return { starts: [start], ends: [] };
  }

  prediction(outcome: TimedOutcome): CallEvents {
    const { model, operations } = this.#definition;
    const start = {
      ...this.#members(this.id),
      id: this.predictionId,
      op_name: operations.predict,
      started_at: outcome.started_at,
      attributes: { weave: { prediction: 'true', model, evaluation_run_id: this.#key.call_id } },
      inputs: { self: model, inputs: this.#row.value },
    };
    return { starts: [start], ends: [this.#end(this.predictionId, outcome)] };
  }

  /**
   * @param of what the score is about.
   * @param of.keptKey under which later runs find the score.
   */
  score(
    scorer: RunScorer,
    outcome: TimedOutcome,
    { output, taken, keptKey }: { output: unknown; taken: SourceOutput | undefined; keptKey: string | undefined },
  ): CallEvents {
    const id = this.scoreId(scorer);
    const { reusedCallId } = outcome;
    const of = {
      prediction_id: taken?.callId ?? this.predictionId,
      evaluation_run_id: this.#key.call_id,
      ...(reusedCallId !== undefined && { reused_call_id: reusedCallId }),
    };
    const start = {
      ...this.#members(this.id),
      id,
      op_name: scorer.operation,
      started_at: outcome.started_at,
      attributes: { weave: { score: 'true', scorer: scorer.reference, ...of } },
      inputs: { self: scorer.reference, inputs: this.#row.example, output: output ?? null },
    };
    const { project_id } = this.#key;
    const isKept = keptKey !== undefined && outcome.exception === undefined && reusedCallId === undefined;
    const isGiven = outcome.exception === undefined && outcome.output != null;
    const isFeedback = isGiven && this.#definition.source?.kind === 'calls' && taken;
    return {
      starts: [start],
      ends: [this.#end(id, outcome)],
      kept: isKept ? [{ project_id, content_digest: keptKey, call_id: id }] : [],
      feedback: isFeedback ? [this.#feedback(scorer, outcome, taken.callId, id)] : [],
    };
  }

  /** Returns a score as the public service attaches it to a recorded call. */
  #feedback(scorer: RunScorer, { output }: Outcome, callId: string, scoreId: string): BodyOf<'createFeedback'> {
    const { project_id } = this.#key;
    return {
      project_id,
      id: derivedId(scoreId, 'feedback'),
      weave_ref: callReference(project_id, callId),
      feedback_type: scoreFeedbackType(parseReference(scorer.reference)!.name),
      payload: { output: output ?? null },
      runnable_ref: scorer.reference,
      call_ref: callReference(project_id, scoreId),
    };
  }

  /**
   * Ends the trial with the scores of those scorers that did not fail.
   * @param outcomes the outcomes of the scorers, by the ids of their calls.
   */
  end(prediction: TimedOutcome, outcomes: ReadonlyMap<string, Outcome>, isTaken = false): CallEvents {
    const scores = this.#definition.scorers.flatMap((scorer) => {
      const outcome = outcomes.get(this.scoreId(scorer));
      return outcome ? [[scorer.key, outcome] as const] : [];
    });
    const all = [prediction, ...scores.map(([, outcome]) => outcome)];
    const errors = all.filter(({ exception }) => exception !== undefined).length;
    const reused_scores = scores.filter(([, { reusedCallId }]) => reusedCallId !== undefined).length;
    const given = scores.filter(([, { exception }]) => exception === undefined);
    const end: EndedCall = {
      project_id: this.#key.project_id,
      id: this.id,
      ended_at: new Date().toISOString(),
      output: {
        output: prediction.output ?? null,
        scores: Object.fromEntries(given.map(([key, { output }]) => [key, output ?? null])),
        model_latency: { mean: (Date.parse(prediction.ended_at) - Date.parse(prediction.started_at)) / 1000 },
      },
      summary: {
        usage: sumUsage(all.map(({ usage }) => usage)),
        status_counts: { success: all.length - errors, error: errors },
        ...(reused_scores > 0 && { reused_scores }),
      },
      // A trial without a call of the model tells itself why there is no output.
      ...(isTaken && prediction.exception !== undefined && { exception: prediction.exception }),
    };
    return { starts: [], ends: [end] };
  }

  #members(parent_id: string) {
    return { project_id: this.#key.project_id, trace_id: this.#key.call_id, parent_id };
  }

  #end(id: string, { ended_at, output, exception, usage }: TimedOutcome): EndedCall {
    const { project_id } = this.#key;
    return { project_id, id, ended_at, output: output ?? null, exception: exception ?? null, summary: { usage } };
  }
}

function derivedId(of: string, name: string): string {
  return digestOf(`${of}\n${name}`).slice(0, 24);
}

/** Returns the outcome that a recorded call had; undefined if it has not ended. */
export function outcomeOf(call: RecordedCall): TimedOutcome | undefined {
  if (!call.ended_at || !call.started_at) return undefined;
  const { started_at, ended_at, output, exception, summary } = call;
  const { usage } = Object(summary) as { usage?: Outcome['usage'] };
  const { reused_call_id } = attributesOf(call);
  return {
    started_at,
    ended_at,
    output,
    usage: usage ?? {},
    ...(exception != null && { exception }),
    ...(typeof reused_call_id === 'string' && { reusedCallId: reused_call_id }),
  };
}

/** Puts several events into one list each. */
export function joinEvents(events: readonly CallEvents[]): CallEvents {
  return {
    starts: events.flatMap(({ starts }) => starts),
    ends: events.flatMap(({ ends }) => ends),
    kept: events.flatMap(({ kept }) => kept ?? []),
    feedback: events.flatMap(({ feedback }) => feedback ?? []),
  };
}
