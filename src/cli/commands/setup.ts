import { existsSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { Argument, type Command, InvalidArgumentError } from 'commander';
import { type ClientName, clients, type McpClient, type SystemInfo } from '../../client-setup/clients.ts';
import { readConfig, replaceConfig } from '../../client-setup/config-file.ts';
import { diffOf } from '../../client-setup/diff.ts';
import { editConfig, isEmptyConfig, isOwnConfig } from '../../client-setup/edit-config.ts';
import type { Edit, Entry } from '../../client-setup/entry.ts';
import { isInstalled, missingTraces } from '../../client-setup/installed.ts';
import { HeddleError, notConfigured } from '../../core/errors.ts';
import { hasSqlite, sqliteAdvice } from '../../core/sqlite.ts';
import { version } from '../../core/version.ts';
import type { ResolvedSettings } from '../../settings/resolve-settings.ts';
import { settingDefinitions, settingNames } from '../../settings/settings.ts';
import { invocation } from '../invocation.ts';
import { confirmChange } from '../terminal/confirm-change.ts';
import { printLine } from '../terminal/print.ts';
import { reportFailure, UsageError } from '../terminal/report-failure.ts';
import { paint } from '../terminal/terminal.ts';
import { addSettingFlags, flagArguments, runtimeFlags, settingsOf } from '../usage/flags.ts';
import { explain } from '../usage/help.ts';

interface SetupOptions {
  print?: true;
  remove?: true;
  yes?: true;
  all?: true;
  url?: string;
  tokenEnv?: string;
  name: string;
  file?: string;
}

export function addSetup(program: Command): void {
  const setup = program
    .command('setup')
    .description('add heddle to the configuration of an MCP client, or of all that are installed')
    .addArgument(new Argument('[client]', 'the client').choices(Object.keys(clients)))
    .option('--all', 'every client that is installed, instead of one')
    .option('--url <url>', 'address of a running `heddle serve --http`, which the client then connects to')
    .option(
      '--token-env <variable>',
      'with --url: variable of the environment that holds the bearer token; no token is ever written',
      asVariable,
    )
    .option('--print', 'print the entry and the file it belongs in, and write nothing')
    .option('--remove', 'remove the entry')
    .option('--yes', 'write without asking for confirmation')
    .option('--name <name>', 'name of the entry', 'heddle')
    .option('--file <file>', "file to change instead of the user's own, such as .vscode/mcp.json of a project");
  explain(setup, {
    examples: [
      'heddle setup claude-code',
      'heddle setup --all                                # every client that is installed',
      'heddle setup cursor --project team/support',
      'heddle setup vscode --url http://127.0.0.1:3920/mcp --token-env HEDDLE_HTTP_TOKEN',
    ],
    page: 'docs/connect.md, docs/troubleshooting.md',
  });
  addSettingFlags(setup, runtimeFlags).action(async (name: ClientName | undefined, options: SetupOptions) => {
    checkOptions(name, options);
    // A wrong setting is reported here, to the person who typed it, instead of later to the client.
    // The profile need not exist yet: `heddle login` may follow.
    const settings = options.remove ? undefined : settingsOf(setup, { newProfile: true });
    if (options.url !== undefined && settings) refuseSettingsWithUrl(settings);
    if (name !== undefined) return runSetup(clients[name], options, settings);
    await setUpAll(options, settings);
  });
}

function asVariable(text: string): string {
  if (/^[A-Za-z_]\w{0,127}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be the name of a variable, not the token.');
}

function checkOptions(name: ClientName | undefined, { all, file, url, tokenEnv }: SetupOptions): void {
  if (name === undefined && !all) {
    throw new UsageError(`no client: name one of ${Object.keys(clients).join(', ')}, or pass --all`);
  }
  if (all && name !== undefined) throw new UsageError('name a client or pass --all, not both');
  if (all && file !== undefined) throw new UsageError('--file belongs to one client; name it instead of --all');
  if (tokenEnv !== undefined && url === undefined) throw new UsageError('--token-env has no effect without --url');
}

/** Refuses setting flags beside --url: they belong to the `heddle serve --http` that listens there. */
function refuseSettingsWithUrl({ sources }: ResolvedSettings): void {
  const unused = settingNames.find((name) => sources[name].from === 'flag');
  if (unused === undefined) return;
  throw new UsageError(`${sources[unused].name} has no effect with --url: pass it to \`heddle serve --http\``);
}

/** Sets up every client that is installed, and says which are not. */
async function setUpAll(options: SetupOptions, settings?: ResolvedSettings): Promise<void> {
  let failures = 0;
  for (const client of Object.values<McpClient>(clients)) {
    if (!isInstalled(client, systemInfo())) {
      printLine(`${client.title}: not installed (there is no ${missingTraces(client, systemInfo())})`);
      continue;
    }
    printLine(paint('bold', `${client.title}:`));
    try {
      await runSetup(client, options, settings);
    } catch (error) {
      if (!(error instanceof HeddleError)) throw error;
      // One broken file must not keep the other clients from being set up.
      failures += 1;
      reportFailure(error);
    }
  }
  if (failures > 0) invocation().exitCode = 2;
}

function systemInfo(): SystemInfo {
  const { home, environment } = invocation();
  return { platform: process.platform, home, environment };
}

/** Prints a client's entry, or writes it to the configuration file. Undefined settings remove the entry instead. */
async function runSetup(
  client: McpClient,
  options: SetupOptions,
  settings: ResolvedSettings | undefined,
): Promise<void> {
  const path = resolve(options.file ?? client.file(systemInfo()));
  const entry = settings && entryOf(client, settings, options);
  const edit: Edit = { format: client.format ?? 'json', servers: client.servers, name: options.name, entry };
  if (options.print) {
    invocation().stdout.write(editConfig('', edit));
    invocation().stderr.write(`Add this to ${path} (${client.title}). Nothing was written.\n`);
    return;
  }
  if (entry && options.file === undefined && !isInstalled(client, systemInfo())) {
    const missing = missingTraces(client, systemInfo());
    invocation().stderr.write(
      `${client.title} seems not to be installed: there is no ${missing}. The entry waits for it.\n`,
    );
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
  if (!(await confirmChange('Write this?', options, true))) return printLine('Nothing was written.');
  const isOnlyOurs = isRemoved && isOwnConfig(before, edit);
  const copy = replaceConfig(file, isRemoved ? undefined : after, { keepsCopy: !isOnlyOurs });
  printLine(copy === undefined ? 'Done.' : `Done. The previous version was saved as ${copy}`);
  printLine(client.afterwards);
  if (entry && options.tokenEnv !== undefined) {
    printLine(`Where ${client.title} is started, set ${options.tokenEnv} to the server's token.`);
  }
  const usesEmbeddedService = settings && options.url === undefined && settings.values.baseUrl === undefined;
  if (usesEmbeddedService && !hasSqlite()) {
    invocation().stderr.write(
      `heddle: the embedded service cannot run on Node ${process.versions.node}. ${sqliteAdvice}\n`,
    );
  }
}

/** Returns an entry that starts this installation with the settings given as flags, or that connects to a server over HTTP. */
function entryOf(client: McpClient, settings: ResolvedSettings, { url, tokenEnv }: SetupOptions): Entry {
  if (url === undefined) {
    const server = { command: nodePath(), args: [scriptPath(), 'serve', ...flagArguments(settings)] };
    return client.localEntry ? client.localEntry(server) : { ...server };
  }
  const address = parseAddress(url);
  if (!client.remoteEntry) {
    throw notConfigured(
      `The file of ${client.title} takes no servers over HTTP.`,
      `Run \`heddle setup\` without --url, or add ${address} as a connector in ${client.title}, if it can reach the address.`,
    );
  }
  if (tokenEnv !== undefined && !client.variableReference) {
    throw notConfigured(
      `The file of ${client.title} cannot take a token from the environment, and heddle writes no secret into it.`,
      'Run the command without --token-env, then add the header with the token to the entry by hand.',
    );
  }
  return client.remoteEntry({ url: address, ...(tokenEnv !== undefined && { tokenVariable: tokenEnv }) });
}

function parseAddress(text: string): string {
  let address: string;
  try {
    // --url follows the same rules as --public-url.
    address = settingDefinitions.publicUrl.parse(text);
  } catch (error) {
    throw new UsageError(`--url ${(error as Error).message}`);
  }
  const { origin, pathname } = new URL(address);
  if (pathname === '/') throw new UsageError(`--url must have a path: \`heddle serve --http\` serves at ${origin}/mcp`);
  return address;
}

/** Returns the absolute path of this program: desktop applications have another PATH than a shell. */
function scriptPath(): string {
  const script = realpathSync(invocation().script);
  if (!/[\\/]_npx[\\/]/.test(script)) return script;
  throw notConfigured(
    'heddle runs from the cache of npx, which npm may empty at any time; a client would then not find it.',
    `Install it with \`npm install --global --prefix ~/.heddle ./heddle-${version}.tgz\`, then run \`~/.heddle/bin/heddle setup\`.`,
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
  return line.startsWith('+') ? paint('green', line) : line.startsWith('-') ? paint('red', line) : line;
}
