import { createRequire, isBuiltin } from 'node:module';

/** Says how a user gets the SQLite that the embedded service needs. */
export const sqliteAdvice =
  'Use Node 22.13 or later, or run `npm install --global @photostructure/sqlite` if npm installed heddle.';

/** Returns whether this process can open SQLite files. Loads nothing. */
export function hasSqlite(): boolean {
  if (isBuiltin('node:sqlite')) return true;
  try {
    createRequire(import.meta.url).resolve('@photostructure/sqlite');
    return true;
  } catch {
    return false;
  }
}
