import type { AsyncEntry } from '@napi-rs/keyring';

/** Changes to the entries of one service in the keychain, which are made in a child process; see `keychainStore`. */
export interface KeychainRequest {
  service: string;
  write?: { account: string; secret: string };
  /** Accounts whose entries are removed. */
  remove?: string[];
}

/** The entries of the service after the changes. */
export type KeychainEntries = { entries: { account: string; password: string }[] };
export type KeychainReply = KeychainEntries | { failure: string };

/** Performs a request on the keychain. Changes may prompt the user; reading never does. */
export async function accessKeychain({ service, write, remove = [] }: KeychainRequest): Promise<KeychainReply> {
  try {
    const { AsyncEntry, findCredentialsAsync } = await import('@napi-rs/keyring');
    // On Linux the library would silently fall back to the kernel's keyring, which does not survive a restart.
    const entryOf = (account: string): AsyncEntry =>
      new AsyncEntry(service, account, { linux: { store: 'secret-service' } });
    if (write) await entryOf(write.account).setPassword(write.secret);
    for (const account of remove) await entryOf(account).deleteCredential();
    return { entries: await findCredentialsAsync(service) };
  } catch (error) {
    return { failure: (error as Error).message };
  }
}
