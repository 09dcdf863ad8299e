import type { AsyncEntry } from '@napi-rs/keyring';

/** One piece of work on the keychain. It runs in a process of its own, see `KeychainStore`. */
export type KeychainRequest =
  | { operation: 'read'; service: string }
  | { operation: 'write'; service: string; account: string; secret: string }
  | { operation: 'remove'; service: string; accounts: string[] };

export type KeychainReply = { entries: { account: string; password: string }[] } | { failure: string };

/**
 * Carries a request out, in the keychain itself: on Linux the Secret Service and nothing else, since the kernel's own
 * keyring, the library's silent second choice, forgets. Reading never asks the user anything; writing may.
 */
export async function accessKeychain(request: KeychainRequest): Promise<KeychainReply> {
  try {
    const { AsyncEntry, findCredentialsAsync } = await import('@napi-rs/keyring');
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
