import pg from 'pg';
import { type ErrorFields, HeddleError } from '../../../core/errors.ts';

/** Returns true if an error of the driver or the server means that its connection can no longer be used. */
export function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return true;
  const { severity, code = '' } = error;
  return severity === 'FATAL' || severity === 'PANIC' || /^(08|57P)/.test(code);
}

/**
 * Returns true if a conflicting transaction caused a failure. That includes a unique violation (23505), since the service
 * looks true duplicates up first or leaves them to ON CONFLICT.
 */
export function isConflict(error: unknown): boolean {
  const { cause } = error as Error;
  return cause instanceof pg.DatabaseError && /^(40001|40P01|23505)$/.test(cause.code ?? '');
}

/** Returns true if the server accepts no changes. A standby cannot even begin the transaction of a change (0A000). */
export function isReadOnly(error: unknown): boolean {
  return error instanceof pg.DatabaseError && /^(25006|0A000)$/.test(error.code ?? '');
}

/** A server of several can be reached, but accepts no changes. */
export class ReadOnlyHostError extends Error {
  constructor() {
    super('The server accepts no changes.');
  }
}

/** Converts the failures to connect to each host to one error: the one that a user must mend, or else the nearest to success. */
export function connectFailure(failures: readonly unknown[]): unknown {
  const converted = failures.map((error) => postgresFailure(error, false));
  const wrongSettings = converted.find((error) => error instanceof HeddleError && error.code === 'not_configured');
  const readOnly = converted[failures.findIndex((error) => error instanceof ReadOnlyHostError)];
  return wrongSettings ?? readOnly ?? converted[0];
}

/** Returns the error for a change that may or may not have been saved. `event` is the start of the message. */
export function outcomeUnknown(event: string, cause?: unknown): HeddleError {
  return new HeddleError({
    ...unavailable,
    // An automatic retry could make the change twice.
    retryable: false,
    message: `${event}; it may or may not have been saved.`,
    hint: 'Check whether the change was saved before you repeat it.',
    ...(cause !== undefined && { cause }),
  });
}

/** Converts an error of the driver or the server to one that a user can act on, unless heddle itself is at fault. */
export function postgresFailure(error: unknown, duringCommit: boolean): unknown {
  if (error instanceof ReadOnlyHostError) return new HeddleError({ ...noPrimary, cause: error });
  const { code = '', message } = error as NodeJS.ErrnoException;
  // The driver itself fails if the server asks for a password and none is configured.
  let failure: ErrorFields | undefined = /password/i.test(message) ? refused : unreachable;
  if (error instanceof pg.DatabaseError) failure = serverFailures.find(({ states }) => states.test(code));
  if (duringCommit && isConnectionLost(error)) {
    return outcomeUnknown(
      `The connection to the database was lost while a change was saved${code && ` (${code})`}`,
      error,
    );
  }
  if (!failure) return error;
  return new HeddleError({ ...failure, message: `${failure.message}${code && ` (${code})`}.`, cause: error });
}

const unavailable = { code: 'service_unavailable', status: 503, retryable: true } as const;

const unreachable: ErrorFields = {
  ...unavailable,
  message: 'The database cannot be reached',
  hint: 'Check that PostgreSQL is running, and that HEDDLE_DATABASE_URL or --database has its address and the right sslmode.',
};

const refused: ErrorFields = {
  code: 'not_configured',
  status: 503,
  message: 'The database refuses this user, or the database or schema does not exist',
  hint: 'Check HEDDLE_DATABASE_URL or --database, and the password in it, in PGPASSWORD or in ~/.pgpass. The user must be allowed to create tables.',
};

const noPrimary: ErrorFields = {
  ...unavailable,
  message: 'No server of the database accepts changes.',
  hint: 'Start the primary or promote a standby, and check that HEDDLE_DATABASE_URL or --database lists it.',
};

/** Failures that the server reports; `states` matches their SQLSTATE codes. */
const serverFailures: (ErrorFields & { states: RegExp })[] = [
  { states: /^(08|57P|53300)/, ...unreachable },
  { states: /^(28|3D000|3F000|42501)/, ...refused },
  {
    states: /^(40|23505|55P03)/,
    ...unavailable,
    message: 'Other changes to the same data were in the way for 10 seconds',
    hint: 'Try again. If it keeps happening, let fewer clients change the same data at once.',
  },
  {
    states: /^(53|57014|58|25P03)/,
    ...unavailable,
    message: 'The database took too long, or lacks disk space, memory or another resource',
    hint: 'Read the PostgreSQL log, find out what keeps the database busy, then try again.',
  },
  {
    // A standby cannot run serializable transactions (0A000).
    states: /^(25006|0A000)/,
    ...unavailable,
    message: 'The database is read-only, such as a standby, or lacks a feature that heddle needs',
    hint: 'Set HEDDLE_DATABASE_URL or --database to the address of a primary of PostgreSQL 12 or later.',
  },
  {
    states: /^(22021|22P05|54000)/,
    code: 'invalid_arguments',
    status: 400,
    message: 'Text contains a NUL character or is too long for an index, so PostgreSQL cannot store it',
    hint: 'Remove NUL characters, and shorten names and identifiers to 2,000 bytes.',
  },
];
