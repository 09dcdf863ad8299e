import { HeddleError } from '../../core/errors.ts';
import { backUpSqlite, resetSqlite, restoreSqlite } from '../storage/sqlite/backup.ts';

/**
 * Backs up the data of the embedded service to a file.
 * @throws HeddleError `unsupported` for a PostgreSQL database, which has its own programs for it.
 */
export function backUpData(data: string, target: string): Promise<void> {
  requireFile(data, 'backup');
  return backUpSqlite(data, target);
}

/**
 * Replaces the data of the embedded service by a backup, and returns where the earlier data is.
 * @throws HeddleError `unsupported` for a PostgreSQL database, `conflict` while a service runs on the data.
 */
export function restoreData(data: string, backup: string): Promise<string | undefined> {
  requireFile(data, 'restore');
  return restoreSqlite(data, backup);
}

/**
 * Moves the data of the embedded service away, and returns where it is.
 * @throws HeddleError `unsupported` for a PostgreSQL database, `conflict` while a service runs on the data.
 */
export function resetData(data: string): Promise<string | undefined> {
  requireFile(data, 'reset');
  return resetSqlite(data);
}

const programs = {
  backup: 'Use pg_dump --format=custom --file FILE, with the URL of the database.',
  restore: 'Stop every heddle process, then use pg_restore --clean --if-exists, with the URL of the database.',
  reset: 'Stop every heddle process, then drop the database and create it again (dropdb, createdb).',
};

function requireFile(data: string, action: keyof typeof programs): void {
  if (!/^postgres(ql)?:/.test(data)) return;
  throw new HeddleError({
    code: 'unsupported',
    message: `The data is in PostgreSQL, which heddle does not ${action === 'backup' ? 'back up' : action}.`,
    hint: programs[action],
  });
}
