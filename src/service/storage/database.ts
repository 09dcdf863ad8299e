import type { Kysely } from 'kysely';
import type { Tables } from './database-tables.ts';

/** A database transaction: every statement in it sees the same state. */
export type Transaction = Kysely<Tables>;

/** Returns whether the account of a request may see a project. */
export type ProjectFilter = (projectId: string) => boolean;

/** The embedded service's database. All access goes through one of two transactions, whose work may run more than once. */
export interface Database {
  /** True if nothing else runs in this process during a statement. */
  readonly blocksEventLoop: boolean;
  /** The engine's operator for LIKE that ignores the case of ASCII letters. */
  readonly caseInsensitiveLike: 'like' | 'ilike';
  /** Runs read-only work on a snapshot, which shows no write that was committed after its first statement. */
  read<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>;
  /** Runs work in a serializable transaction, which is on disk when the promise resolves. */
  write<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>;
  /** Returns the faults that the database engine finds in its data; an empty list if there are none. */
  integrityCheck(): Promise<string[]>;
  close(): Promise<void>;
}
