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

/** Converts an error of the driver or the server to one that a user can act on, unless heddle itself is at fault. */
export function postgresFailure(error: unknown, duringCommit: boolean): unknown {
  const { code = '', message } = error as NodeJS.ErrnoException;
  // The driver itself fails if the server asks for a password and none is configured.
  let failure: ErrorFields | undefined = /password/i.test(message) ? refused : unreachable;
  if (error instanceof pg.DatabaseError) failure = serverFailures.find(({ states }) => states.test(code));
  if (duringCommit && isConnectionLost(error)) failure = outcomeUnknown;
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

const outcomeUnknown: ErrorFields = {
  ...unavailable,
  // An automatic retry could make the change twice.
  retryable: false,
  message: 'The connection to the database was lost while a change was saved; it may or may not have been saved',
  hint: 'Check whether the change was saved before you repeat it.',
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
