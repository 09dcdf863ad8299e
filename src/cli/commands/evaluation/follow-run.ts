import { setTimeout as delay } from 'node:timers/promises';
import { HeddleError } from '../../../core/errors.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { progressBar, showProgress } from '../../terminal/progress.ts';

/** Time between two looks at a run: short at first, because small runs end soon. */
const minPollMs = 100;
const maxPollMs = 2000;

/** The progress of a run at the last look. */
export interface RunProgress {
  runId: string;
  done: number;
  total: number | undefined;
}

type ServerOptions = Runtime['serverOptions'];

/**
 * Waits until a run has ended, with a progress bar. Without the run, or without its project, it returns at once.
 * @throws HeddleError `cancelled` if the signal aborts, which leaves the run alone.
 */
export async function waitForEnd(runId: string, serverOptions: ServerOptions, signal: AbortSignal): Promise<void> {
  try {
    await pollUntilEnd(runId, serverOptions, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new HeddleError({
      code: 'cancelled',
      message: `Stopped waiting for the run ${runId}, which is not cancelled.`,
      hint: `\`heddle evaluation show ${runId} --wait\` waits again. The embedded service goes on with a run while any heddle uses its data.`,
    });
  }
}

async function pollUntilEnd(runId: string, serverOptions: ServerOptions, signal: AbortSignal): Promise<void> {
  for (let pollMs = minPollMs; ; pollMs = Math.min(maxPollMs, pollMs * 1.5)) {
    const status = await statusOf(runId, serverOptions, signal);
    if (status?.code !== 'running') {
      showProgress('');
      return;
    }
    showProgress(progressBar('predictions', status.completed_rows ?? 0, status.total_rows ?? undefined));
    await delay(pollMs, undefined, { signal });
  }
}

/** Returns the error that tells a person who pressed Ctrl-C what has become of the run, and how to go on. */
export async function interruptedRun(
  { runId, done, total }: RunProgress,
  serverOptions: ServerOptions,
): Promise<HeddleError> {
  const show = `heddle evaluation show ${runId}`;
  const status = await statusOf(runId, serverOptions).catch((error: Error) => error);
  if (status instanceof Error || status === undefined || status.code === 'running') {
    return new HeddleError({
      code: 'cancelled',
      message:
        status instanceof Error
          ? `The run ${runId} may go on: its state could not be read. ${status.message}`
          : `The run ${runId} could not be cancelled and goes on.`,
      hint: `\`${show} --wait\` waits for its end and prints the results.`,
    });
  }
  if (status.code === 'complete') {
    return new HeddleError({
      code: 'cancelled',
      message: `The run ${runId} was complete before it could be cancelled.`,
      hint: `\`${show}\` prints the results.`,
    });
  }
  return new HeddleError({
    code: 'cancelled',
    message: `The run ${runId} was cancelled after ${done}${total === undefined ? '' : ` of ${total}`} predictions.`,
    hint: `\`${show}\` prints what was done until then. A cancelled run does not go on: the same command starts a new one.`,
  });
}

async function statusOf(runId: string, { service, project }: ServerOptions, signal?: AbortSignal) {
  if (project === undefined) return undefined;
  const client = await service();
  const body = { project_id: project, call_id: runId };
  return (await client.call('evaluationStatus', { body }, signal ? { signal } : {})).status;
}
