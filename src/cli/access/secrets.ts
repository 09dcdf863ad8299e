import type { Log } from '../../core/log.ts';
import type { Redactor } from '../../core/secrets/redaction.ts';
import { lineLog } from '../../runtime/line-log.ts';
import type { RuntimeOptions } from '../../runtime/runtime.ts';
import { cacheCredentials } from '../../runtime/stored-credentials.ts';
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

/** Returns the options of a command's runtime. It shares the redactor with reports of crashes. */
export function runtimeOptions(resolved: ResolvedSettings): RuntimeOptions & { redactor: Redactor } {
  return {
    credentials: cacheCredentials(resolved, readCredentials),
    redactor: invocation().redactor,
    log: logOf(resolved),
  };
}

/** Creates the log of a command, which writes lines to stderr. */
export function logOf({ values }: ResolvedSettings): Log {
  const { redactor, stderr } = invocation();
  return lineLog(stderr, values.logLevel, values.logFormat, (text) => redactor.redact(text));
}
