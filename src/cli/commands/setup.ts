import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, resolve } from 'node:path';
import { styleText } from 'node:util';
import { Argument, type Command, CommanderError } from 'commander';
import { type ClientName, clients, type McpClient } from '../../client-setup/clients.ts';
import type { Edit, Entry } from '../../client-setup/entry.ts';
import { HeddleError } from '../../core/errors.ts';
import type { ResolvedSettings } from '../../settings/resolve-settings.ts';
import { type SettingName, settingDefinitions } from '../../settings/settings.ts';
import { offerFlags, resultFlags, serviceFlags } from '../support/flag-lists.ts';
import { addSettingFlags, settingsOf } from '../support/flags.ts';

interface SetupFlags {
  print?: true;
  remove?: true;
  yes?: true;
  name: string;
  file?: string;
}

/** `heddle setup CLIENT`: enters heddle into the configuration of an MCP client, or takes it out. */
export function addSetup(program: Command): void {
  const setup = program
    .command('setup')
    .description('enter heddle into the configuration of an MCP client')
    .addArgument(new Argument('<client>', 'the client').choices(Object.keys(clients)))
    .option('--print', 'print the entry and where it belongs, and write nothing')
    .option('--remove', 'take the entry out')
    .option('--yes', 'write without asking')
    .option('--name <name>', 'name of the entry', 'heddle')
    .option('--file <file>', "file to change instead of the person's own, like .vscode/mcp.json of a project");
  addSettingFlags(setup, [...serviceFlags, ...resultFlags, ...offerFlags]).action(
    async (name: ClientName, flags: SetupFlags) => {
      const client: McpClient = clients[name];
      const { platform, env: environment } = process;
      const path = resolve(flags.file ?? client.file({ platform, home: homedir(), environment }));
      // The settings are checked here, where someone reads what is wrong, and not first by the client.
      const entry = flags.remove ? undefined : entryOf(client, settingsOf(setup, { newProfile: true }));
      const edit: Edit = { format: client.format, servers: client.servers, name: flags.name, entry };
      const { editConfig } = await import('../../client-setup/edit-config.ts');
      if (flags.print) {
        process.stdout.write(editConfig('', edit));
        process.stderr.write(`This belongs in ${path} of ${client.title}. Nothing was written.\n`);
        return;
      }
      await change(client, path, edit, flags);
    },
  );
}

async function change(client: McpClient, path: string, edit: Edit, { yes }: SetupFlags): Promise<void> {
  const [{ editConfig, isEmptyConfig, isOwnConfig }, { readConfig, replaceConfig }, { diffOf }] = await Promise.all([
    import('../../client-setup/edit-config.ts'),
    import('../../client-setup/config-file.ts'),
    import('../../client-setup/diff.ts'),
  ]);
  const file = readConfig(path);
  const before = file.text ?? '';
  const after = naming(file.path, () => editConfig(before, edit));
  if (after === before) {
    say(edit.entry ? `${file.path} has this entry already.` : `${file.path} has no entry "${edit.name}".`);
    return;
  }
  const removes = edit.entry === undefined && isEmptyConfig(after);
  say(`${removes ? 'Remove' : file.text === undefined ? 'Make' : 'Change'} ${file.path}:`);
  for (const line of diffOf(before, removes ? '' : after)) say(colored(line));
  if (!yes && !(await confirmed())) {
    say('Nothing was written.');
    return;
  }
  const copy = replaceConfig(file, removes ? undefined : after, {
    keepsCopy: !(removes && isOwnConfig(before, edit)),
  });
  say(`Done.${copy === undefined ? '' : ` The file as it was is ${copy}`}`);
  say(client.afterwards);
}

/** @throws CommanderError where there is nobody to ask. */
async function confirmed(): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    throw new CommanderError(2, 'unknown', 'nothing was written: there is no terminal to ask on; add --yes');
  }
  const { confirm } = await import('@clack/prompts');
  return (await confirm({ message: 'Write this?' })) === true;
}

/** Starts this very installation, with the settings that were given as flags. A secret has no flag, so none gets in. */
function entryOf({ typed }: McpClient, { values, sources }: ResolvedSettings): Entry {
  const args = [scriptPath(), 'serve'];
  for (const name of Object.keys(settingDefinitions) as SettingName[]) {
    const option = settingDefinitions[name];
    if (!('flag' in option) || sources[name].from !== 'flag') continue;
    const [flag, value] = option.flag.split(' ');
    const text = String(values[name]);
    args.push(flag!, ...(value === undefined ? [] : [name === 'dataDir' ? resolve(text) : text]));
  }
  return { ...(typed && { type: 'stdio' }), command: nodePath(), args };
}

/** Applications that were not started from a shell have another PATH: only whole paths work everywhere. */
function scriptPath(): string {
  const script = realpathSync(process.argv[1]!);
  if (!/[\\/]_npx[\\/]/.test(script)) return script;
  throw new HeddleError({
    code: 'not_configured',
    message: 'heddle runs from the cache of npx, which npm may empty at any time; a client would then not find it.',
    hint: 'Install it with `npm install --global heddle` and run `heddle setup` again.',
  });
}

/** Homebrew keeps each version of Node in a folder of its own and removes it with the next; its link stays. */
function nodePath(): string {
  const [, prefix] = /^(.*)\/Cellar\/node(?:@\d+)?\//.exec(process.execPath) ?? [];
  if (prefix === undefined || !isAbsolute(prefix)) return process.execPath;
  const link = `${prefix}/bin/node`;
  try {
    return realpathSync(link) === realpathSync(process.execPath) ? link : process.execPath;
  } catch {
    return process.execPath;
  }
}

function naming<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    throw new HeddleError({ code: error.code, message: `${path}: ${error.message}`, hint: error.hint, cause: error });
  }
}

function colored(line: string): string {
  return line.startsWith('+') ? styleText('green', line) : line.startsWith('-') ? styleText('red', line) : line;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
