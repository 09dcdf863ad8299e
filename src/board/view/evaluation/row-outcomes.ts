import type { ShownRow } from '../../../evaluations/rank-rows.ts';
import { isCut } from '../values/value-view.ts';

export interface RowOutcome {
  callId?: string;
  output: unknown;
  scores: ReadonlyMap<string, unknown>;
  error?: string;
}

/** Returns what each run made of a row, in the order of the runs. */
export function outcomesOf({ call_id, call_ids, output, outputs, scores, error, errors }: ShownRow): RowOutcome[] {
  const given = Object.entries(scores);
  if (!outputs) return [{ callId: call_id, output, scores: new Map(given), ...(error && { error }) }];
  return outputs.map((each, index) => {
    const callId = call_ids?.[index];
    const failure = errors?.[index];
    return {
      ...(callId && { callId }),
      output: each ?? undefined,
      scores: new Map(given.map(([name, values]) => [name, (values as unknown[])[index] ?? undefined])),
      ...(failure && { error: failure }),
    };
  });
}

/** A trial is recorded with its row as `example`, and its output under one of two names. */
export const outputPaths = ['output.output', 'output.model_output'];

/** Returns the paths of an input. A row that is no object is shown as the input `row`. */
export function inputPaths(name: string): string[] {
  const path = `inputs.example.${name}`;
  return name === 'row' ? [path, 'inputs.example'] : [path];
}

/** Returns the paths of a score. */
export function scorePaths(name: string): string[] {
  return [`output.scores.${name}`];
}

/** Returns the paths of the values that were cut, by the call that has them, except those whose keys `isKnown` knows. */
export function cutPaths(row: ShownRow, isKnown: (key: string) => boolean): Map<string, string[]> {
  const found = new Map<string, string[]>();
  const add = (value: unknown, callId: string | undefined, paths: string[]): void => {
    if (!isCut(value) || callId === undefined) return;
    const unread = paths.filter((path) => !isKnown(keyOf(callId, path)));
    if (unread.length > 0) found.set(callId, [...(found.get(callId) ?? []), ...unread]);
  };
  for (const [name, value] of Object.entries(row.inputs ?? {})) add(value, row.call_id, inputPaths(name));
  for (const { callId, output, scores } of outcomesOf(row)) {
    add(output, callId, outputPaths);
    for (const [name, value] of scores) add(value, callId, scorePaths(name));
  }
  return found;
}

/** Returns the key of a value of a recorded call. */
export function keyOf(callId: string, path: string): string {
  return `${callId} ${path}`;
}

/** Returns the name of a run by its place. */
export function runName(index: number): string {
  return `Run ${index + 1}`;
}
