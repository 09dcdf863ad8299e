import { existsSync, statSync } from 'node:fs';
import { mkdtemp, rmdir, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { dataLocation, secretsOf } from '../../../runtime/runtime.ts';
import { loadSqlite, openServiceStore } from '../../../service/start-service.ts';
import type { ResolvedSettings } from '../../../settings/resolve-settings.ts';
import { invocation } from '../../invocation.ts';
import { type Finding, failure, ok, warning } from './finding.ts';

/** Free disk space below which doctor reports a failure or a warning. */
const failureFreeBytes = 20e6;
const warningFreeBytes = 500e6;

/** What to do about a data folder that cannot be used. */
export const folderAdvice = 'Set HEDDLE_DATA_DIR to a folder of your own, or correct the permissions.';

export async function checkDatabase(resolved: ResolvedSettings): Promise<Finding[]> {
  if (resolved.values.databaseUrl === undefined) return [];
  const faults = await findFaults(resolved);
  if (faults === '') return [ok('database', 'PostgreSQL is reachable, and its tables and indexes are in order')];
  const advice = 'Set HEDDLE_DATABASE_URL to the primary, REINDEX invalid indexes, or restore a backup.';
  return [failure('database', `PostgreSQL is reachable, but ${faults}`, advice)];
}

/** Checks the data file of the embedded service and its disk, if the embedded service is in use or was used earlier. */
export async function checkDataFile(resolved: ResolvedSettings): Promise<Finding[]> {
  const { values } = resolved;
  const file = dataLocation(resolved);
  if (values.databaseUrl !== undefined) return [];
  if (!existsSync(file)) return values.baseUrl === undefined ? checkMissingFile(file) : [];
  if (await isEmpty(file)) {
    const advice = 'If heddle has stored anything there, restore a backup.';
    return [
      warning('data file', `${file} is empty; its tables will be created at the first call`, advice),
      await checkDiskSpace(dirname(file)),
    ];
  }
  const faults = await findFaults(resolved);
  const advice = 'Move the file away, then restore a backup or let heddle create a new one.';
  const integrity =
    faults === '' ? ok('data file', `${file} is sound`) : failure('data file', `${file} is damaged: ${faults}`, advice);
  return [integrity, await checkDiskSpace(dirname(file))];
}

/** Returns whether a data file has no tables at all. Opening it as the service does would create them. */
async function isEmpty(file: string): Promise<boolean> {
  if (!statSync(file).isFile()) return false;
  const open = await loadSqlite();
  try {
    const database = new open(file, { readOnly: true });
    const table = database.prepare('select 1 from sqlite_master limit 1').get();
    database.close();
    return table === undefined;
  } catch {
    // The check of the content reports what is wrong with it.
    return false;
  }
}

/** Checks that the first call can create the file: an empty folder can be created in its place, and is removed again. */
export async function checkMissingFile(file: string): Promise<Finding[]> {
  await loadSqlite();
  const folder = existingFolder(file);
  try {
    await rmdir(await mkdtemp(join(folder, '.heddle-doctor-')));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return [failure('data file', `${file} cannot be created: ${folder} takes no new files (${code})`, folderAdvice)];
  }
  return [ok('data file', `${file} will be created at the first call`), await checkDiskSpace(folder)];
}

/** Returns the folder of the file, or the nearest one above it that exists. */
function existingFolder(file: string): string {
  const folder = dirname(file);
  return existsSync(folder) ? folder : existingFolder(folder);
}

async function checkDiskSpace(folder: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(folder);
  const freeBytes = bavail * bsize;
  const message = `${Math.floor(freeBytes / 1e6)} MB free in ${folder}`;
  if (freeBytes >= warningFreeBytes) return ok('disk space', message);
  const advice = 'Free some space, or set HEDDLE_DATA_DIR to a folder on another disk.';
  return freeBytes < failureFreeBytes ? failure('disk space', message, advice) : warning('disk space', message, advice);
}

/** Opens the data as the service does. Returns the first faults, or an empty string. */
async function findFaults(resolved: ResolvedSettings): Promise<string> {
  invocation().redactor.protect(...secretsOf(resolved.values));
  const store = await openServiceStore(dataLocation(resolved));
  try {
    return (await store.integrityCheck()).slice(0, 3).join('; ');
  } finally {
    await store.close();
  }
}
