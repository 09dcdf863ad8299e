import { HeddleError } from '../../core/errors.ts';
import { ownMember } from '../../core/json/member-at.ts';
import { readProfiles, type StoreKind, storeNames, storeOf } from '../profiles.ts';
import type { ResolvedSettings, Source } from '../resolve-settings.ts';
import { defaultInferenceUrl } from '../settings.ts';
import type { SecretRecord, SecretStore } from './secret-store.ts';

export interface Credentials {
  username?: string;
  password?: string;
  token?: string;
  sources: Record<'username' | 'password' | 'token', Source>;
  /** Explains why the secret store does not supply what is missing; absent if the profile has no store. */
  problem?: HeddleError;
}

/**
 * Resolves the credentials for the configured service: each secret from the environment, or else from the store that
 * `login` recorded in the profile. Does not open the store if the environment has both secrets. A store that cannot be
 * read is reported as `problem` and not thrown, since the other secret may be all that a tool call needs.
 */
export async function resolveCredentials(
  { values, sources, folders }: ResolvedSettings,
  openSecretStore: (kind: StoreKind) => SecretStore,
): Promise<Credentials> {
  const { baseUrl, inferenceUrl, username, password, token, weave } = values;
  const given: Credentials = { username, password, token, sources };
  const kind = storeOf(ownMember(readProfiles(folders), values.profile));
  if (baseUrl === undefined || (password && token)) return given;
  if (kind === undefined)
    return weave ? { ...given, problem: missing(`There is no API key for ${baseUrl}.`, apiKeyHint) } : given;
  try {
    const records = await openSecretStore(kind).read(values.profile);
    const record = ownMember(records, baseUrl);
    if (record) {
      const source = { from: kind, name: values.profile };
      const { token: storedToken, inference_url = defaultInferenceUrl(baseUrl), ...others } = record;
      if (token || !storedToken || inference_url === inferenceUrl) return addStored(given, record, source);
      const message = `The token of profile "${values.profile}" in ${storeNames[kind]} belongs to ${inference_url}; it is not sent to ${inferenceUrl}.`;
      return { problem: missing(message), ...addStored(given, others, source) };
    }
    const subject = `The credentials of profile "${values.profile}"`;
    const otherUrls = Object.keys(records).join(', ');
    const message = otherUrls
      ? `${subject} in ${storeNames[kind]} belong to ${otherUrls}; they are not sent to ${baseUrl}.`
      : `${subject} are no longer in ${storeNames[kind]}.`;
    return { ...given, problem: missing(message) };
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    return { ...given, problem: error };
  }
}

/** Adds the stored secrets that are not given. */
function addStored(given: Credentials, record: SecretRecord, source: Source): Credentials {
  const credentials: Credentials = { ...given, sources: { ...given.sources } };
  if (given.token === undefined && record.token !== undefined) {
    credentials.token = record.token;
    credentials.sources.token = source;
  }
  if (given.password !== undefined || record.password === undefined) return credentials;
  // A stored password belongs to its stored user name. The profile's copy of that name may be outdated.
  const { from } = given.sources.username;
  if ((from === 'flag' || from === 'environment') && given.username !== record.username) {
    const message = `The stored password belongs to user "${record.username}", not to "${given.username}".`;
    return { ...credentials, problem: missing(message) };
  }
  credentials.username = record.username;
  credentials.password = record.password;
  credentials.sources.password = source;
  if (from !== 'profile') credentials.sources.username = source;
  return credentials;
}

const apiKeyHint =
  'Ask the user to set WANDB_API_KEY for this server, or run `heddle login` in a terminal, and then call again.';
const loginHint =
  'Ask the user to run `heddle login` in a terminal, or set HEDDLE_USERNAME, HEDDLE_PASSWORD and HEDDLE_TOKEN, then call again.';

function missing(message: string, hint = loginHint): HeddleError {
  return new HeddleError({ code: 'credentials_missing', message, hint });
}
