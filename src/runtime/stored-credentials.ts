import { statSync } from 'node:fs';
import { configFileIn } from '../settings/profiles.ts';
import type { ResolvedSettings } from '../settings/resolve-settings.ts';
import type { Credentials } from '../settings/secrets/credentials.ts';

/** Reads the credentials of a run. The command line provides it, because reading a keychain starts its program again. */
export type ReadCredentials = (resolved: ResolvedSettings) => Promise<Credentials>;

/** Time after which the configuration file is looked at again. */
const maxAgeMs = 1_000;

/**
 * Wraps `read` to read the credentials on first use, and again within a second after `login` or `logout` has changed the
 * configuration file, so that a running server need not be restarted. A failure or a `problem` makes the next call read again.
 */
export function cacheCredentials(resolved: ResolvedSettings, read: ReadCredentials): () => Promise<Credentials> {
  const file = configFileIn(resolved.folders);
  let cached: { stamp: string; credentials: Promise<Credentials> } | undefined;
  let checkedAtMs = 0;
  return async () => {
    if (!cached || performance.now() - checkedAtMs >= maxAgeMs) {
      checkedAtMs = performance.now();
      const stamp = fileStamp(file);
      if (cached?.stamp !== stamp) cached = { stamp, credentials: read(resolved) };
    }
    const current = cached;
    const usable = await current.credentials.then(
      ({ problem }) => problem === undefined,
      () => false,
    );
    if (!usable && cached === current) cached = undefined;
    return current.credentials;
  };
}

/** Returns a text that changes whenever the file is replaced; empty while there is no file. */
export function fileStamp(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  return found ? `${found.ino} ${found.mtimeMs} ${found.size}` : '';
}
