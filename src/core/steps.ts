import { setImmediate } from 'node:timers/promises';

/** Work that yields between steps of a few milliseconds each, and returns its result. */
export type Steps<Result> = Generator<void, Result>;

/** Time without a pause, after which others would notice. */
const pauseEveryMs = 20;

/** Does the work without a pause. */
export function resultOf<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Does the work and calls `pause` now and then, which may throw to end it; by default it lets other work run. */
export async function resultInSteps<Result>(
  steps: Steps<Result>,
  pause: () => Promise<void> = () => setImmediate(),
): Promise<Result> {
  for (let pausedAtMs = performance.now(); ; ) {
    const step = steps.next();
    if (step.done) return step.value;
    if (performance.now() - pausedAtMs < pauseEveryMs) continue;
    await pause();
    pausedAtMs = performance.now();
  }
}
