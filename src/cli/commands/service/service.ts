import { type Command, InvalidArgumentError } from 'commander';
import { describeData } from '../../../core/database-url.ts';
import { HeddleError } from '../../../core/errors.ts';
import { isLoopbackHost } from '../../../core/http/loopback.ts';
import { unknownProject } from '../../../records/require-project.ts';
import { HostedBoard } from '../../../runtime/hosted-board/hosted-board.ts';
import { listenAt, releaseMemoryAtRest, stopSignal, untilAborted } from '../../../runtime/process-lifecycle.ts';
import { dataLocation, modelProviderOf, scorerEndpointsOf, secretsOf } from '../../../runtime/runtime.ts';
import {
  type Account,
  backUpData,
  type Listing,
  type ProjectGrants,
  type RunningService,
  resetData,
  restoreService,
  type Store,
  startService,
} from '../../../service/start-service.ts';
import { compactTable, escapeInvisible } from '../../../text/compact-table.ts';
import { isNear, nearestSentence } from '../../../text/names.ts';
import { pluralize } from '../../../text/page.ts';
import { shellWord } from '../../../tools/definition/terminal-command.ts';
import { dataFlags, storedDataOf, withStore } from '../../access/open-store.ts';
import { logOf } from '../../access/runtime-options.ts';
import { invocation, programName } from '../../invocation.ts';
import { confirmChange } from '../../terminal/confirm-change.ts';
import { addOutputOptions, isForPeople, type OutputForm } from '../../terminal/output-form.ts';
import { printAligned, printJson, printLine } from '../../terminal/print.ts';
import { didYouMean, UsageError } from '../../terminal/report-failure.ts';
import { paint } from '../../terminal/terminal.ts';
import {
  addChangeFlags,
  addSettingFlags,
  asPort,
  boardFlags,
  requireProjectSetting,
  settingsOf,
} from '../../usage/flags.ts';
import { explain } from '../../usage/help.ts';
import { addImportCommand } from '../import/import.ts';
import { readJsonFile, readObjects } from '../import/read-rows.ts';
import { defineCopy, runCopy } from './copy/copy.ts';

export function addService(program: Command): void {
  const service = program
    .command('service')
    .description('run the embedded service as a separate server, and manage its data');
  explain(service, {
    examples: ['heddle service list', 'heddle service backup heddle-backup.db', 'heddle service start --port 8787'],
    page: 'docs/service.md',
  });
  addStart(service);
  addUser(service);
  addRenewUser(service);
  addGrantChange(service, 'grant', 'let an account see projects, and print which it sees');
  addGrantChange(service, 'revoke', 'take projects back from an account, and print which it still sees');
  addListUsers(service);
  addInvite(service);
  addEndSessions(service);
  addImportCommand(service, 'heddle service import');
  addList(service);
  addPut(service, 'prompt', 'a JSON array of messages, or {"messages":[…]}');
  addPut(service, 'dataset', 'a JSON array of rows, one JSON object per line, or CSV');
  addCopy(service);
  addBackup(service);
  addRestore(service);
  addReset(service);
  for (const command of service.commands) command.helpGroup(headingOf(command.name()));
}

function headingOf(name: string): string {
  if (/user|grant|revoke|invite|sessions/.test(name)) return 'Accounts:';
  if (/copy|backup|restore|reset/.test(name)) return 'The data as a whole:';
  return name === 'start' ? 'Server:' : 'Content:';
}

function addStart(service: Command): void {
  const start = service
    .command('start')
    .description('serve the embedded service over HTTP until SIGTERM or SIGINT')
    .option('--port <port>', 'port to listen on; 0 picks a free one', asPort, 8787)
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--board', 'serve the board at /board, to people who log in');
  explain(start, {
    examples: ['heddle service start', 'heddle service start --model-provider http://127.0.0.1:11434/v1'],
    page: 'docs/service.md#run-it-as-a-server, docs/judging-as-a-team.md, docs/deploy.md',
  });
  addSettingFlags(start, [...dataFlags, 'textIndex', ...boardFlags, 'modelProviderUrl', 'logLevel', 'logFormat']);
  start.action(async ({ port, host, board: withBoard }: { port: number; host: string; board?: true }) => {
    const settings = settingsOf(start);
    const { values } = settings;
    const { control, redactor, stderr } = invocation();
    redactor.protect(...secretsOf(values));
    const log = logOf(settings);
    const isLoopback = isLoopbackHost(host.includes(':') ? `[${host}]` : host);
    const board = withBoard && new HostedBoard({ values, isLoopback, service: () => starting, log, redactor });
    const starting: Promise<RunningService> = startService({
      data: dataLocation(settings),
      host,
      port,
      modelProvider: modelProviderOf(values),
      scorerEndpoints: scorerEndpointsOf(values),
      textIndex: values.textIndex,
      boardKey: board?.key,
      pages: board?.serve,
      log,
    });
    const running = await listenAt(starting, host, port, '--port or --host');
    const stop = stopSignal(control);
    releaseMemoryAtRest();
    stderr.write(`listening on ${running.url}\n`);
    await untilAborted(stop);
    await running.close();
    await board?.close();
  });
}

function addUser(service: Command): void {
  const command = service
    .command('add-user')
    .description('create an account and print its password and bearer token, which are not shown again')
    .argument('<name>', 'user name')
    .argument('[projects...]', 'projects that it may see, each written entity/project')
    .option('--all-projects', 'let it see every project');
  explain(command, {
    examples: [
      'heddle service add-user ada team/support',
      '(umask 077; heddle service add-user recorder team/support --env > recording.env)',
    ],
    page: 'docs/service.md#who-sees-which-project, docs/recording.md',
  });
  addSecretOptions(command).action(async (name: string, projects: string[], options: GrantOptions & SecretOptions) => {
    const grants = grantsOf(projects, options);
    const account = await withStore(command, async (store) => {
      const added = await store.addUser(name, grants);
      await warnOfMisspelled(grants, store);
      return added;
    });
    printSecrets({ ...account, projects: grants }, options, command);
  });
}

function addRenewUser(service: Command): void {
  const command = service
    .command('renew-user')
    .description('give an account a new password and bearer token, print them, and refuse the old ones from now on')
    .argument('<name>', 'user name');
  explain(command, {
    examples: ['(umask 077; heddle service renew-user recorder --env > recording.env)'],
    page: 'docs/service.md#who-sees-which-project',
  });
  addSecretOptions(command).action(async (name: string, options: SecretOptions) =>
    printSecrets(await withStore(command, (store) => store.renewUser(name)), options, command),
  );
}

function addSecretOptions(command: Command): Command {
  command
    .option('--env', 'print its key as shell lines for programs that use an SDK of the public service (weave)')
    .option('--url <url>', 'address of this service in those lines', asServiceUrl, 'http://127.0.0.1:8787');
  return addChangeFlags(command, dataFlags);
}

function printSecrets(
  { name, password, token, projects }: Account & { projects: ProjectGrants },
  { env, url }: SecretOptions,
  command: Command,
): void {
  const seen =
    projects.length === 0
      ? `none yet: ${programName()} service grant ${name} ENTITY/PROJECT`
      : describeGrants(projects);
  const place = `projects:  ${seen}\nstored in: ${describeData(storedDataOf(command))}`;
  if (!env) {
    printLine(`user name: ${name}\npassword:  ${password}\ntoken:     ${token}\n${place}`);
    return;
  }
  // On stderr, so that a shell can evaluate stdout.
  invocation().stderr.write(`${place}\n`);
  // Without WANDB_BASE_URL, the Python SDK would send the key to the public service.
  const addresses = ['WF_TRACE_SERVER_URL', 'WANDB_BASE_URL'].map((variable) => `export ${variable}=${url}`);
  printLine([`export WANDB_API_KEY=${token}`, ...addresses].join('\n'));
}

interface SecretOptions {
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
  explain(command, {
    examples: [`heddle service ${change} ada team/billing`],
    page: 'docs/service.md#who-sees-which-project',
  });
  addChangeFlags(command, dataFlags).action(async (name: string, projects: string[], options: GrantOptions) => {
    const grants = grantsOf(projects, options);
    if (grants.length === 0) throw new UsageError('no project: name at least one, or pass --all-projects');
    await withStore(command, async (store) => {
      printAccount(name, await store[change](name, grants));
      if (change === 'grant') await warnOfMisspelled(grants, store);
    });
  });
}

function addListUsers(service: Command): void {
  const command = addOutputOptions(
    service.command('list-users').description('list the accounts and the projects that each sees'),
  );
  explain(command, { examples: ['heddle service list-users'], page: 'docs/service.md#who-sees-which-project' });
  addSettingFlags(command, dataFlags).action(async (form: OutputForm) => {
    const accounts = await withStore(command, (store) => store.listUsers());
    if (!isForPeople(form)) return printJson(accounts);
    for (const { name, projects } of accounts) printAccount(name, projects);
    if (accounts.length === 0)
      invocation().stderr.write(`There are no accounts in ${describeData(storedDataOf(command))}.\n`);
  });
}

function addInvite(service: Command): void {
  const command = service
    .command('invite')
    .description('print a link to the board for one person, which works once, in one browser, within a day')
    .argument('<name>', 'user name of the person; the account is created if there is none')
    .argument('<project>', 'project that the board opens, and that the account may see from then on')
    .option('--queue <queue>', 'id or name of the queue that the board opens')
    .option(
      '--url <url>',
      'address of this service in the link, by default the public URL or http://127.0.0.1:8787',
      asServiceUrl,
    );
  explain(command, {
    examples: [
      "heddle service invite ann team/support --queue 'Nurse review'",
      'heddle service invite ann team/support --url https://judge.example.com',
    ],
    page: 'docs/judging-as-a-team.md',
  });
  addChangeFlags(command, dataFlags).action(
    async (account: string, project: string, { queue, url }: { queue?: string; url?: string }) => {
      const { values } = settingsOf(command);
      const origin = url ?? (values.publicUrl ? new URL(values.publicUrl).origin : 'http://127.0.0.1:8787');
      const { token, expires_at } = await withStore(command, async (store) => {
        await requireContent(project, store);
        return store.invite({ account, project, queue });
      });
      printLine(`${origin}/board/login#invitation=${token}`);
      const until = expires_at.replace(/:\d\d\.\d+Z$/, ' UTC').replace('T', ' ');
      const data = describeData(storedDataOf(command));
      invocation().stderr.write(
        `For ${account} alone: the link works once, until ${until}, at the service whose data is ${data}.\n`,
      );
    },
  );
}

/** @throws HeddleError `not_found` with the nearest projects for one in which nothing is stored. */
async function requireContent(project: string, store: Store): Promise<void> {
  const known = await store.projects();
  if (known.includes(project)) return;
  throw new HeddleError({
    code: 'not_found',
    message: `Nobody was invited: there is no project ${project}.`,
    hint: `${nearestSentence('projects', project, known)} For a new project, fill a queue first: \`heddle import FILE --project ${shellWord(project)}\`.`.trim(),
  });
}

function addEndSessions(service: Command): void {
  const command = service
    .command('end-sessions')
    .description('log an account out of the board in every browser, and withdraw its invitations')
    .argument('[name]', 'user name')
    .option('--all', 'every account');
  explain(command, {
    examples: ['heddle service end-sessions ann', 'heddle service end-sessions --all'],
    page: 'docs/judging-as-a-team.md',
  });
  addChangeFlags(command, dataFlags).action(async (name: string | undefined, { all }: { all?: true }) => {
    if ((name === undefined) !== (all === true)) throw new UsageError('name an account or pass --all');
    const { sessions, invitations } = await withStore(command, (store) => store.endSessions(name));
    const withdrawn = `${pluralize(invitations, 'unused invitation')} withdrawn`;
    printLine(`${name ?? 'all accounts'}: ${pluralize(sessions, 'session')} ended, ${withdrawn}`);
  });
}

/** Warns of granted projects in which nothing is stored and both of whose names are nearly those of another. Programs record into new ones. */
async function warnOfMisspelled(grants: ProjectGrants, store: Store): Promise<void> {
  const known = await store.projects();
  for (const project of grants === 'all' ? [] : grants) {
    const near = known.filter((other) => other.split('/').every((name, at) => isNear(project.split('/')[at]!, name)));
    const meant = known.includes(project) ? '' : didYouMean(project, near);
    if (meant) invocation().stderr.write(`heddle: nothing is stored in ${project} yet${meant}\n`);
  }
}

function grantsOf(projects: string[], { allProjects }: GrantOptions): ProjectGrants {
  if (allProjects && projects.length > 0) throw new UsageError('name projects or pass --all-projects, not both');
  return allProjects ? 'all' : projects;
}

function printAccount(name: string, grants: ProjectGrants): void {
  // In a backup of others, a name could be several lines.
  printLine(escapeInvisible(`${name}: ${describeGrants(grants)}`));
}

function describeGrants(grants: ProjectGrants): string {
  if (grants === 'all') return 'all projects';
  return grants.length === 0 ? 'no project' : grants.join(', ');
}

function addPut(service: Command, kind: 'prompt' | 'dataset', form: string): void {
  const command = service
    .command(`put-${kind}`)
    .description(`store a version of a ${kind}; unchanged content adds no version`)
    .argument('<name>', `name of the ${kind}`)
    .argument('<file>', `file with ${form}; - for stdin`);
  explain(command, {
    examples: [
      `heddle service put-${kind} ${kind === 'prompt' ? 'triage triage' : 'tickets tickets'}.json --project team/support`,
    ],
    page: 'docs/service.md#import-your-data',
  });
  addChangeFlags(command, [...dataFlags, 'project']).action(async (name: string, file: string) => {
    // A file that is one JSON object is a dataset of one row, whatever is in it.
    const content = kind === 'dataset' ? await readObjects(file, () => true) : await readJsonFile(file);
    const { reference, version_index } = await withStore(command, (store, { project }) =>
      store.putObject(kind, requireProjectSetting(project), name, content),
    );
    printLine(`v${version_index} ${reference}`);
  });
}

function addList(service: Command): void {
  const command = addOutputOptions(
    service.command('list').description('list the stored queues and objects of all projects'),
  );
  explain(command, {
    examples: ['heddle service list', 'heddle service list --project team/support'],
    page: 'docs/service.md',
  });
  addSettingFlags(command, [...dataFlags, 'project']).action(async (form: OutputForm) => {
    // All projects, also if the settings name one.
    const { project } = command.opts<{ project?: string }>();
    const listings = await withStore(command, async (store) => {
      const found = await store.list(project);
      if (project !== undefined && found.length === 0) throw unknownProject(project, await store.projects());
      return found;
    });
    if (!isForPeople(form)) return printJson(listings);
    if (listings.length === 0) printLine('Nothing is stored.');
    listings.forEach(printListing);
  });
}

function printListing({ project_id, queues, objects }: Listing, place: number): void {
  printLine(`${place === 0 ? '' : '\n'}${paint('bold', project_id)}`);
  // The code of recorded operations and what heddle keeps for itself are stored too, but nobody looks for them here.
  const named = objects.filter(({ kind }) => kind !== 'op' && !kind.startsWith('heddle'));
  const tables = [
    queues.map(({ id, name, items, states }) => ({ queue: id, ...(name !== id && { name }), items, ...states })),
    named.map(({ kind, object_id, versions }) => ({ name: object_id, kind, versions: versions.length })),
  ];
  if (tables.every((rows) => rows.length === 0)) printLine('Recorded calls only.');
  for (const rows of tables) if (rows.length > 0) printAligned(compactTable(rows, []));
}

function addCopy(service: Command): void {
  const command = defineCopy(service);
  explain(command, {
    examples: [
      'heddle service copy --to cloud --dry-run',
      'heddle service copy --to cloud --project team/support --to-project acme/support --as ada=cloud',
    ],
    page: 'docs/copying.md',
  });
  addChangeFlags(command, [...dataFlags, 'project']).action(() =>
    withStore(command, (store) => runCopy(command, store)),
  );
}

function addBackup(service: Command): void {
  const command = service
    .command('backup')
    .description('write the data to a new file, also while clients and servers use it')
    .argument('<file>', 'file to create; only you can read it');
  explain(command, { examples: ['heddle service backup heddle-2026-11-22.db'], page: 'docs/updating.md' });
  addSettingFlags(command, dataFlags).action(async (file: string) => {
    const data = storedDataOf(command);
    await backUpData(data, file);
    printLine(`Backed up ${data} to ${file}.`);
  });
}

function addRestore(service: Command): void {
  const command = service
    .command('restore')
    .description('replace the data by a backup, after a question; refused while a client or server uses the data')
    .argument('<file>', 'backup to restore; it stays where it is')
    .option('--yes', 'restore without asking');
  explain(command, { examples: ['heddle service restore heddle-2026-11-22.db'], page: 'docs/updating.md' });
  addChangeFlags(command, dataFlags).action(async (file: string, options: { yes?: true }) => {
    const data = storedDataOf(command);
    const restored = await restoreService(data, file, (accounts) => {
      printLine(
        accounts.length === 0 ? 'The backup has no accounts.' : 'These accounts of the backup will get access:',
      );
      for (const { name, projects } of accounts) printAccount(name, projects);
      return confirmChange(`Replace the data in ${data} by ${file}?`, options);
    });
    if (!restored) return printLine('Nothing was changed.');
    printKept(`Restored ${file} to ${data}.`, restored.earlier);
  });
}

function addReset(service: Command): void {
  const command = service
    .command('reset')
    .description('begin again with the sample project, after a question; the data is moved to another file')
    .option('--yes', 'reset without asking');
  explain(command, { examples: ['heddle service reset'], page: 'docs/updating.md' });
  addChangeFlags(command, dataFlags).action(async (options: { yes?: true }) => {
    const data = storedDataOf(command);
    if (!(await confirmChange(`Move the data in ${data} away and begin again?`, options))) {
      return printLine('Nothing was changed.');
    }
    printKept('The next start begins with the sample project.', await resetData(data));
  });
}

/** Prints where the data of before is: nothing deletes it. */
function printKept(message: string, kept: string | undefined): void {
  printLine(message);
  printLine(
    kept === undefined
      ? 'There was no earlier data.'
      : `The earlier data is in ${kept}; delete it if you no longer need it.`,
  );
}
