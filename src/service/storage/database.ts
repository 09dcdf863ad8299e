import type { Expression, Kysely, RawBuilder, SqlBool } from 'kysely';
import type { Tables } from './database-tables.ts';

/** A database transaction: every statement in it sees the same state. */
export type Transaction = Kysely<Tables>;

/** Returns whether the account of a request may see a project. */
export type ProjectFilter = (projectId: string) => boolean;

/** SQL of a value by which recorded calls are sorted: `number` is null for other values. */
export interface SortedMember {
  number: string;
  /** All values that are no numbers, as text; absent if all are numbers. */
  text?: string;
}

/** The indexes of members of recorded calls, which are created when calls are sorted by them or compared with a text. */
export interface MemberIndexStore {
  /** Begins the names of these indexes and of no others. */
  readonly prefix: string;
  /** True if the engine finds calls in the order of an index only if they are ordered by the columns that are null, too. */
  readonly ordersByNull: boolean;
  /**
   * Returns the member of a JSON column to which names lead. Its number is Infinity, and its text null, in JSON with characters that
   * the engine cannot read.
   */
  memberOf(column: keyof Tables['calls'], names: readonly string[]): SortedMember;
  /** Returns the condition that a number of an index is surely read as JavaScript reads it. */
  isExact(number: Expression<number | null>): Expression<SqlBool>;
  /** Returns the names of the indexes that are ready. */
  list(): Promise<string[]>;
  /** Creates an index while other requests are answered. `definition` is what follows `on`. */
  create(name: string, definition: Expression<unknown>): Promise<void>;
  drop(name: string): Promise<void>;
}

/** A pattern of LIKE that a JSON column of each wanted call has: every run of characters between its wildcards. */
export interface TextPattern {
  column: string;
  pattern: string;
  ignoresCase: boolean;
}

/** The index of the texts in the inputs and outputs of recorded calls, which a setting adds and removes. */
export interface TextIndex {
  /** Builds the index, or what an earlier attempt left, while other requests are answered; ends early when `signal` aborts. */
  build(signal: AbortSignal): Promise<void>;
  drop(): Promise<void>;
  /**
   * Returns the ids of a project's calls of which each may fit one of some patterns. None that fits is missing. Undefined if the index
   * is not complete, cannot find one of the patterns, or finds more than `maxCalls`.
   */
  find(project_id: string, patterns: readonly TextPattern[], maxCalls: number): Promise<string[] | undefined>;
}

/** The embedded service's database. All access goes through one of these transactions, whose work may run more than once. */
export interface Database {
  /** True if nothing else runs in this process during a statement. */
  readonly blocksEventLoop: boolean;
  /** The engine's operator for LIKE that ignores the case of ASCII letters. */
  readonly caseInsensitiveLike: 'like' | 'ilike';
  readonly memberIndexes: MemberIndexStore;
  readonly textIndex: TextIndex;
  /** Returns SQL of the texts of a list, however long, that is given as JSON. */
  textsOf(json: string): RawBuilder<string>;
  /** Runs read-only work on a snapshot, which shows no write that was committed after its first statement. */
  read<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>;
  /** Runs work in a serializable transaction, which is on disk when the promise resolves. */
  write<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>;
  /** Does the same, but one after another in all processes: for work that would fail and be repeated beside its like. */
  writeInTurn<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>;
  /** Tells the engine what the tables hold, so that its plans suit what was just stored in large numbers. */
  gatherStatistics(): Promise<void>;
  /** Returns the faults that the database engine finds in its data; an empty list if there are none. */
  integrityCheck(): Promise<string[]>;
  close(): Promise<void>;
}
