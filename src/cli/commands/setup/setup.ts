import { Argument, type Command } from 'commander';
import { type ClientName, clients } from '../../../client-setup/clients.ts';
import { addSettingFlags, runtimeFlags, settingsOf } from '../../support/flags.ts';
import type { SetupOptions } from './run-setup.ts';

/** Adds `heddle setup CLIENT`, which adds heddle to the configuration of an MCP client, or removes it. */
export function addSetup(program: Command): void {
  const setup = program
    .command('setup')
    .description('add heddle to the configuration of an MCP client')
    .addArgument(new Argument('<client>', 'the client').choices(Object.keys(clients)))
    .option('--print', 'print the entry and the file it belongs in, and write nothing')
    .option('--remove', 'remove the entry')
    .option('--yes', 'write without asking for confirmation')
    .option('--name <name>', 'name of the entry', 'heddle')
    .option('--file <file>', "file to change instead of the user's own, such as .vscode/mcp.json of a project");
  addSettingFlags(setup, runtimeFlags).action(async (name: ClientName, options: SetupOptions) => {
    // A wrong setting is reported here, to the person who typed it, instead of later to the client.
    const settings = options.remove ? undefined : settingsOf(setup, { newProfile: true });
    const { runSetup } = await import('./run-setup.ts');
    await runSetup(clients[name], options, settings);
  });
}
