import { type ErrorFields, HeddleError } from '../../../core/errors.ts';

/** What the driver or the server failed with, told apart from a failure of the code that uses them. */
export class PostgresFailure extends Error {
  /** The server's code, or undefined where the connection itself failed. */
  readonly sqlState: string | undefined;
  /** The connection is of no more use. */
  readonly lost: boolean;
  /** The connection was lost after it was asked to commit: nobody knows whether it did. */
  readonly inDoubt: boolean;

  constructor(cause: unknown, committing = false) {
    super((cause as Error).message, { cause });
    const { severity, code } = cause as { severity?: string; code?: string };
    this.sqlState = severity === undefined ? undefined : code;
    this.lost = this.sqlState === undefined || severity === 'FATAL' || severity === 'PANIC' || this.#is('08', '57P');
    this.inDoubt = committing && (this.lost || this.#is('40003'));
  }

  /**
   * Another transaction was in the way, and this one was rolled back. A unique key that was free when it was looked up
   * is the same under another name: what would be a true duplicate is looked up, or left to ON CONFLICT.
   */
  get isConflict(): boolean {
    return !this.inDoubt && this.#is('40001', '40P01', '23505');
  }

  /** Somebody else makes the same tables at the same time. */
  get isRacingMigration(): boolean {
    return this.isConflict || this.#is('42P07', '42710', 'XX000');
  }

  /** The server has no such function, or does not do what it asks for. */
  get isUnsupported(): boolean {
    return this.#is('0A000', '42883');
  }

  /** The failure as heddle tells it; as it was, where it is a fault of heddle itself. */
  toError(): unknown {
    if (this.inDoubt) return new HeddleError({ ...inDoubt, cause: this.cause });
    // The driver itself gives up where the server asks for a password and there is none.
    const ofTheDriver = /password/i.test(this.message) ? refused : unreachable;
    const failure = this.sqlState === undefined ? ofTheDriver : failures.find(({ states }) => this.#is(...states));
    if (!failure) return this.cause;
    const { code } = this.cause as { code?: string };
    const message = failure.withCode && code ? failure.message.replace(/\.$/, ` (${code}).`) : failure.message;
    return new HeddleError({ ...failure, message, cause: this.cause });
  }

  /** Whether the code is one of these, or of one of these classes. */
  #is(...states: string[]): boolean {
    return states.some((state) => this.sqlState?.startsWith(state));
  }
}

const unavailable = { code: 'service_unavailable', status: 503, retryable: true } as const;

interface Failure extends ErrorFields {
  states: string[];
  /** Whether the code, of the server or the system, tells more. */
  withCode?: true;
}

const unreachable: Failure = {
  ...unavailable,
  states: ['08', '57P', '53300'],
  withCode: true,
  message: 'The database cannot be reached.',
  hint: 'Check that PostgreSQL runs, and that HEDDLE_DATABASE_URL or --database has its address and the right sslmode.',
};

const refused: Failure = {
  code: 'not_configured',
  status: 503,
  states: ['28', '3D000', '3F000', '42501'],
  withCode: true,
  message: 'The database refuses this user, or there is no such database or schema.',
  hint: 'Check HEDDLE_DATABASE_URL or --database, and the password in it, in PGPASSWORD or in ~/.pgpass; the user needs to create tables.',
};

const inDoubt: ErrorFields = {
  ...unavailable,
  // Whoever repeats this by itself could do it twice.
  retryable: false,
  message: 'The connection to the database was lost while a change was saved; it may have been saved or not.',
  hint: 'Look whether the change is there before you repeat it.',
};

const failures: Failure[] = [
  unreachable,
  refused,
  {
    ...unavailable,
    states: ['40', '23505', '55P03'],
    message: 'Other changes to the same data were in the way for 10 seconds.',
    hint: 'Try again; if it lasts, let fewer clients change the same data at once.',
  },
  {
    ...unavailable,
    states: ['57014', '25P03'],
    message: 'The database took too long.',
    hint: 'Try again; if it lasts, look for what keeps the database busy or locked.',
  },
  {
    ...unavailable,
    states: ['53', '58'],
    message: 'The database lacks disk space, memory or another resource.',
    hint: 'Read the log of PostgreSQL, make room, then try again.',
  },
  {
    ...unavailable,
    // A standby has no serializable transactions.
    states: ['25006', '0A000'],
    message: 'The database cannot be written, as a standby, or lacks what heddle needs.',
    hint: 'Give HEDDLE_DATABASE_URL or --database the address of a primary of PostgreSQL 12 or later.',
  },
  {
    code: 'invalid_arguments',
    status: 400,
    states: ['22021', '22P05', '54000'],
    message: 'A text is of a kind that PostgreSQL does not keep: it holds a NUL character or is too long for an index.',
    hint: 'Leave the NUL characters out, and shorten names and identifiers to 2000 bytes.',
  },
  {
    code: 'internal',
    status: 500,
    states: ['XX001', 'XX002'],
    message: 'The database is damaged.',
    hint: 'Read the log of PostgreSQL, and restore the database from a backup.',
  },
];
