import type { Transaction as KyselyTransaction } from 'kysely';
import type { Tables } from './tables.ts';

/** A transaction of the storage: every statement sees the same state. */
export type Transaction = KyselyTransaction<Tables>;

/** The storage. Whatever reads or writes goes through one of two transactions, which may be run more than once. */
export interface Database {
  /** A snapshot: sees no write that was committed after its first statement. */
  read<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>;
  /** As if no other process wrote meanwhile; what it wrote is on the disk when the promise resolves. */
  write<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>;
  /** To be called after much was written at once: lets the engine learn what it holds now, and so how best to read it. */
  analyze(): Promise<void>;
  /** Faults that the engine finds in what it keeps. */
  integrityCheck(): Promise<string[]>;
  close(): Promise<void>;
}

/**
 * Opens the storage: a `postgres://` URL is a PostgreSQL database, anything else the path of a SQLite file. What is
 * missing is made: the folder, the file, the tables.
 */
export async function openDatabase(data: string): Promise<Database> {
  if (!/^postgres(ql)?:/.test(data)) return (await import('./sqlite/database.ts')).openSqlite(data);
  return (await import('./postgres/database.ts')).openPostgres(data);
}
