import { json } from 'node:stream/consumers';
import type { Command } from 'commander';
import { accessKeychain, type KeychainRequest } from '../../settings/secrets/access-keychain.ts';
import { keychainCommand } from '../access/secrets.ts';
import { invocation } from '../invocation.ts';

/** Adds the hidden command that heddle starts as a child process for keychain access, so that it can be killed if it hangs. */
export function addAccessKeychain(program: Command): void {
  program.command(keychainCommand, { hidden: true }).action(async () => {
    const reply = await accessKeychain((await json(invocation().stdin)) as KeychainRequest);
    invocation().stdout.write(JSON.stringify(reply));
  });
}
