import { CommanderError } from 'commander';
import { HeddleError } from '../../core/errors.ts';
import { redactor } from './secrets.ts';

/** A mistake in how a command was called. It is reported in one line, with exit code 2. */
export class UsageError extends Error {}

/** A failure of a command whose exit code 1 has a meaning of its own: that results are below a threshold. */
export class FailedWork extends Error {
  override readonly cause: unknown;

  constructor(cause: unknown) {
    super('The command could not do its work.');
    this.cause = cause;
  }
}

/**
 * Reports an error on stderr, without secrets, and returns the exit code: 2 for wrong usage or configuration, else 1, or 3 for
 * {@link FailedWork}.
 */
export function reportFailure(error: unknown): number {
  // Commander has already printed its message; its errors with exit code 0 are help and version.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof FailedWork) return reportFailure(error.cause) === 2 ? 2 : 3;
  if (error instanceof UsageError) {
    printError(error.message);
    return 2;
  }
  if (error instanceof HeddleError) {
    printError(`${error.message}\n${error.hint}`);
    return error.code === 'not_configured' ? 2 : 1;
  }
  printError(`unexpected failure: ${error instanceof Error ? error.stack : error}`);
  return 1;
}

function printError(text: string): void {
  process.stderr.write(redactor.redact(`heddle: ${text}\n`));
}
