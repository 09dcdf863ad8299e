import { statSync } from 'node:fs';
import type { Redactor } from '../core/redaction.ts';
import { configFile, credentialsFile, readProfiles, type StoreKind } from '../settings/profiles.ts';
import type { ResolvedSettings } from '../settings/resolve-settings.ts';
import { type Credentials, resolveCredentials } from '../settings/secrets/credentials.ts';
import { FileStore } from '../settings/secrets/file-store.ts';
import { KeychainStore } from '../settings/secrets/keychain-store.ts';
import type { SecretStore } from '../settings/secrets/secret-store.ts';

/** Name of the hidden command that accesses the keychain for another heddle process. */
export const keychainCommand = 'access-keychain';

/** Opens the store of a kind. `keychainTimeoutMs` bounds each access to a keychain. */
export function openSecretStore(kind: StoreKind, redactor: Redactor, keychainTimeoutMs?: number): SecretStore {
  if (kind === 'file') return new FileStore(credentialsFile, redactor);
  return new KeychainStore({
    redactor,
    helper: [process.execPath, ...process.execArgv, process.argv[1]!, keychainCommand],
    timeoutMs: keychainTimeoutMs,
  });
}

/** The credentials of a run, as things stand now. */
export function readCredentials(resolved: ResolvedSettings, redactor: Redactor): Promise<Credentials> {
  const profile = readProfiles()[resolved.values.profile];
  return resolveCredentials(
    resolved,
    profile,
    (kind) => openSecretStore(kind, redactor, resolved.values.keychainTimeoutMs),
    redactor,
  );
}

/**
 * Makes the function that gives the credentials of a run before each call. They are read when first needed, and again
 * when `login` or `logout` has changed the configuration file, so that a running server need not be restarted. A store
 * that could not be read is tried again at the next call.
 */
export function credentialsOf(resolved: ResolvedSettings, redactor: Redactor): () => Promise<Credentials> {
  let held: { stamp: string; credentials: Promise<Credentials> } | undefined;
  return async () => {
    const stamp = stampOf(configFile);
    if (held?.stamp !== stamp) held = { stamp, credentials: readCredentials(resolved, redactor) };
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
