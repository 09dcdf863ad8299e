import type { Command } from 'commander';
import { HeddleError } from '../../core/errors.ts';
import { openStore } from '../../runtime/secrets.ts';
import { readProfiles, storeKinds, storeOf, writeProfile } from '../../settings/profiles.ts';
import { addConfigFlags, configOf } from '../support/flags.ts';

/** `heddle logout`: removes a profile and every secret of it. */
export function addLogout(program: Command): void {
  const logout = program.command('logout').description('remove a profile and its secrets');
  addConfigFlags(logout, ['profile', 'timeoutMs']).action(async () => {
    const { config } = configOf(logout, { newProfile: true });
    const profile = readProfiles()[config.profile];
    // An interrupted login may have left secrets where no profile points to, so both stores are looked through.
    for (const kind of storeKinds) {
      try {
        await openStore(kind, config.timeoutMs).remove(config.profile);
      } catch (error) {
        if (storeOf(profile) === kind || !(error instanceof HeddleError) || error.code !== 'not_configured')
          throw error;
      }
    }
    // Last, so that a keychain that could not be reached can be cleared by a second attempt.
    if (profile !== undefined) writeProfile(config.profile, undefined);
    process.stdout.write(
      profile === undefined
        ? `There is no profile "${config.profile}".\n`
        : `Profile "${config.profile}" and its secrets are removed.\n`,
    );
  });
}
