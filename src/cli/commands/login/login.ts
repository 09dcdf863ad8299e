import { type Command, Option } from 'commander';
import { HeddleError } from '../../../core/errors.ts';
import { remoteConnection } from '../../../runtime/runtime.ts';
import {
  type Profile,
  readProfiles,
  storeKinds,
  storeNames,
  storeOf,
  writeProfile,
} from '../../../settings/profiles.ts';
import type { ResolvedSettings } from '../../../settings/resolve-settings.ts';
import type { SecretStore } from '../../../settings/secrets/secret-store.ts';
import { publicWeave, type SettingValues } from '../../../settings/settings.ts';
import { addSettingFlags, settingsOf } from '../../support/flags.ts';
import { printLine } from '../../support/print.ts';
import { lacksEveryOperation, type Probe, probeService } from '../../support/probe-service.ts';
import { openSecretStore } from '../../support/secrets.ts';
import { type LoginDefaults, type LoginOptions, readLoginInput } from './read-login-input.ts';

export function addLogin(program: Command): void {
  const login = program
    .command('login')
    .description('check credentials at the service and store them for a profile')
    .option('--weave', `log in to the public Weave service, ${publicWeave}, with an API key`)
    .addOption(new Option('--store <kind>', 'where to store secrets; the keychain by default').choices(storeKinds))
    .option('--password-stdin', 'read the password from the first line of stdin')
    .option('--token-stdin', 'read the token from stdin, from the second line if the password comes first');
  addSettingFlags(login, ['profile', 'baseUrl', 'project', 'username', 'timeoutMs', 'keychainTimeoutMs']).action(
    (options: LoginOptions) => runLogin(options, settingsOf(login, { newProfile: true })),
  );
}

/** Reads credentials, checks them at the service and stores them. Throws a HeddleError if the service rejects them. */
async function runLogin(options: LoginOptions, settings: ResolvedSettings): Promise<void> {
  const { values } = settings;
  const name = values.profile;
  const profile = readProfiles()[name] ?? {};
  const store = openSecretStore(options.store ?? storeOf(profile) ?? 'keychain', values);
  await ensureUsable(store, name);

  const { project, ...defaults } = loginDefaults(settings, options, profile);
  const { baseUrl, record } = await readLoginInput(options, defaults);
  const probes = await probeService(remoteConnection(baseUrl, record), { project, timeoutMs: values.timeoutMs });
  for (const probe of probes) reportProbe(probe);
  // A service may lack one operation; an address that lacks both is not the service.
  if (probes.length > 1 && lacksEveryOperation(probes)) {
    throw new HeddleError({
      code: 'not_found',
      message: `${baseUrl} has none of the operations that were tried. Nothing was stored.`,
      hint: 'Check the path of the base URL, and run `heddle login` again.',
    });
  }

  // The profile is written last, in one step, so an interrupted login changes nothing.
  await store.write(name, baseUrl, record);
  const { base_url: _url, project: _project, username: _name, weave: _weave, ...otherKeys } = profile;
  writeProfile(name, {
    ...otherKeys,
    base_url: baseUrl,
    ...(project !== undefined && { project }),
    ...(record.username !== undefined && { username: record.username }),
    ...(defaults.weave && baseUrl !== publicWeave && { weave: true }),
    store: store.kind,
  });
  printLine(`Stored in ${storeNames[store.kind]}, profile "${name}", for ${baseUrl}.`);
  await removeEarlierSecrets(store, baseUrl, profile, values);
  for (const variable of ['HEDDLE_PASSWORD', 'HEDDLE_TOKEN']) {
    if (process.env[variable]) printLine(`Note: ${variable} is set in this environment and overrides what is stored.`);
  }
}

/** Fails before anyone types a password that cannot be stored. A locked keychain may still be unlocked on writing. */
async function ensureUsable(store: SecretStore, profile: string): Promise<void> {
  try {
    await store.read(profile);
  } catch (error) {
    const isLocked = error instanceof HeddleError && error.message.includes(' is locked');
    if (!isLocked) throw error;
  }
}

/** Returns what need not be asked. User name and project of the profile count only for the service they belong to. */
function loginDefaults(
  { values, sources }: ResolvedSettings,
  options: LoginOptions,
  profile: Profile,
): LoginDefaults & { project?: string } {
  const isUrlGiven = sources.baseUrl.from === 'flag' || sources.baseUrl.from === 'environment';
  const baseUrl = options.weave && !isUrlGiven ? publicWeave : values.baseUrl;
  const weave = options.weave ?? values.weave ?? false;
  const unlessOfOtherService = (name: 'username' | 'project'): string | undefined =>
    sources[name].from === 'profile' && profile.base_url !== baseUrl ? undefined : values[name];
  return {
    baseUrl,
    weave,
    username: unlessOfOtherService('username') ?? (weave ? 'api' : undefined),
    project: unlessOfOtherService('project'),
  };
}

/** Prints the verdict on a secret. @throws HeddleError if the service rejected it or could not be asked. */
function reportProbe(probe: Probe): void {
  const label = probe.scheme === 'Basic' ? 'password (Basic)' : 'token (Bearer)';
  if (probe.state === 'accepted') printLine(`${label}: accepted by the service`);
  if (probe.state === 'unproven') printLine(`${label}: could not be verified. ${probe.error.message}`);
  if (probe.state !== 'failed') return;
  const { code, message, status } = probe.error;
  const nextStep =
    code === 'unauthorized' ? 'Check the user name and the secret' : 'Find the cause with `heddle doctor`';
  throw new HeddleError({
    code,
    message: `${message} Nothing was stored.`,
    hint: `${nextStep}, then run \`heddle login\` again.`,
    status,
  });
}

/** Removes the secrets of earlier logins with this profile. A failure is reported, but the new login is complete. */
async function removeEarlierSecrets(
  store: SecretStore,
  baseUrl: string,
  profile: Profile,
  values: SettingValues,
): Promise<void> {
  const earlier = storeOf(profile);
  try {
    await store.remove(values.profile, baseUrl);
    if (earlier && earlier !== store.kind) await openSecretStore(earlier, values).remove(values.profile);
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    process.stderr.write(`heddle: earlier secrets could not be removed: ${error.message}\n`);
  }
}
