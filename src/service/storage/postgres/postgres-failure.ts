import { type ErrorFields, HeddleError } from '../../../core/errors.ts';

/** A failure of the PostgreSQL driver or server, as opposed to one of the code that uses them. */
export class PostgresFailure extends Error {
  /** The server's SQLSTATE code, or undefined if the connection itself failed. */
  readonly sqlState: string | undefined;
  /** True if the connection can no longer be used. */
  readonly isConnectionLost: boolean;
  /** True if the connection was lost during a commit, so that nobody knows its outcome. */
  readonly isOutcomeUnknown: boolean;

  constructor(cause: unknown, duringCommit = false) {
    super((cause as Error).message, { cause });
    const { severity, code } = cause as { severity?: string; code?: string };
    this.sqlState = severity === undefined ? undefined : code;
    this.isConnectionLost =
      this.sqlState === undefined || severity === 'FATAL' || severity === 'PANIC' || this.#is('08', '57P');
    this.isOutcomeUnknown = duringCommit && (this.isConnectionLost || this.#is('40003'));
  }

  /**
   * True if a conflicting transaction caused the rollback of this one. That includes a unique violation (23505), since the
   * service looks true duplicates up first or leaves them to ON CONFLICT.
   */
  get isConflict(): boolean {
    return !this.isOutcomeUnknown && this.#is('40001', '40P01', '23505');
  }

  /** Returns the error that a user can act on, or the original one if heddle itself is at fault. */
  toHeddleError(): unknown {
    const failure = this.#failure();
    if (!failure) return this.cause;
    const { code } = this.cause as { code?: string };
    const message = `${failure.message}${code ? ` (${code})` : ''}.`;
    return new HeddleError({ ...failure, message, cause: this.cause });
  }

  #failure(): Failure | undefined {
    if (this.isOutcomeUnknown) return outcomeUnknown;
    if (this.sqlState !== undefined) return failures.find(({ states }) => this.#is(...states));
    // The driver itself fails if the server asks for a password and none is configured.
    return /password/i.test(this.message) ? refused : unreachable;
  }

  /** Returns true if the SQLSTATE is one of these codes or belongs to one of these classes. */
  #is(...states: string[]): boolean {
    return states.some((state) => this.sqlState?.startsWith(state));
  }
}

/** A row of the table of failures. The error's code is appended to the message. */
interface Failure extends ErrorFields {
  /** SQLSTATE codes and classes. */
  states: string[];
}

const unavailable = { code: 'service_unavailable', status: 503, retryable: true } as const;

const unreachable: Failure = {
  ...unavailable,
  states: ['08', '57P', '53300'],
  message: 'The database cannot be reached',
  hint: 'Check that PostgreSQL is running, and that HEDDLE_DATABASE_URL or --database has its address and the right sslmode.',
};

const refused: Failure = {
  code: 'not_configured',
  status: 503,
  states: ['28', '3D000', '3F000', '42501'],
  message: 'The database refuses this user, or the database or schema does not exist',
  hint: 'Check HEDDLE_DATABASE_URL or --database, and the password in it, in PGPASSWORD or in ~/.pgpass. The user must be allowed to create tables.',
};

const outcomeUnknown: Failure = {
  ...unavailable,
  states: [],
  // An automatic retry could make the change twice.
  retryable: false,
  message: 'The connection to the database was lost while a change was saved; it may or may not have been saved',
  hint: 'Check whether the change was saved before you repeat it.',
};

const failures: Failure[] = [
  unreachable,
  refused,
  {
    ...unavailable,
    states: ['40', '23505', '55P03'],
    message: 'Other changes to the same data were in the way for 10 seconds',
    hint: 'Try again. If it keeps happening, let fewer clients change the same data at once.',
  },
  {
    ...unavailable,
    states: ['53', '57014', '58', '25P03'],
    message: 'The database took too long, or lacks disk space, memory or another resource',
    hint: 'Read the PostgreSQL log, find out what keeps the database busy, then try again.',
  },
  {
    ...unavailable,
    // A standby cannot run serializable transactions (0A000).
    states: ['25006', '0A000'],
    message: 'The database is read-only, such as a standby, or lacks a feature that heddle needs',
    hint: 'Set HEDDLE_DATABASE_URL or --database to the address of a primary of PostgreSQL 12 or later.',
  },
  {
    code: 'invalid_arguments',
    status: 400,
    states: ['22021', '22P05', '54000'],
    message: 'Text contains a NUL character or is too long for an index, so PostgreSQL cannot store it',
    hint: 'Remove NUL characters, and shorten names and identifiers to 2,000 bytes.',
  },
];
