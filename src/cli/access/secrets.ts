import { credentialsFileIn, type StoreKind } from '../../settings/profiles.ts';
import type { ResolvedSettings } from '../../settings/resolve-settings.ts';
import { type Credentials, resolveCredentials } from '../../settings/secrets/credentials.ts';
import { fileStore } from '../../settings/secrets/file-store.ts';
import { keychainStore } from '../../settings/secrets/keychain-store.ts';
import type { SecretStore } from '../../settings/secrets/secret-store.ts';
import type { SettingValues } from '../../settings/settings.ts';
import { invocation } from '../invocation.ts';

/** Name of the hidden command that accesses the keychain for another heddle process. */
export const keychainCommand = 'access-keychain';

export function openSecretStore(kind: StoreKind, { keychainTimeoutMs }: SettingValues): SecretStore {
  const { environment, folders, script } = invocation();
  if (kind === 'file') return fileStore(credentialsFileIn(folders));
  const helper: [string, ...string[]] = [process.execPath, ...process.execArgv, script, keychainCommand];
  return keychainStore(helper, environment, keychainTimeoutMs);
}

/** Reads the credentials of a run from the environment and the store of its profile. */
export async function readCredentials(resolved: ResolvedSettings): Promise<Credentials> {
  const credentials = await resolveCredentials(resolved, (kind) => openSecretStore(kind, resolved.values));
  const { username, password, token } = credentials;
  invocation().redactor.protect(password, token, password && `${username}:${password}`);
  return credentials;
}
