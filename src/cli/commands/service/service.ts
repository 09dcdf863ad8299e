import { type Command, InvalidArgumentError } from 'commander';
import { notConfigured } from '../../../core/errors.ts';
import { databaseSecrets, dataLocation } from '../../../runtime/runtime.ts';
import { stderrLog } from '../../../runtime/stderr-log.ts';
import {
  type ImportTarget,
  type Listing,
  openServiceStore,
  type ProjectGrants,
  type Store,
  startService,
} from '../../../service/index.ts';
import type { SettingName, SettingValues } from '../../../settings/settings.ts';
import { addSettingFlags, asPort, settingsOf } from '../../support/flags.ts';
import { printJson, printLine } from '../../support/print.ts';
import { progressBar, showProgress } from '../../support/progress.ts';
import { UsageError } from '../../support/report-failure.ts';
import { redactor } from '../../support/secrets.ts';
import { readFileLines, readJsonFile } from './read-file.ts';

const dataFlags: readonly SettingName[] = ['profile', 'dataDir', 'databaseUrl'];

export function addService(program: Command): void {
  const service = program
    .command('service')
    .description('run the embedded service as a separate server, and manage its data');
  addStart(service);
  addUser(service);
  addGrantChange(service, 'grant', 'let an account see projects, and print which it sees');
  addGrantChange(service, 'revoke', 'take projects back from an account, and print which it still sees');
  addListUsers(service);
  addImport(service);
  addPut(service, 'prompt', 'a JSON array of messages, or {"messages":[…]}');
  addPut(service, 'dataset', 'a JSON array of rows, or one JSON object per line');
  addList(service);
}

function addStart(service: Command): void {
  const start = service
    .command('start')
    .description('serve the embedded service over HTTP until SIGTERM or SIGINT')
    .option('--port <port>', 'port to listen on; 0 picks a free one', asPort, 8787)
    .option('--host <address>', 'address to listen on', '127.0.0.1');
  addSettingFlags(start, [...dataFlags, 'modelProviderUrl', 'logLevel', 'logFormat']);
  start.action(async ({ port, host }: { port: number; host: string }) => {
    const { values } = settingsOf(start);
    redactor.protect(values.modelProviderKey, ...databaseSecrets(values));
    const running = await startService({
      data: dataLocation(values),
      host,
      port,
      ...(values.modelProviderUrl !== undefined && {
        modelProvider: { url: values.modelProviderUrl, key: values.modelProviderKey },
      }),
      log: stderrLog(values.logLevel, values.logFormat, (text) => redactor.redact(text)),
    }).catch((error) => throwListenError(error, host, port));
    process.stderr.write(`listening on ${running.url}\n`);
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void running.close());
  });
}

function addUser(service: Command): void {
  const command = service
    .command('add-user')
    .description('create an account and print its password and bearer token, which are not shown again')
    .argument('<name>', 'user name')
    .argument('[projects...]', 'projects that it may see, each written entity/project')
    .option('--all-projects', 'let it see every project')
    .option('--env', 'print its key as shell lines for programs that use the SDK of the public service (npm weave)')
    .option('--url <url>', 'address of this service in those lines', asServiceUrl, 'http://127.0.0.1:8787');
  addSettingFlags(command, dataFlags).action(async (name: string, projects: string[], options: UserOptions) => {
    const grants = grantsOf(projects, options);
    const { password, token } = await withStore(command, (store) => store.addUser(name, grants));
    const seen = grants.length === 0 ? `none yet: heddle service grant ${name} ENTITY/PROJECT` : describeGrants(grants);
    if (!options.env) {
      return printLine(`user name: ${name}\npassword:  ${password}\ntoken:     ${token}\nprojects:  ${seen}`);
    }
    // On stderr, so that a shell can evaluate stdout.
    if (grants.length === 0) process.stderr.write(`projects:  ${seen}\n`);
    printLine(`export WANDB_API_KEY=${token}\nexport WF_TRACE_SERVER_URL=${options.url}`);
  });
}

interface UserOptions extends GrantOptions {
  env?: true;
  url: string;
}

/** Checks the address of a service, and removes its final slashes. Only characters that no shell interprets may be in it. */
function asServiceUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:\/\/[\w.:[\]/%~-]+$/.test(text)) {
    throw new InvalidArgumentError('It must be an http or https URL without a user name, a query or a fragment.');
  }
  return text.replace(/\/+$/, '');
}

interface GrantOptions {
  allProjects?: true;
}

function addGrantChange(service: Command, change: 'grant' | 'revoke', description: string): void {
  const command = service
    .command(change)
    .description(description)
    .argument('<name>', 'user name')
    .argument('[projects...]', 'projects, each written entity/project')
    .option('--all-projects', change === 'grant' ? 'every project' : 'the grant of every project');
  addSettingFlags(command, dataFlags).action(async (name: string, projects: string[], options: GrantOptions) => {
    const grants = grantsOf(projects, options);
    if (grants.length === 0) throw new UsageError('no project: name at least one, or pass --all-projects');
    printAccount(name, await withStore(command, (store) => store[change](name, grants)));
  });
}

function addListUsers(service: Command): void {
  const command = service
    .command('list-users')
    .description('list the accounts and the projects that each sees')
    .option('--json', 'print JSON');
  addSettingFlags(command, dataFlags).action(async ({ json }: { json?: true }) => {
    const accounts = await withStore(command, (store) => store.listUsers());
    if (json) return printJson(accounts);
    for (const { name, projects } of accounts) printAccount(name, projects);
    if (accounts.length === 0) process.stderr.write('There are no accounts.\n');
  });
}

function grantsOf(projects: string[], { allProjects }: GrantOptions): ProjectGrants {
  if (allProjects && projects.length > 0) throw new UsageError('name projects or pass --all-projects, not both');
  return allProjects ? 'all' : projects;
}

function printAccount(name: string, grants: ProjectGrants): void {
  printLine(`${name}: ${describeGrants(grants)}`);
}

function describeGrants(grants: ProjectGrants): string {
  if (grants === 'all') return 'all projects';
  return grants.length === 0 ? 'no project' : grants.join(', ');
}

function addImport(service: Command): void {
  const command = service
    .command('import')
    .description('import queue items from lines of JSON: all of them, or none if a line is invalid')
    .argument('<file>', 'file to read, or - for stdin')
    .requiredOption('--queue <id>', 'queue to import into; created if it does not exist');
  addSettingFlags(command, [...dataFlags, 'project']);
  command.action(async (file: string, { queue: queueId }: { queue: string }) => {
    const { added, duplicates } = await withStore(command, (store, values) =>
      store.importItems(readFileLines(file), { projectId: projectOf(values), queueId, onProgress: showImportProgress }),
    ).finally(() => showProgress(''));
    printLine(`${added} added, ${duplicates} duplicates`);
  });
}

const showImportProgress: ImportTarget['onProgress'] = ({ phase, done, total }) =>
  showProgress(progressBar(total === undefined ? `${phase} line` : phase, done, total));

function addPut(service: Command, kind: 'prompt' | 'dataset', form: string): void {
  const command = service
    .command(`put-${kind}`)
    .description(`store a version of a ${kind}; unchanged content adds no version`)
    .argument('<name>', `name of the ${kind}`)
    .argument('<file>', `file with ${form}; - for stdin`);
  addSettingFlags(command, [...dataFlags, 'project']).action(async (name: string, file: string) => {
    const value = await readJsonFile(file);
    // A file of one line is a valid JSON object and a dataset of one row.
    const content = kind === 'dataset' && !Array.isArray(value) ? [value] : value;
    const { reference, version_index } = await withStore(command, (store, values) =>
      store.putObject(kind, projectOf(values), name, content),
    );
    printLine(`v${version_index} ${reference}`);
  });
}

function addList(service: Command): void {
  const command = service
    .command('list')
    .description('list the stored queues and objects')
    .option('--json', 'print JSON');
  addSettingFlags(command, [...dataFlags, 'project']).action(async ({ json }: { json?: true }) => {
    const listings = await withStore(command, (store, { project }) => store.list(project));
    if (json) return printJson(listings);
    for (const listing of listings) printListing(listing);
    if (listings.length === 0) process.stderr.write('Nothing is stored.\n');
  });
}

function printListing({ project_id, queues, objects }: Listing): void {
  printLine(project_id);
  for (const { id, items, states } of queues) {
    const counts = Object.entries(states).map(([state, count]) => `${count} ${state}`);
    printLine(`  queue ${id}: ${countOf(items, 'item')}${counts.length ? ` (${counts.join(', ')})` : ''}`);
  }
  for (const { kind, object_id, versions } of objects) {
    const { version_index, reference } = versions.at(-1)!;
    printLine(`  ${kind} ${object_id}: ${countOf(versions.length, 'version')}, latest v${version_index} ${reference}`);
  }
}

function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Opens the data that the settings of a command name, and closes it after `use`. */
async function withStore<T>(command: Command, use: (store: Store, values: SettingValues) => Promise<T>): Promise<T> {
  const { values } = settingsOf(command);
  redactor.protect(...databaseSecrets(values));
  const store = await openServiceStore(dataLocation(values));
  try {
    return await use(store, values);
  } finally {
    await store.close();
  }
}

function projectOf({ project }: SettingValues): string {
  if (project !== undefined) return project;
  throw new UsageError('no project: pass --project entity/project or set HEDDLE_PROJECT');
}

function throwListenError(error: unknown, host: string, port: number): never {
  const { syscall, code } = error as NodeJS.ErrnoException;
  if (syscall !== 'listen' && syscall !== 'getaddrinfo') throw error;
  throw notConfigured(
    `The service cannot listen on ${host}, port ${port} (${code}).`,
    'Choose another --port or --host, or stop the process that uses the port.',
  );
}
