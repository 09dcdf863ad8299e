import type { RecordedCall } from '../../contract/calls.ts';
import { parsePartReference } from '../../contract/references.ts';
import { withPlainNumbers } from '../../core/json/exact-number.ts';
import { type Members, objectOrEmpty } from '../../core/json/json-object.ts';
import type { RequestBudget } from '../request-budget.ts';
import type { Database } from '../storage/database.ts';
import { memoryBytesOf } from '../storage/memory-bytes.ts';
import { readPricesAt } from '../storage/model-prices.ts';
import { createPartReader, type PartReader } from '../storage/read-part.ts';
import type { PredictionFacts } from './compare-output.ts';
import type { Outcome } from './predict-and-score.ts';
import { findCall, readTrees } from './recorded-runs.ts';
import { toTrial } from './recorded-trials.ts';
import { costOfUsage } from './run-budget.ts';
import { type RunSource, readsFact, type ScorerParts } from './run-definition.ts';
import type { SourceOutput } from './trial-events.ts';

/**
 * Reads the output of a recorded call, or of a trial of a run.
 * @returns undefined if the call does not exist any more.
 */
export async function readSourceOutput(
  database: Database,
  project_id: string,
  { kind, id }: { kind: RunSource['kind']; id: string },
  budget: RequestBudget,
): Promise<SourceOutput | undefined> {
  const call = await findCall(database, project_id, id, budget);
  if (!call) return undefined;
  await budget.reserve(memoryBytesOf(JSON.stringify(call)), 'score smaller calls');
  const readPart = createPartReader(database, (project) => project === project_id, budget);
  return kind === 'calls' ? ofCall(call, readPart) : ofTrial(database, project_id, call, readPart, budget);
}

/** Returns what an output took, as far as scorers need it. */
export async function readFacts(
  database: Database,
  project_id: string,
  scorers: readonly ScorerParts[],
  { prediction: { started_at, ended_at }, usage }: Pick<SourceOutput, 'prediction' | 'usage'>,
): Promise<PredictionFacts> {
  const latencySeconds = (Date.parse(ended_at) - Date.parse(started_at)) / 1000;
  if (!scorers.some((scorer) => readsFact(scorer, 'cost_within'))) return { latencySeconds };
  const prices = await database.read((transaction) =>
    readPricesAt(transaction, project_id, Object.keys(usage), Date.parse(started_at)),
  );
  return { latencySeconds, costUsd: costOfUsage(usage, prices) };
}

async function ofCall(call: RecordedCall, readPart: PartReader): Promise<SourceOutput> {
  const inputs = Object.entries(objectOrEmpty(withPlainNumbers(call.inputs)));
  const value: [string, unknown][] = [];
  for (const [name, input] of inputs) value.push([name, await resolved(input, readPart)]);
  const row = Object.fromEntries(value);
  return {
    row: { value: row, example: row },
    prediction: {
      started_at: call.started_at ?? '',
      ended_at: call.ended_at ?? call.started_at ?? '',
      output: withPlainNumbers(call.output),
      usage: {},
      ...(!call.ended_at && { exception: 'The call has not ended.' }),
      ...(call.exception != null && { exception: call.exception }),
    },
    usage: usageOf(call),
    callId: call.id,
  };
}

async function ofTrial(
  database: Database,
  project_id: string,
  call: RecordedCall,
  readPart: PartReader,
  budget: RequestBudget,
): Promise<SourceOutput> {
  const children = [];
  for await (const [tree] of readTrees(database, project_id, [call], budget)) children.push(...tree!.children);
  const { model_output, error, predict_call_id, model_latency_seconds } = toTrial(call, children);
  const asked = children.find(({ id }) => id === predict_call_id);
  const { started_at, ended_at } = asked ?? call;
  const { example } = objectOrEmpty(call.inputs);
  return {
    row: { value: objectOrEmpty(withPlainNumbers(await resolved(example, readPart))), example },
    prediction: {
      started_at: started_at ?? '',
      ended_at: (asked ? ended_at : laterBy(started_at, model_latency_seconds ?? 0)) ?? '',
      output: withPlainNumbers(model_output),
      usage: {},
      ...(!call.ended_at && !asked?.ended_at && { exception: 'The run ended before there was an output.' }),
      ...(error != null && { exception: error }),
    },
    // The usage of a trial without a call of the model is that of its judges.
    usage: asked ? usageOf(asked) : {},
    callId: predict_call_id ?? call.id,
  };
}

function laterBy(time: string | null | undefined, seconds: number): string | undefined {
  return time == null ? undefined : new Date(Date.parse(time) + 1000 * seconds).toISOString();
}

/** Returns the value that a reference leads to; any other value, or a reference that leads to none, as it is. */
async function resolved(value: unknown, readPart: PartReader): Promise<unknown> {
  const reference = typeof value === 'string' ? parsePartReference(value) : undefined;
  return (reference && (await readPart(reference))) ?? value;
}

function usageOf({ summary }: RecordedCall): Outcome['usage'] {
  return objectOrEmpty(withPlainNumbers(objectOrEmpty(summary).usage)) as Record<string, Members>;
}
