import { HeddleError } from '../../core/errors.ts';
import { onUncaught } from '../../runtime/process-lifecycle.ts';
import { redactor } from './redactor.ts';

/** Runs what the process is for, with the guards around it; a failure is said on stderr and sets the exit code. */
export async function guarded(work: () => Promise<void>): Promise<void> {
  // A reader that has seen enough, like head, closes the pipe: that is no failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
  // What crashes past every boundary may quote a service, and goes through the same gate as everything else.
  redactor.protectEnvironment(process.env);
  onUncaught((error) => process.exit(reportFailure(error)));
  await work().catch((error) => {
    process.exitCode = reportFailure(error);
  });
}

/** Says on stderr what went wrong; returns the exit code: 2 for wrong configuration, 1 for a failure. */
function reportFailure(error: unknown): number {
  if (error instanceof HeddleError) {
    complain(`${error.message}\n${error.hint}`);
    return error.code === 'not_configured' ? 2 : 1;
  }
  complain(`unexpected failure: ${error instanceof Error ? error.stack : error}`);
  return 1;
}

/** One complaint on stderr, without secrets. */
export function complain(text: string): void {
  process.stderr.write(redactor.redact(`heddle: ${text}\n`));
}
