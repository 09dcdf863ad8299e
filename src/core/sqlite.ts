import { createRequire, isBuiltin } from 'node:module';
import { fileURLToPath } from 'node:url';

/** The folder that `npm install --global --prefix` was given for this installation; undefined in a clone. */
const prefix = /^(.+?)(?:[\\/]lib)?[\\/]node_modules[\\/]heddle[\\/]/.exec(fileURLToPath(import.meta.url))?.[1];

/** Says how a user gets the SQLite that the embedded service needs. */
export const sqliteAdvice = `Use Node 22.13 or later, keep the data on PostgreSQL (HEDDLE_DATABASE_URL), or install the package beside heddle: \`npm install --global --prefix ${prefix ?? '~/.heddle'} --ignore-scripts @photostructure/sqlite\`.`;

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
