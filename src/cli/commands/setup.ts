import { existsSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { styleText } from 'node:util';
import { confirm } from '@clack/prompts';
import { Argument, type Command } from 'commander';
import { type ClientName, clients, type McpClient } from '../../client-setup/clients.ts';
import { readConfig, replaceConfig } from '../../client-setup/config-file.ts';
import { diffOf } from '../../client-setup/diff.ts';
import { editConfig, isEmptyConfig, isOwnConfig } from '../../client-setup/edit-config.ts';
import type { Edit, Entry } from '../../client-setup/entry.ts';
import { HeddleError, notConfigured } from '../../core/errors.ts';
import type { ResolvedSettings } from '../../settings/resolve-settings.ts';
import { type Setting, settingDefinitions, settingNames } from '../../settings/settings.ts';
import { addSettingFlags, runtimeFlags, settingsOf } from '../support/flags.ts';
import { printLine } from '../support/print.ts';
import { UsageError } from '../support/report-failure.ts';

interface SetupOptions {
  print?: true;
  remove?: true;
  yes?: true;
  name: string;
  file?: string;
}

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
  addSettingFlags(setup, runtimeFlags).action((name: ClientName, options: SetupOptions) => {
    // A wrong setting is reported here, to the person who typed it, instead of later to the client.
    const settings = options.remove ? undefined : settingsOf(setup, { newProfile: true });
    return runSetup(clients[name], options, settings);
  });
}

/** Prints or writes the entry with these settings in a client's configuration file; without settings, removes it. */
async function runSetup(client: McpClient, options: SetupOptions, settings?: ResolvedSettings): Promise<void> {
  const { platform, env: environment } = process;
  const path = resolve(options.file ?? client.file({ platform, home: homedir(), environment }));
  const entry = settings && entryOf(client, settings);
  const edit: Edit = { format: client.format ?? 'json', servers: client.servers, name: options.name, entry };
  if (options.print) {
    process.stdout.write(editConfig('', edit));
    process.stderr.write(`Add this to ${path} (${client.title}). Nothing was written.\n`);
    return;
  }
  const file = readConfig(path);
  const before = file.text ?? '';
  const after = editFile(file.path, before, edit);
  if (after === before) {
    return printLine(entry ? `${file.path} already has this entry.` : `${file.path} has no entry "${edit.name}".`);
  }
  const isRemoved = entry === undefined && isEmptyConfig(after);
  printLine(`${isRemoved ? 'Remove' : file.text === undefined ? 'Create' : 'Change'} ${file.path}:`);
  for (const line of diffOf(before, isRemoved ? '' : after)) printLine(colored(line));
  if (!options.yes && !(await askToWrite())) return printLine('Nothing was written.');
  const keepsCopy = !(isRemoved && isOwnConfig(before, edit));
  const copy = replaceConfig(file, isRemoved ? undefined : after, { keepsCopy });
  printLine(copy === undefined ? 'Done.' : `Done. The previous version was saved as ${copy}`);
  printLine(client.afterwards);
}

/** @throws UsageError if there is no terminal to ask on. */
async function askToWrite(): Promise<boolean> {
  if (process.stdin.isTTY && process.stdout.isTTY) return (await confirm({ message: 'Write this?' })) === true;
  throw new UsageError('nothing was written: there is no terminal to ask for confirmation on; add --yes');
}

/** Returns an entry that starts this installation with the settings given as flags. Secrets have no flags. */
function entryOf({ typed }: McpClient, { values, sources }: ResolvedSettings): Entry {
  const args = [scriptPath(), 'serve'];
  for (const name of settingNames) {
    if (sources[name].from !== 'flag') continue;
    const { flag }: Setting = settingDefinitions[name];
    const [option, placeholder] = flag!.split(' ');
    const value = String(values[name]);
    args.push(option!);
    if (placeholder !== undefined) args.push(name === 'dataDir' ? resolve(value) : value);
  }
  return { ...(typed && { type: 'stdio' }), command: nodePath(), args };
}

/** Returns the absolute path of this program: desktop applications have another PATH than a shell. */
function scriptPath(): string {
  const script = realpathSync(process.argv[1]!);
  if (!/[\\/]_npx[\\/]/.test(script)) return script;
  throw notConfigured(
    'heddle runs from the cache of npx, which npm may empty at any time; a client would then not find it.',
    'Install it with `npm install --global heddle` and run `heddle setup` again.',
  );
}

/** Returns the path of Node; for Homebrew its stable link, because an upgrade removes the folder of the old version. */
function nodePath(): string {
  const { execPath } = process;
  const link = execPath.replace(/\/Cellar\/node(@\d+)?\/.*/, '/bin/node');
  return existsSync(link) && realpathSync(link) === realpathSync(execPath) ? link : execPath;
}

/** Edits the text of a configuration file. Errors name the file. */
function editFile(path: string, text: string, edit: Edit): string {
  try {
    return editConfig(text, edit);
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    throw new HeddleError({ code: error.code, message: `${path}: ${error.message}`, hint: error.hint, cause: error });
  }
}

function colored(line: string): string {
  return line.startsWith('+') ? styleText('green', line) : line.startsWith('-') ? styleText('red', line) : line;
}
