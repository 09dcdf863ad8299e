import { type Command, Option } from 'commander';
import { storeKinds } from '../../../settings/profiles.ts';
import { publicWeave } from '../../../settings/settings.ts';
import { addSettingFlags, settingsOf } from '../../support/flags.ts';
import type { LoginOptions } from './read-login-input.ts';

/** Adds `heddle login`, which checks credentials at the service and stores them for a profile. */
export function addLogin(program: Command): void {
  const login = program
    .command('login')
    .description('check credentials at the service and store them for a profile')
    .option('--weave', `log in to the public Weave service, ${publicWeave}, with an API key`)
    .addOption(new Option('--store <kind>', 'where to store secrets; the keychain by default').choices(storeKinds))
    .option('--password-stdin', 'read the password from the first line of stdin')
    .option('--token-stdin', 'read the token from stdin, from the second line if the password comes first');
  const flags = [
    'profile',
    'baseUrl',
    'inferenceUrl',
    'project',
    'username',
    'timeoutMs',
    'keychainTimeoutMs',
  ] as const;
  addSettingFlags(login, flags).action(async (options: LoginOptions) => {
    const { runLogin } = await import('./run-login.ts');
    await runLogin(options, settingsOf(login, { newProfile: true }));
  });
}
