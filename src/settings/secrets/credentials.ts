import { HeddleError } from '../../core/errors.ts';
import type { Redactor } from '../../core/redaction.ts';
import { type Profile, type StoreKind, storeNames, storeOf } from '../profiles.ts';
import type { ResolvedSettings, Source } from '../resolve-settings.ts';
import type { SecretRecord, SecretStore } from './secret-store.ts';

/** Where a secret came from. */
export type SecretSource = Source | { from: StoreKind; name: string };

export interface Credentials {
  username?: string;
  password?: string;
  token?: string;
  sources: Record<'username' | 'password' | 'token', SecretSource>;
  /** Why the store has nothing for what is missing; absent where there is no store. */
  problem?: HeddleError;
}

/**
 * The credentials for the configured service: each secret from the environment, else from the store that `login` recorded
 * in the profile (design §9). The store is not touched when the environment has both. A store that cannot be read is a
 * `problem`, not an error: what is there may be all that a call needs.
 */
export async function resolveCredentials(
  { values, sources }: ResolvedSettings,
  profile: Profile | undefined,
  openSecretStore: (kind: StoreKind) => SecretStore,
  redactor: Redactor,
): Promise<Credentials> {
  const { baseUrl, username, password, token } = values;
  redactor.protect(password, token, password && `${username}:${password}`);
  const given: Credentials = {
    username,
    password,
    token,
    sources: { username: sources.username, password: sources.password, token: sources.token },
  };
  const kind = storeOf(profile);
  if (baseUrl === undefined || kind === undefined || (password && token)) return given;
  try {
    const records = await openSecretStore(kind).read(values.profile);
    const record = records[baseUrl];
    if (record) return completed(given, record, { from: kind, name: values.profile }, redactor);
    const credentials = `The credentials of profile "${values.profile}"`;
    const others = Object.keys(records).join(', ');
    const message = others
      ? `${credentials} in ${storeNames[kind]} belong to ${others}; they are not sent to ${baseUrl}.`
      : `${credentials} are no longer in ${storeNames[kind]}.`;
    return { ...given, problem: problem(message) };
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    return { ...given, problem: error };
  }
}

function completed(given: Credentials, record: SecretRecord, source: SecretSource, redactor: Redactor): Credentials {
  redactor.protect(record.password && `${record.username}:${record.password}`);
  const all: Credentials = { ...given, sources: { ...given.sources } };
  if (given.token === undefined && record.token !== undefined) {
    all.token = record.token;
    all.sources.token = source;
  }
  if (given.password !== undefined || record.password === undefined) return all;
  // A password goes with the name that it was stored with; a profile's copy of the name may be older, a given one not.
  const { from } = given.sources.username;
  if ((from === 'flag' || from === 'environment') && given.username !== record.username) {
    const message = `The stored password belongs to user "${record.username}", not to "${given.username}".`;
    return { ...all, problem: problem(message) };
  }
  return {
    ...all,
    username: record.username,
    password: record.password,
    sources: { ...all.sources, username: from === 'profile' ? given.sources.username : source, password: source },
  };
}

function problem(message: string): HeddleError {
  return new HeddleError({
    code: 'credentials_missing',
    message,
    hint: 'Ask the user to run `heddle login` in a terminal, or to set HEDDLE_USERNAME, HEDDLE_PASSWORD and HEDDLE_TOKEN, and then call again.',
  });
}
