import type { Command } from 'commander';
import { HeddleError } from '../../core/errors.ts';
import { ownMember } from '../../core/json/member-at.ts';
import { readProfiles, storeKinds, storeOf, writeProfile } from '../../settings/profiles.ts';
import { openSecretStore } from '../access/secrets.ts';
import { printLine } from '../terminal/print.ts';
import { addSettingFlags, settingsOf } from '../usage/flags.ts';
import { explain } from '../usage/help.ts';

export function addLogout(program: Command): void {
  const logout = program.command('logout').description('remove a profile and its secrets');
  explain(logout, { examples: ['heddle logout', 'heddle logout --profile work'], page: 'docs/configuration.md' });
  addSettingFlags(logout, ['profile', 'keychainTimeoutMs']).action(async () => {
    const { values, folders } = settingsOf(logout, { newProfile: true });
    const name = values.profile;
    const profile = ownMember(readProfiles(folders), name);
    // An interrupted login may have left secrets in a store that the profile does not name, so both are cleared.
    for (const kind of storeKinds) {
      try {
        await openSecretStore(kind, values).remove(name);
      } catch (error) {
        const isAbsent = error instanceof HeddleError && error.code === 'not_configured';
        if (storeOf(profile) === kind || !isAbsent) throw error;
      }
    }
    if (profile === undefined) return printLine(`There is no profile "${name}".`);
    // Last, so that logout can be repeated if the keychain failed.
    writeProfile(name, undefined, folders);
    printLine(`Removed profile "${name}" and its secrets.`);
  });
}
