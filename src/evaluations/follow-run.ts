import { setTimeout as delay } from 'node:timers/promises';
import type { ServiceClient } from '../client/service-client.ts';
import type { ResultOf } from '../contract/endpoints.ts';
import type { CallContext } from '../records/call-context.ts';

export type RunStatus = ResultOf<'evaluationStatus'>['status'];

/** Time between two looks at a run: short at first, because small runs end soon. */
const minPollMs = 100;
const maxPollMs = 2000;

interface FollowOptions {
  /** True for a run that was just started: a service may record it only a moment after it has answered. */
  isNew?: boolean;
  /** Returns whether there is no time for another look after this many milliseconds; by default there always is. */
  isTimeUp?: (pollMs: number) => boolean;
}

/** Waits until a run has ended, or until the time is up, and reports its progress. Returns its last status. */
export async function followRun(
  call_id: string,
  project_id: string,
  { service, progress }: Pick<CallContext, 'service' | 'progress'>,
  { isNew = false, isTimeUp = () => false }: FollowOptions = {},
): Promise<RunStatus> {
  let last: RunStatus | undefined;
  const look = async (): Promise<RunStatus | undefined> => {
    const { status } = await service.call('evaluationStatus', { body: { project_id, call_id } });
    last = status;
    const { code, completed_rows, total_rows } = status;
    if (code !== 'running' && !(code === 'not_found' && isNew)) return status;
    progress({ done: completed_rows ?? 0, total: total_rows ?? undefined, unit: 'predictions', run_id: call_id });
    return undefined;
  };
  return (await lookUntil(look, service.signal, isTimeUp)) ?? last!;
}

/**
 * Looks again and again, at first often, until a look returns something, and returns that; undefined when the time is up.
 * @param isTimeUp tells whether there is no time for another look after so many milliseconds.
 */
export async function lookUntil<T>(
  look: () => Promise<T | undefined>,
  signal: AbortSignal | undefined,
  isTimeUp: (pollMs: number) => boolean,
): Promise<T | undefined> {
  for (let pollMs = minPollMs; ; pollMs = Math.min(maxPollMs, pollMs * 1.5)) {
    const found = await look();
    if (found !== undefined || isTimeUp(pollMs)) return found;
    await delay(pollMs, undefined, { signal });
  }
}

/** Time that is left for the result when the waiting ends, at most, and as a share of the time of the call. */
const maxReserveMs = 10_000;
const reserveShare = 0.2;

/** Returns a function that tells whether, after so many more milliseconds, too little of the time of a call is left to go on waiting. */
export function timeLimitOf(service: ServiceClient): (pollMs: number) => boolean {
  const reserveMs = Math.min(maxReserveMs, service.remainingMs * reserveShare);
  return (pollMs) => service.remainingMs - pollMs < reserveMs;
}

/** Does work that waits for a run, and cancels the run if the call is cancelled meanwhile. */
export async function cancellingRun<T>(
  run: { project_id: string; call_id: string },
  service: ServiceClient,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (service.signal?.aborted) {
      await service
        .withSignal(undefined)
        .call('cancelEvaluation', { body: run })
        .catch(() => undefined);
    }
    throw error;
  }
}
