import { type Command, Option } from 'commander';
import type { Connection } from '../../../client/connection.ts';
import { HeddleError } from '../../../core/errors.ts';
import { ownMember } from '../../../core/json/member-at.ts';
import { remoteConnection } from '../../../runtime/runtime.ts';
import {
  checkProfilesFile,
  type Profile,
  readProfiles,
  storeKinds,
  storeNames,
  storeOf,
  writeProfile,
} from '../../../settings/profiles.ts';
import type { ResolvedSettings } from '../../../settings/resolve-settings.ts';
import { LockedKeychainError } from '../../../settings/secrets/keychain-store.ts';
import type { SecretRecord, SecretStore } from '../../../settings/secrets/secret-store.ts';
import { defaultInferenceUrl, publicWeave, type SettingName, type SettingValues } from '../../../settings/settings.ts';
import { lacksEveryOperation, listVisibleProjects, type Probe, probeService } from '../../access/probe-service.ts';
import { openSecretStore } from '../../access/secrets.ts';
import { invocation } from '../../invocation.ts';
import { printLine } from '../../terminal/print.ts';
import { addSettingFlags, settingsOf } from '../../usage/flags.ts';
import { explain } from '../../usage/help.ts';
import {
  askForProject,
  isScripted,
  type LoginDefaults,
  type LoginOptions,
  readLoginInput,
} from './read-login-input.ts';

const loginFlags: readonly SettingName[] = [
  'profile',
  'baseUrl',
  'inferenceUrl',
  'project',
  'username',
  'timeoutMs',
  'keychainTimeoutMs',
];

export function addLogin(program: Command): void {
  const login = program
    .command('login')
    .description('check credentials at the service and store them for a profile')
    .option('--weave', `log in to the public Weave service, ${publicWeave}, with an API key`)
    .addOption(new Option('--store <kind>', 'where to store secrets; the keychain by default').choices(storeKinds))
    .option('--password-stdin', 'read the password from the first line of stdin')
    .option('--token-stdin', 'read the token from stdin, from the second line if the password comes first');
  explain(login, {
    examples: [
      'heddle login --weave',
      'heddle login --base-url https://service.example.com --project team/support',
      'printf %s "$KEY" | heddle login --weave --password-stdin --project team/support',
    ],
    page: 'docs/configuration.md, docs/security.md',
  });
  addSettingFlags(login, loginFlags).action((options: LoginOptions) =>
    runLogin(options, settingsOf(login, { newProfile: true })),
  );
}

/** Reads credentials, checks them at the service and stores them. Throws a HeddleError if the service rejects them. */
async function runLogin(options: LoginOptions, settings: ResolvedSettings): Promise<void> {
  const { values, folders } = settings;
  const name = values.profile;
  const profile = ownMember(readProfiles(folders), name) ?? {};
  checkProfilesFile(folders);
  const store = openSecretStore(options.store ?? storeOf(profile) ?? 'keychain', values);
  await ensureUsable(store, name);

  const { project: givenProject, ...defaults } = loginDefaults(settings, options, profile);
  const input = await readLoginInput(options, defaults);
  const { baseUrl } = input;
  const inferenceUrl = inferenceUrlOf(settings, baseUrl);
  await checkCredentials(input, inferenceUrl, { ...values, project: givenProject });
  const connection = remoteConnection(baseUrl, inferenceUrl, { ...input.record, token: undefined });
  const isAsked = givenProject === undefined && !isScripted(options) && connection.basic !== undefined;
  const project = isAsked ? await chooseProject(connection, values) : givenProject;

  // The profile is written last, in one step, so an interrupted login changes nothing.
  const inference = inferenceUrl !== defaultInferenceUrl(baseUrl) && { inference_url: inferenceUrl };
  const record = { ...input.record, ...(input.record.token && inference) };
  await store.write(name, baseUrl, record);
  const added: Profile = {
    ...withoutLogin(profile),
    base_url: baseUrl,
    ...inference,
    ...(project !== undefined && { project }),
    ...(record.username !== undefined && { username: record.username }),
    ...(defaults.weave && baseUrl !== publicWeave && { weave: true }),
    store: store.kind,
  };
  writeProfile(name, added, folders);
  printLine(`Stored in ${storeNames[store.kind]}, profile "${name}", for ${baseUrl}.`);
  await removeEarlierSecrets(store, baseUrl, profile, values);
  for (const variable of ['HEDDLE_PASSWORD', 'HEDDLE_TOKEN']) {
    if (invocation().environment[variable])
      printLine(`Note: ${variable} is set in this environment and overrides what is stored.`);
  }
}

/**
 * Asks a person for the project, and checks it. A project that the service does not list is reported.
 * @returns undefined if the person leaves it open.
 * @throws HeddleError if the service refuses the project.
 */
async function chooseProject(connection: Connection, values: SettingValues): Promise<string | undefined> {
  const known = await listVisibleProjects(connection, values);
  const project = await askForProject(known);
  if (project === undefined) return undefined;
  const [probe] = await probeService(connection, { ...values, project });
  if (probe?.state === 'failed') {
    const { code, message, status } = probe.error;
    const hint = 'Choose a project that you may see, then run `heddle login` again.';
    throw new HeddleError({ code, message: `${message} Nothing was stored.`, hint, status });
  }
  if (known?.includes(project)) printLine(`project ${project}: found`);
  else if (known) printLine(`project ${project}: the service does not list it; it lists ${known.join(', ') || 'none'}`);
  return project;
}

/** Fails before anyone types a password that cannot be stored. A locked keychain may still be unlocked on writing. */
async function ensureUsable(store: SecretStore, profile: string): Promise<void> {
  try {
    await store.read(profile);
  } catch (error) {
    if (!(error instanceof LockedKeychainError)) throw error;
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

/** Returns the inference URL that is set, or the default of the base URL. */
function inferenceUrlOf({ values, sources }: ResolvedSettings, baseUrl: string): string {
  const { from } = sources.inferenceUrl;
  const isGiven = from === 'flag' || from === 'environment' || (from === 'profile' && values.baseUrl === baseUrl);
  return isGiven && values.inferenceUrl !== undefined ? values.inferenceUrl : defaultInferenceUrl(baseUrl);
}

async function checkCredentials(
  { baseUrl, record }: { baseUrl: string; record: SecretRecord },
  inferenceUrl: string,
  values: SettingValues,
): Promise<void> {
  const probes = await probeService(remoteConnection(baseUrl, inferenceUrl, record), values);
  const isServiceVerified = probes.some(({ url, state }) => url === baseUrl && state === 'accepted');
  for (const probe of probes) {
    const isElsewhere = probe.url !== baseUrl;
    // Without access to inference at an address of its own, the rest of the service is still useful.
    reportProbe(probe, {
      place: isElsewhere ? probe.url : 'the service',
      isOptional: isElsewhere && isServiceVerified,
    });
  }
  // A service may lack one operation; an address that lacks both is not the service.
  if (probes.length > 1 && lacksEveryOperation(probes)) {
    throw new HeddleError({
      code: 'not_found',
      message: `${baseUrl} has none of the operations that were tried. Nothing was stored.`,
      hint: 'Check the path of the base URL, and run `heddle login` again.',
    });
  }
}

/**
 * Prints the verdict on a secret.
 * @param isOptional accepts that the service could not be asked.
 * @throws HeddleError if the service rejected the secret or could not be asked.
 */
function reportProbe(probe: Probe, { place, isOptional }: { place: string; isOptional: boolean }): void {
  const label = probe.scheme === 'Basic' ? 'password (Basic)' : 'token (Bearer)';
  if (probe.state === 'accepted') {
    printLine(`${label}: accepted by ${place}`);
    return;
  }
  const { code, message, status } = probe.error;
  if (probe.state === 'unproven' || (isOptional && code !== 'unauthorized')) {
    printLine(`${label}: could not be verified. ${message}`);
    return;
  }
  const nextStep =
    code === 'unauthorized' ? 'Check the user name and the secret' : 'Find the cause with `heddle doctor`';
  throw new HeddleError({
    code,
    message: `${message} Nothing was stored.`,
    hint: `${nextStep}, then run \`heddle login\` again.`,
    status,
  });
}

/** The service and the account that a login chooses, as a profile holds them. */
const loginKeys = ['base_url', 'inference_url', 'project', 'username', 'weave'];

/** Returns what a profile holds besides them. */
function withoutLogin(profile: Profile): Profile {
  return Object.fromEntries(Object.entries(profile).filter(([key]) => !loginKeys.includes(key)));
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
    invocation().stderr.write(`heddle: earlier secrets could not be removed: ${error.message}\n`);
  }
}
