import { isPostgresUrl } from '../../core/database-url.ts';
import type { Database } from './database.ts';

/**
 * Opens a PostgreSQL database, given its `postgres://` URL, or a SQLite file, given its path. Creates the folder, the file
 * and the tables if they are missing.
 * @throws HeddleError when the database cannot be used.
 */
export async function openDatabase(urlOrPath: string): Promise<Database> {
  if (isPostgresUrl(urlOrPath)) {
    return (await import('./postgres/open-postgres.ts')).openPostgres(urlOrPath);
  }
  return (await import('./sqlite/open-sqlite.ts')).openSqlite(urlOrPath);
}
