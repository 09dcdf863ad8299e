import { statSync } from 'node:fs';
import { configFile, credentialsFile, readProfiles, type StoreKind } from '../settings/profiles.ts';
import type { Resolved } from '../settings/resolve-settings.ts';
import { type Credentials, resolveCredentials } from '../settings/secrets/credentials.ts';
import { FileStore } from '../settings/secrets/file-store.ts';
import { KeychainStore } from '../settings/secrets/keychain-store.ts';
import type { SecretStore } from '../settings/secrets/secret-store.ts';

/** Name of the hidden command that accesses the keychain for another heddle process. */
export const keychainCommand = 'access-keychain';

/** The store of a kind. `timeoutMs` is how long each access to a keychain may take. */
export function openStore(kind: StoreKind, timeoutMs?: number): SecretStore {
  if (kind === 'file') return new FileStore(credentialsFile);
  return new KeychainStore({
    helper: [process.execPath, ...process.execArgv, process.argv[1]!, keychainCommand],
    ...(timeoutMs !== undefined && { readTimeoutMs: timeoutMs, writeTimeoutMs: timeoutMs }),
  });
}

/** The credentials of a run, as things stand now. */
export function readCredentials(resolved: Resolved): Promise<Credentials> {
  return resolveCredentials(resolved, readProfiles()[resolved.config.profile], openStore);
}

/**
 * Makes the function that gives the credentials of a run before each call. They are read when first needed, and again
 * when `login` or `logout` has changed the configuration file, so that a running server need not be restarted. A store
 * that could not be read is tried again at the next call.
 */
export function credentialsOf(resolved: Resolved): () => Promise<Credentials> {
  let held: { stamp: string; credentials: Promise<Credentials> } | undefined;
  return async () => {
    const stamp = stampOf(configFile);
    if (held?.stamp !== stamp) held = { stamp, credentials: readCredentials(resolved) };
    const mine = held;
    const drop = (): void => {
      if (held === mine) held = undefined;
    };
    const credentials = await mine.credentials.catch((error) => {
      drop();
      throw error;
    });
    if (credentials.problem) drop();
    return credentials;
  };
}

/** Changes whenever the file is replaced. */
export function stampOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  return found ? `${found.ino} ${found.mtimeMs} ${found.size}` : '';
}
