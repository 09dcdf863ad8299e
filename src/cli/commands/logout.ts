import type { Command } from 'commander';
import { HeddleError } from '../../core/errors.ts';
import { readProfiles, storeKinds, storeOf, writeProfile } from '../../settings/profiles.ts';
import { addSettingFlags, settingsOf } from '../support/flags.ts';
import { redactor } from '../support/redactor.ts';
import { openSecretStore } from '../support/secrets.ts';

/** `heddle logout`: removes a profile and every secret of it. */
export function addLogout(program: Command): void {
  const logout = program.command('logout').description('remove a profile and its secrets');
  addSettingFlags(logout, ['profile', 'keychainTimeoutMs']).action(async () => {
    const { values } = settingsOf(logout, { newProfile: true });
    const profile = readProfiles()[values.profile];
    // An interrupted login may have left secrets where no profile points to, so both stores are looked through.
    for (const kind of storeKinds) {
      try {
        await openSecretStore(kind, redactor, values.keychainTimeoutMs).remove(values.profile);
      } catch (error) {
        if (storeOf(profile) === kind || !(error instanceof HeddleError) || error.code !== 'not_configured')
          throw error;
      }
    }
    // Last, so that a keychain that could not be reached can be cleared by a second attempt.
    if (profile !== undefined) writeProfile(values.profile, undefined);
    process.stdout.write(
      profile === undefined
        ? `There is no profile "${values.profile}".\n`
        : `Profile "${values.profile}" and its secrets are removed.\n`,
    );
  });
}
