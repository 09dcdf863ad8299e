import { HeddleError } from '../../../core/errors.ts';
import { followRun } from '../../../evaluations/follow-run.ts';
import type { McpServerOptions } from '../../../mcp/server.ts';
import type { Progress } from '../../../records/call-context.ts';
import { drawProgress, showProgress } from '../../terminal/progress.ts';

/**
 * Waits until a run has ended, with a progress bar. Without the run, or without its project, it returns at once.
 * @throws HeddleError `cancelled` if the signal aborts, which leaves the run alone.
 */
export async function waitForEnd(
  runId: string,
  { service, project }: McpServerOptions,
  signal: AbortSignal,
): Promise<void> {
  if (project === undefined) return;
  try {
    await followRun(runId, project, { service: (await service()).withSignal(signal), progress: drawProgress });
    showProgress('');
  } catch (error) {
    if (!signal.aborted) throw error;
    throw stopped(
      `Stopped waiting for the run ${runId}, which is not cancelled.`,
      `\`heddle evaluation show ${runId} --wait\` waits again. The embedded service continues a run while any heddle uses its data.`,
    );
  }
}

/**
 * Returns the error that tells a person who pressed Ctrl-C what happened to the run, and how to continue.
 * @param reached the progress of the run at the last look.
 */
export async function interruptedRun(
  runId: string,
  { done, total }: Progress,
  serverOptions: McpServerOptions,
): Promise<HeddleError> {
  const show = `heddle evaluation show ${runId}`;
  const waiting = `\`${show} --wait\` waits for its end and prints the results.`;
  const status = await statusOf(runId, serverOptions).catch((error: Error) => error);
  if (status instanceof Error) {
    return stopped(`The run ${runId} may still be running: its state could not be read. ${status.message}`, waiting);
  }
  if (status === undefined || status.code === 'running') {
    return stopped(`The run ${runId} could not be cancelled and is still running.`, waiting);
  }
  if (status.code === 'complete') {
    return stopped(`The run ${runId} was complete before it could be cancelled.`, `\`${show}\` prints the results.`);
  }
  return stopped(
    `The run ${runId} was cancelled after ${done}${total === undefined ? '' : ` of ${total}`} predictions.`,
    `\`${show}\` prints what was done until then. A cancelled run does not continue: the same command starts a new one.`,
  );
}

function stopped(message: string, hint: string): HeddleError {
  return new HeddleError({ code: 'cancelled', message, hint });
}

async function statusOf(runId: string, { service, project }: McpServerOptions) {
  if (project === undefined) return undefined;
  const body = { project_id: project, call_id: runId };
  return (await (await service()).call('evaluationStatus', { body })).status;
}
