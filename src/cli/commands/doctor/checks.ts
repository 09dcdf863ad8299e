import { accessSync, constants, existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { HeddleError } from '../../../core/errors.ts';
import { version } from '../../../core/version.ts';
import { databaseSecrets, dataOf } from '../../../runtime/runtime.ts';
import { configFile, readProfiles, storeOf } from '../../../settings/profiles.ts';
import type { ResolvedSettings } from '../../../settings/resolve-settings.ts';
import type { Credentials } from '../../../settings/secrets/credentials.ts';
import { type SettingName, type SettingValues, settingDefinitions } from '../../../settings/settings.ts';
import { redactor } from '../../support/redactor.ts';
import { openSecretStore, readCredentials } from '../../support/secrets.ts';
import { type Check, type Finding, failure, ok, warning } from './doctor.ts';
import { checkService } from './service-checks.ts';

const oldestNode = [20, 18, 1];
/** Free space below which the embedded service's data is in danger, and soon will be, in bytes. */
const leastFree = 20e6;
const littleFree = 500e6;
const handshakeTimeoutMs = 10_000;

/** Every check in the order of the layers. A later one is left out where an earlier one makes it pointless. */
export async function* checksOf(configure: () => ResolvedSettings): AsyncGenerator<Finding> {
  yield* guarded('version', checkVersions);
  let resolved: ResolvedSettings | undefined;
  yield* guarded('configuration', async function* () {
    resolved = configure();
    yield* checkConfiguration(resolved);
  });
  if (!resolved) return;
  const settled = resolved;
  const { baseUrl } = settled.values;
  yield* guarded('keychain', () => checkKeychain(settled));
  if (baseUrl !== undefined) {
    const credentials = await readCredentials(settled, redactor);
    yield* guarded('credentials', () => checkCredentials(credentials));
    yield* guarded('service', () => checkService(baseUrl, credentials, settled.values));
  }
  const { oauthIssuer } = settled.values;
  if (oauthIssuer !== undefined) yield* guarded('token issuer', () => checkIssuer(oauthIssuer));
  yield* settled.values.databaseUrl === undefined
    ? guarded('data file', () => checkData(settled))
    : guarded('database', () => checkDatabase(settled));
  yield* guarded('MCP', () => checkHandshake(settled));
}

async function* guarded(check: string, run: Check): AsyncGenerator<Finding> {
  try {
    yield* run();
  } catch (error) {
    yield failure(check, (error as Error).message, error instanceof HeddleError ? error.hint : undefined);
  }
}

async function* checkVersions(): AsyncGenerator<Finding> {
  const says = `heddle ${version} on Node ${process.versions.node}, ${process.platform} ${process.arch}`;
  const parts = process.versions.node.split('.').map(Number);
  const at = oldestNode.findIndex((part, index) => part !== parts[index]);
  const old = at >= 0 && parts[at]! < oldestNode[at]!;
  yield old ? failure('version', says, `Install Node ${oldestNode.join('.')} or later.`) : ok('version', says);
}

async function* checkConfiguration({ values, sources, placeholders }: ResolvedSettings): AsyncGenerator<Finding> {
  const set = (Object.keys(settingDefinitions) as SettingName[])
    .filter((name) => sources[name].name !== undefined)
    .map((name) => `${name} from ${sources[name].from} ${sources[name].name}`);
  const where = `profile "${values.profile}" of ${configFile}${existsSync(configFile) ? '' : ' (no such file)'}`;
  yield ok('configuration', `${where}; ${set.join(', ') || 'everything is at its default'}`);
  const service =
    values.baseUrl === undefined
      ? 'no base URL: the embedded service on this machine is used'
      : `the service is ${values.baseUrl}`;
  yield ok('configuration', service);
  if (values.baseUrl !== undefined && values.project === undefined) {
    const advice = 'Set HEDDLE_PROJECT, or run `heddle login --project ENTITY/PROJECT`.';
    yield warning('configuration', 'no project: every call must name one', advice);
  }
  for (const name of placeholders) {
    const says = `${name} holds a placeholder that was not filled; it counts as unset`;
    const advice = 'Fill the field in the settings of the application that starts heddle, or remove the variable.';
    yield warning('configuration', says, advice);
  }
}

/** A keychain that does not work matters only where secrets are in it. */
async function* checkKeychain({ values }: ResolvedSettings): AsyncGenerator<Finding> {
  const needed = storeOf(readProfiles()[values.profile]) === 'keychain';
  try {
    await openSecretStore('keychain', redactor).read(values.profile);
    yield ok('keychain', `can be read${needed ? ', and this profile uses it' : ''}`);
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    yield needed
      ? failure('keychain', error.message, error.hint)
      : warning('keychain', `${error.message} This profile does not use it.`);
  }
}

/** Each secret belongs to operations of its own, so that one alone is of use. */
async function* checkCredentials({ sources, problem }: Credentials): AsyncGenerator<Finding> {
  const none = sources.password.from === 'unset' && sources.token.from === 'unset';
  for (const name of ['password', 'token'] as const) {
    const { from, name: where } = sources[name];
    const says = `no ${name}. ${problem?.message ?? ''}`.trim();
    const advice = problem?.hint ?? `Run \`heddle login\`, or set ${settingDefinitions[name].environment}.`;
    if (from !== 'unset') yield ok('credentials', `${name} from ${from} ${where}`);
    else yield none || problem ? failure('credentials', says, advice) : warning('credentials', says, advice);
  }
}

/** What `heddle serve --http` needs of the issuer of access tokens. */
async function* checkIssuer(issuer: string): AsyncGenerator<Finding> {
  const { fetchKeys } = await import('../../../mcp/oauth/issuer-keys.ts');
  const { address, keys } = await fetchKeys(issuer);
  yield ok('token issuer', `${issuer} has its keys at ${address}, ${keys.keys.length} of them`);
}

/** Opens it as the service does, so the tables are made where they are missing. */
async function faultsOf(values: SettingValues): Promise<string[]> {
  redactor.protect(...databaseSecrets(values));
  const { openServiceStore: openData } = await import('../../../service/index.ts');
  const data = await openData(dataOf(values));
  return data.integrityCheck().finally(() => data.close());
}

async function* checkDatabase({ values }: ResolvedSettings): AsyncGenerator<Finding> {
  const faults = await faultsOf(values);
  const advice =
    'Give HEDDLE_DATABASE_URL the primary, REINDEX what is invalid, or restore the database from a backup.';
  yield faults.length === 0
    ? ok('database', 'PostgreSQL answers, and its tables are as they have to be')
    : failure('database', `PostgreSQL answers, but ${faults.slice(0, 3).join('; ')}`, advice);
}

async function* checkData({ values }: ResolvedSettings): AsyncGenerator<Finding> {
  const file = dataOf(values);
  if (existsSync(file)) {
    const faults = await faultsOf(values);
    const advice = 'Copy it away, and put a backup in its place or let heddle begin a new one.';
    yield faults.length === 0
      ? ok('data file', `${file} is sound`)
      : failure('data file', `${file} is damaged: ${faults.slice(0, 3).join('; ')}`, advice);
  } else if (values.baseUrl === undefined) {
    const { loadSqlite } = await import('../../../service/index.ts');
    await loadSqlite();
    const says = `${file} cannot be made: ${existingFolder(file)} is not a folder that this user can write to`;
    yield isWritable(existingFolder(file))
      ? ok('data file', `${file} will be made at the first call`)
      : failure('data file', says, 'Set HEDDLE_DATA_DIR to a folder of your own, or mend the permissions.');
  } else return;

  const folder = existingFolder(file);
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const says = `${Math.floor(free / 1e6)} MB free in ${folder}`;
  const advice = 'Make room, or set HEDDLE_DATA_DIR to a folder on another disk.';
  if (free >= littleFree) yield ok('disk space', says);
  else yield free < leastFree ? failure('disk space', says, advice) : warning('disk space', says, advice);
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The folder that holds the file, or the nearest above it that exists. */
function existingFolder(file: string): string {
  let folder = dirname(file);
  while (!existsSync(folder)) folder = dirname(folder);
  return folder;
}

/** What a client does first, with this very program as its server. */
async function* checkHandshake({ values, sources }: ResolvedSettings): AsyncGenerator<Finding> {
  const [{ Client }, { StdioClientTransport }] = await Promise.all([
    import('@modelcontextprotocol/client'),
    import('@modelcontextprotocol/client/stdio'),
  ]);
  const client = new Client({ name: 'heddle-doctor', version });
  const profile = sources.profile.from === 'flag' ? ['--profile', values.profile] : [];
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [...process.execArgv, process.argv[1]!, 'serve', ...profile],
    env: process.env as Record<string, string>,
    stderr: 'pipe',
  });
  let said = '';
  transport.stderr?.on('data', (bytes: Buffer) => {
    said += bytes;
  });
  const startedAt = performance.now();
  try {
    await client.connect(transport, { timeout: handshakeTimeoutMs });
    const { tools } = await client.listTools();
    const ms = Math.round(performance.now() - startedAt);
    const revision = client.getNegotiatedProtocolVersion();
    const says = `a client reached \`heddle serve\` over stdio in ${ms} ms, protocol ${revision}, ${tools.length} tools`;
    yield ok('MCP', says);
  } catch (error) {
    const says = `${(error as Error).message}. The server said: ${said.trim().slice(-500) || 'nothing'}`;
    yield failure('MCP', says, 'Run `heddle serve` in a terminal to see what it says.');
  } finally {
    await client.close();
  }
}
