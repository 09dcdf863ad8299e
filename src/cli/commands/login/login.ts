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
import { publicWeave } from '../../../settings/settings.ts';
import { addSettingFlags, settingsOf } from '../../support/flags.ts';
import { isLacking, openProbes, type Verdict } from '../../support/probes.ts';
import { redactor } from '../../support/redactor.ts';
import { openSecretStore } from '../../support/secrets.ts';
import { type Known, type LoginFlags, type LoginInput, readLoginInput } from './login-input.ts';

/** `heddle login`: checks credentials at the service, then keeps them for a profile. */
export function addLogin(program: Command): void {
  const login = program
    .command('login')
    .description('check credentials at the service and keep them for a profile')
    .option('--weave', `the public Weave service, ${publicWeave}: asks for an API key only`)
    .addOption(new Option('--store <kind>', 'where to keep secrets; the keychain by default').choices(storeKinds))
    .option('--password-stdin', 'read the password from the first line of stdin')
    .option('--token-stdin', 'read the token from stdin, from the second line when the password comes first');
  addSettingFlags(login, ['profile', 'baseUrl', 'project', 'username', 'timeoutMs', 'keychainTimeoutMs']).action(
    async (flags: LoginFlags) => {
      const resolved = settingsOf(login, { newProfile: true });
      const { values } = resolved;
      const before = readProfiles()[values.profile];
      const store = openSecretStore(flags.store ?? storeOf(before) ?? 'keychain', redactor, values.keychainTimeoutMs);
      await ensureUsable(store, values.profile);

      const { project, ...known } = settle(resolved, flags, before);
      const { baseUrl, record } = await readLoginInput(flags, known);
      const checked = { ...values, project };
      await check({ baseUrl, record }, checked);

      // The profile is written last, in one step: until then everything is as it was, whatever interrupts this.
      await store.write(values.profile, baseUrl, record);
      writeProfile(values.profile, {
        ...withoutLogin(before),
        base_url: baseUrl,
        ...(project !== undefined && { project }),
        ...(record.username !== undefined && { username: record.username }),
        ...(known.weave && baseUrl !== publicWeave && { weave: true }),
        store: store.kind,
      });
      say(`Stored in ${storeNames[store.kind]}, profile "${values.profile}", for ${baseUrl}.`);
      await removeRest(store, values.profile, baseUrl, before);
      for (const name of ['HEDDLE_PASSWORD', 'HEDDLE_TOKEN'] as const) {
        if (process.env[name]) say(`Note: ${name} is set in this environment and goes before what is stored.`);
      }
    },
  );
}

/** Nobody should type a password for a store that cannot take it. A locked one may be unlocked when it is written to. */
async function ensureUsable(store: SecretStore, profile: string): Promise<void> {
  try {
    await store.read(profile);
  } catch (error) {
    if (!(store.kind === 'keychain' && error instanceof HeddleError && error.message.includes(' is locked')))
      throw error;
  }
}

/** The service to log in at. What the profile says about another service than this one does not count. */
function settle(
  { values, sources }: ResolvedSettings,
  flags: LoginFlags,
  before: Profile = {},
): Known & { project?: string } {
  const given = sources.baseUrl.from === 'flag' || sources.baseUrl.from === 'environment';
  const baseUrl = flags.weave && !given ? publicWeave : values.baseUrl;
  const weave = flags.weave ?? values.weave ?? false;
  const same = before.base_url === baseUrl;
  const username = sources.username.from === 'profile' && !same ? undefined : values.username;
  return {
    baseUrl,
    weave,
    username: username ?? (weave ? 'api' : undefined),
    project: sources.project.from === 'profile' && !same ? undefined : values.project,
  };
}

/** @throws HeddleError when the service rejects a secret, or cannot be asked. */
async function check({ baseUrl, record }: LoginInput, values: ResolvedSettings['values']): Promise<void> {
  const probes = openProbes(remoteConnection(baseUrl, record), values);
  const verdicts: Verdict[] = [];
  try {
    if (record.password) verdicts.push(report('password (Basic)', await probes.query()));
    if (record.token) verdicts.push(report('token (Bearer)', await probes.models()));
  } finally {
    await probes.close();
  }
  // A service may lack one operation; an address that has neither is not the service.
  if (verdicts.length === 2 && verdicts.every(isLacking)) {
    throw new HeddleError({
      code: 'not_found',
      message: `${baseUrl} has none of the operations that were tried. Nothing was stored.`,
      hint: 'Check the path of the base URL, and run `heddle login` again.',
    });
  }
}

function report(what: string, verdict: Verdict): Verdict {
  if (verdict.state !== 'failed') {
    say(
      verdict.state === 'accepted'
        ? `${what}: accepted by the service`
        : `${what}: not proven. ${verdict.error.message}`,
    );
    return verdict;
  }
  const { error } = verdict;
  throw new HeddleError({
    code: error.code,
    message: `${error.message} Nothing was stored.`,
    hint:
      error.code === 'unauthorized'
        ? 'Check the user name and the secret, and run `heddle login` again.'
        : 'Correct this, and run `heddle login` again. `heddle doctor` tells the layers of the network apart.',
    status: error.status,
  });
}

/** Removes what an earlier login kept elsewhere. The new login holds, whether that works or not. */
async function removeRest(store: SecretStore, profile: string, baseUrl: string, before?: Profile): Promise<void> {
  const earlier = storeOf(before);
  try {
    await store.remove(profile, baseUrl);
    if (earlier !== undefined && earlier !== store.kind) await openSecretStore(earlier, redactor).remove(profile);
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    process.stderr.write(`heddle: earlier secrets could not be removed: ${error.message}\n`);
  }
}

function withoutLogin(profile: Profile = {}): Profile {
  const { base_url: _url, project: _project, username: _name, weave: _weave, store: _store, ...rest } = profile;
  return rest;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
