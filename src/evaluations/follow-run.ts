import { setTimeout as delay } from 'node:timers/promises';
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
  for (let pollMs = minPollMs; ; pollMs = Math.min(maxPollMs, pollMs * 1.5)) {
    const { status } = await service.call('evaluationStatus', { body: { project_id, call_id } });
    const { code, completed_rows, total_rows } = status;
    if (code !== 'running' && !(code === 'not_found' && isNew)) return status;
    progress({ done: completed_rows ?? 0, total: total_rows ?? undefined, unit: 'predictions', run_id: call_id });
    if (isTimeUp(pollMs)) return status;
    await delay(pollMs, undefined, { signal: service.signal });
  }
}
