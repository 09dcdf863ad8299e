import type { Redactor } from '../../core/redaction.ts';
import type { RuntimeOptions } from '../../runtime/runtime.ts';
import { cacheCredentials } from '../../runtime/stored-credentials.ts';
import { credentialsFile, readProfiles, type StoreKind } from '../../settings/profiles.ts';
import type { ResolvedSettings } from '../../settings/resolve-settings.ts';
import { type Credentials, resolveCredentials } from '../../settings/secrets/credentials.ts';
import { FileStore } from '../../settings/secrets/file-store.ts';
import { KeychainStore } from '../../settings/secrets/keychain-store.ts';
import type { SecretStore } from '../../settings/secrets/secret-store.ts';
import { redactor as processRedactor } from './redactor.ts';

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

/** Reads the credentials of a run from the environment and the store of its profile. */
export function readCredentials(resolved: ResolvedSettings, redactor: Redactor): Promise<Credentials> {
  const { profile, keychainTimeoutMs } = resolved.values;
  const openStore = (kind: StoreKind): SecretStore => openSecretStore(kind, redactor, keychainTimeoutMs);
  return resolveCredentials(resolved, readProfiles()[profile], openStore, redactor);
}

/** Returns the options for the runtime of this process. It shares the redactor with reports of crashes. */
export function runtimeOptions(resolved: ResolvedSettings): RuntimeOptions {
  const credentials = cacheCredentials(() => readCredentials(resolved, processRedactor));
  return { credentials, redactor: processRedactor };
}
