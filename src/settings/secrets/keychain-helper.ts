import type { AsyncEntry } from '@napi-rs/keyring';

/** One operation on the keychain, which runs in a child process; see `KeychainStore`. */
export type KeychainRequest =
  | { operation: 'read'; service: string }
  | { operation: 'write'; service: string; account: string; secret: string }
  | { operation: 'remove'; service: string; accounts: string[] };

export type KeychainReply = { entries: { account: string; password: string }[] } | { failure: string };

/** Performs an operation on the keychain. Reading never prompts the user; writing may. */
export async function accessKeychain(request: KeychainRequest): Promise<KeychainReply> {
  try {
    const { AsyncEntry, findCredentialsAsync } = await import('@napi-rs/keyring');
    // On Linux the library would silently fall back to the kernel's keyring, which does not survive a restart.
    const entry = (account: string): AsyncEntry =>
      new AsyncEntry(request.service, account, { linux: { store: 'secret-service' } });
    switch (request.operation) {
      case 'read':
        return { entries: await findCredentialsAsync(request.service) };
      case 'write':
        await entry(request.account).setPassword(request.secret);
        return { entries: [] };
      case 'remove':
        for (const account of request.accounts) await entry(account).deleteCredential();
        return { entries: [] };
    }
  } catch (error) {
    return { failure: (error as Error).message };
  }
}
