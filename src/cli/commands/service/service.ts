import { type Command, CommanderError } from 'commander';
import { HeddleError } from '../../../core/errors.ts';
import { databaseSecrets, dataOf } from '../../../runtime/runtime.ts';
import { stderrLog } from '../../../runtime/stderr-log.ts';
import type { Listing, Store } from '../../../service/index.ts';
import type { SettingValues } from '../../../settings/settings.ts';
import { addSettingFlags, asPort, settingsOf } from '../../support/flags.ts';
import { redactor } from '../../support/redactor.ts';
import { jsonOf, linesOf } from './input-file.ts';

/** `heddle service …`: the embedded service as a server of its own, and its data. */
export function addService(program: Command): void {
  const service = program.command('service').description('the embedded service as a server of its own, and its data');
  addStart(service);
  addUser(service);
  addImport(service);
  addPut(service, 'prompt', 'a JSON array of messages, or {"messages":[…]}');
  addPut(service, 'dataset', 'a JSON array of rows, or one JSON object a line');
  addList(service);
}

function addStart(service: Command): void {
  const start = service
    .command('start')
    .description('serve the interface over HTTP until SIGTERM or SIGINT')
    .option('--port <port>', 'port to listen on; 0 takes a free one', asPort, 8787)
    .option('--host <address>', 'address to listen on', '127.0.0.1');
  addSettingFlags(start, ['profile', 'dataDir', 'databaseUrl', 'modelProviderUrl', 'logLevel', 'logFormat']);
  start.action(async ({ port, host }: { port: number; host: string }) => {
    const { values } = settingsOf(start);
    redactor.protect(values.modelProviderKey, ...databaseSecrets(values));
    const { startService } = await import('../../../service/index.ts');
    const running = await startService({
      data: dataOf(values),
      host,
      port,
      ...(values.modelProviderUrl !== undefined && {
        modelProvider: { url: values.modelProviderUrl, key: values.modelProviderKey },
      }),
      log: stderrLog(values.logLevel, values.logFormat, (text) => redactor.redact(text)),
    }).catch((error) => {
      throw addressError(error, host, port);
    });
    process.stderr.write(`listening on ${running.url}\n`);
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void running.close());
  });
}

function addUser(service: Command): void {
  const command = service
    .command('add-user')
    .description('make an account; its password and bearer token are shown this once')
    .argument('<name>', 'user name');
  addSettingFlags(command, ['profile', 'dataDir', 'databaseUrl']).action(async (name: string) => {
    const { password, token } = await withStore(settingsOf(command).values, (store) => store.addUser(name));
    process.stdout.write(`user name: ${name}\npassword:  ${password}\ntoken:     ${token}\n`);
  });
}

function addImport(service: Command): void {
  const command = service
    .command('import')
    .description('load queue items from lines of JSON; all of them, or none when a line is bad')
    .argument('<file>', 'file to read, or - for stdin')
    .requiredOption('--queue <id>', 'queue to load into; made when it is missing');
  addSettingFlags(command, ['profile', 'project', 'dataDir', 'databaseUrl']);
  command.action(async (file: string, { queue }: { queue: string }) => {
    const { values } = settingsOf(command);
    const target = { projectId: projectOf(values), queueId: queue, ...(process.stderr.isTTY && { onProgress }) };
    const { added, duplicates } = await withStore(values, (store) => store.importItems(linesOf(file), target)).finally(
      () => {
        if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');
      },
    );
    process.stdout.write(`${added} added, ${duplicates} duplicates\n`);
  });
}

function addPut(service: Command, kind: 'prompt' | 'dataset', form: string): void {
  const command = service
    .command(`put-${kind}`)
    .description(`store a version of a ${kind}; the same content is the same version`)
    .argument('<name>', 'name to refer to it by')
    .argument('<file>', `file with ${form}; - for stdin`);
  addSettingFlags(command, ['profile', 'project', 'dataDir', 'databaseUrl']).action(
    async (name: string, file: string) => {
      const { values } = settingsOf(command);
      const projectId = projectOf(values);
      const value = await jsonOf(file);
      // A file of one line is a valid JSON object and a dataset of one row.
      const rows = kind === 'dataset' && !Array.isArray(value) ? [value] : value;
      const { reference, version_index } = await withStore(values, (store) =>
        store.putObject(kind, projectId, name, rows),
      );
      process.stdout.write(`v${version_index} ${reference}\n`);
    },
  );
}

function addList(service: Command): void {
  const command = service.command('list').description('show what is stored').option('--json', 'print it as JSON');
  addSettingFlags(command, ['profile', 'project', 'dataDir', 'databaseUrl']).action(
    async ({ json }: { json?: true }) => {
      const { values } = settingsOf(command);
      const listings = await withStore(values, (store) => store.list(values.project));
      process.stdout.write(json ? `${JSON.stringify(listings, null, 2)}\n` : listings.map(inWords).join(''));
      if (listings.length === 0 && !json) process.stderr.write('nothing is stored\n');
    },
  );
}

function inWords({ project_id, queues, objects }: Listing): string {
  const lines = [project_id];
  for (const { id, items, states } of queues) {
    const counts = Object.entries(states).map(([state, count]) => `${count} ${state}`);
    lines.push(`  queue ${id}: ${items} items${counts.length ? ` (${counts.join(', ')})` : ''}`);
  }
  for (const { kind, object_id, versions } of objects) {
    const { version_index, reference } = versions.at(-1)!;
    const count = `${versions.length} ${versions.length === 1 ? 'version' : 'versions'}`;
    lines.push(`  ${kind} ${object_id}: ${count}, last v${version_index} ${reference}`);
  }
  return `${lines.join('\n')}\n`;
}

async function withStore<T>(values: SettingValues, use: (store: Store) => Promise<T>): Promise<T> {
  const { openServiceStore } = await import('../../../service/index.ts');
  redactor.protect(...databaseSecrets(values));
  const store = await openServiceStore(dataOf(values));
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

function projectOf({ project }: SettingValues): string {
  if (project !== undefined) return project;
  throw new CommanderError(2, 'unknown', 'no project: give --project entity/project or set HEDDLE_PROJECT');
}

function onProgress({ phase, done, total }: { phase: string; done: number; total?: number }): void {
  if (total === undefined) {
    process.stderr.write(`\r${phase} line ${done}\u001b[K`);
    return;
  }
  const width = 30;
  const filled = Math.round((done / total) * width);
  process.stderr.write(`\r${phase} [${'#'.repeat(filled)}${'.'.repeat(width - filled)}] ${done} of ${total}\u001b[K`);
}

function addressError(error: unknown, host: string, port: number): unknown {
  const { syscall, code } = error as NodeJS.ErrnoException;
  if (syscall !== 'listen' && syscall !== 'getaddrinfo') return error;
  return new HeddleError({
    code: 'not_configured',
    message: `The service cannot listen on ${host} port ${port} (${code}).`,
    hint: 'Choose another --port or --host, or end the process that uses the port.',
    cause: error,
  });
}
