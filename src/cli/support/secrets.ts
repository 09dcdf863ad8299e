import { Redactor } from '../../core/redaction.ts';
import type { RuntimeOptions } from '../../runtime/runtime.ts';
import { cacheCredentials } from '../../runtime/stored-credentials.ts';
import { credentialsFile, type StoreKind } from '../../settings/profiles.ts';
import type { ResolvedSettings } from '../../settings/resolve-settings.ts';
import { type Credentials, resolveCredentials } from '../../settings/secrets/credentials.ts';
import { fileStore } from '../../settings/secrets/file-store.ts';
import { keychainStore } from '../../settings/secrets/keychain-store.ts';
import type { SecretStore } from '../../settings/secrets/secret-store.ts';
import type { SettingValues } from '../../settings/settings.ts';

/** The redactor of the whole process, so that crash reports are free of secrets too. */
export const redactor = new Redactor();

/** Name of the hidden command that accesses the keychain for another heddle process. */
export const keychainCommand = 'access-keychain';

export function openSecretStore(kind: StoreKind, { keychainTimeoutMs }: SettingValues): SecretStore {
  if (kind === 'file') return fileStore(credentialsFile);
  return keychainStore([process.execPath, ...process.execArgv, process.argv[1]!, keychainCommand], keychainTimeoutMs);
}

/** Reads the credentials of a run from the environment and the store of its profile. */
export async function readCredentials(resolved: ResolvedSettings): Promise<Credentials> {
  const credentials = await resolveCredentials(resolved, (kind) => openSecretStore(kind, resolved.values));
  const { username, password, token } = credentials;
  redactor.protect(password, token, password && `${username}:${password}`);
  return credentials;
}

/** Returns the options for the runtime of this process. It shares the redactor with reports of crashes. */
export function runtimeOptions(resolved: ResolvedSettings): RuntimeOptions & { redactor: Redactor } {
  return { credentials: cacheCredentials(() => readCredentials(resolved)), redactor };
}
