import { accessSync, constants, existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Config, type OptionName, options } from '../config/options.ts';
import { configFile, readProfiles, storeOf } from '../config/profiles.ts';
import type { Resolved } from '../config/resolve.ts';
import { version } from '../config/version.ts';
import { HeddleError } from '../contract/errors.ts';
import { protect } from '../credentials/redact.ts';
import type { Credentials } from '../credentials/resolve.ts';
import type { Check, Finding } from './doctor.ts';
import { checkService } from './doctor-service.ts';
import { openStore, readCredentials } from './secrets.ts';
import { databaseSecrets, dataOf } from './session.ts';

const oldestNode = [20, 18, 1];
/** Free space below which the embedded service's data is in danger, and soon will be, in bytes. */
const leastFree = 20e6;
const littleFree = 500e6;
const handshakeTimeoutMs = 10_000;

/** Every check in the order of the layers. A later one is left out where an earlier one makes it pointless. */
export async function* checksOf(configure: () => Resolved): AsyncGenerator<Finding> {
  yield* guarded('version', checkVersions);
  let resolved: Resolved | undefined;
  yield* guarded('configuration', async function* () {
    resolved = configure();
    yield* checkConfiguration(resolved);
  });
  if (!resolved) return;
  const settled = resolved;
  const { baseUrl } = settled.config;
  yield* guarded('keychain', () => checkKeychain(settled));
  if (baseUrl !== undefined) {
    const credentials = await readCredentials(settled);
    yield* guarded('credentials', () => checkCredentials(credentials));
    yield* guarded('service', () => checkService(baseUrl, credentials, settled.config));
  }
  const { oauthIssuer } = settled.config;
  if (oauthIssuer !== undefined) yield* guarded('token issuer', () => checkIssuer(oauthIssuer));
  yield* settled.config.databaseUrl === undefined
    ? guarded('data file', () => checkData(settled))
    : guarded('database', () => checkDatabase(settled));
  yield* guarded('MCP', () => checkHandshake(settled));
}

async function* guarded(check: string, run: Check): AsyncGenerator<Finding> {
  try {
    yield* run();
  } catch (error) {
    const advice = error instanceof HeddleError ? error.hint : undefined;
    yield { check, state: 'failure', says: (error as Error).message, ...(advice && { advice }) };
  }
}

async function* checkVersions(): AsyncGenerator<Finding> {
  const says = `heddle ${version} on Node ${process.versions.node}, ${process.platform} ${process.arch}`;
  const parts = process.versions.node.split('.').map(Number);
  const at = oldestNode.findIndex((part, index) => part !== parts[index]);
  const old = at >= 0 && parts[at]! < oldestNode[at]!;
  yield old
    ? { check: 'version', state: 'failure', says, advice: `Install Node ${oldestNode.join('.')} or later.` }
    : { check: 'version', state: 'ok', says };
}

async function* checkConfiguration({ config, sources, placeholders }: Resolved): AsyncGenerator<Finding> {
  const set = (Object.keys(options) as OptionName[])
    .filter((name) => sources[name].name !== undefined)
    .map((name) => `${name} from ${sources[name].from} ${sources[name].name}`);
  const where = `profile "${config.profile}" of ${configFile}${existsSync(configFile) ? '' : ' (no such file)'}`;
  yield { check: 'configuration', state: 'ok', says: `${where}; ${set.join(', ') || 'everything is at its default'}` };
  yield config.baseUrl === undefined
    ? { check: 'configuration', state: 'ok', says: 'no base URL: the embedded service on this machine is used' }
    : { check: 'configuration', state: 'ok', says: `the service is ${config.baseUrl}` };
  if (config.baseUrl !== undefined && config.project === undefined) {
    yield {
      check: 'configuration',
      state: 'warning',
      says: 'no project: every call must name one',
      advice: 'Set HEDDLE_PROJECT, or run `heddle login --project ENTITY/PROJECT`.',
    };
  }
  for (const name of placeholders) {
    yield {
      check: 'configuration',
      state: 'warning',
      says: `${name} holds a placeholder that was not filled; it counts as unset`,
      advice: 'Fill the field in the settings of the application that starts heddle, or remove the variable.',
    };
  }
}

/** A keychain that does not work matters only where secrets are in it. */
async function* checkKeychain({ config }: Resolved): AsyncGenerator<Finding> {
  const needed = storeOf(readProfiles()[config.profile]) === 'keychain';
  try {
    await openStore('keychain').read(config.profile);
    yield { check: 'keychain', state: 'ok', says: `can be read${needed ? ', and this profile uses it' : ''}` };
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    yield {
      check: 'keychain',
      state: needed ? 'failure' : 'warning',
      says: `${error.message}${needed ? '' : ' This profile does not use it.'}`,
      ...(needed && { advice: error.hint }),
    };
  }
}

/** Each secret belongs to operations of its own, so that one alone is of use. */
async function* checkCredentials({ sources, problem }: Credentials): AsyncGenerator<Finding> {
  const none = sources.password.from === 'unset' && sources.token.from === 'unset';
  for (const name of ['password', 'token'] as const) {
    const { from, name: where } = sources[name];
    yield from === 'unset'
      ? {
          check: 'credentials',
          state: none || problem ? 'failure' : 'warning',
          says: `no ${name}. ${problem?.message ?? ''}`.trim(),
          advice: problem?.hint ?? `Run \`heddle login\`, or set ${options[name].environment}.`,
        }
      : { check: 'credentials', state: 'ok', says: `${name} from ${from} ${where}` };
  }
}

/** What `heddle serve --http` needs of the issuer of access tokens. */
async function* checkIssuer(issuer: string): AsyncGenerator<Finding> {
  const { fetchKeys } = await import('../mcp/oauth-issuer.ts');
  const { address, count } = await fetchKeys(issuer);
  yield { check: 'token issuer', state: 'ok', says: `${issuer} has its keys at ${address}, ${count} of them` };
}

/** Opens it as the service does, so the tables are made where they are missing. */
async function faultsOf(config: Config): Promise<string[]> {
  protect(...databaseSecrets(config));
  const { openStore: openData } = await import('../service/index.ts');
  const data = await openData(dataOf(config));
  return data.integrityCheck().finally(() => data.close());
}

async function* checkDatabase({ config }: Resolved): AsyncGenerator<Finding> {
  const faults = await faultsOf(config);
  yield faults.length === 0
    ? { check: 'database', state: 'ok', says: 'PostgreSQL answers, and its tables are as they have to be' }
    : {
        check: 'database',
        state: 'failure',
        says: `PostgreSQL answers, but ${faults.slice(0, 3).join('; ')}`,
        advice: 'Give HEDDLE_DATABASE_URL the primary, REINDEX what is invalid, or restore the database from a backup.',
      };
}

async function* checkData({ config }: Resolved): AsyncGenerator<Finding> {
  const file = dataOf(config);
  if (existsSync(file)) {
    const faults = await faultsOf(config);
    yield faults.length === 0
      ? { check: 'data file', state: 'ok', says: `${file} is sound` }
      : {
          check: 'data file',
          state: 'failure',
          says: `${file} is damaged: ${faults.slice(0, 3).join('; ')}`,
          advice: 'Copy it away, and put a backup in its place or let heddle begin a new one.',
        };
  } else if (config.baseUrl === undefined) {
    const { loadSqlite } = await import('../service/index.ts');
    await loadSqlite();
    yield isWritable(existingFolder(file))
      ? { check: 'data file', state: 'ok', says: `${file} will be made at the first call` }
      : {
          check: 'data file',
          state: 'failure',
          says: `${file} cannot be made: ${existingFolder(file)} is not a folder that this user can write to`,
          advice: 'Set HEDDLE_DATA_DIR to a folder of your own, or mend the permissions.',
        };
  } else return;

  const folder = existingFolder(file);
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const says = `${Math.floor(free / 1e6)} MB free in ${folder}`;
  yield free >= littleFree
    ? { check: 'disk space', state: 'ok', says }
    : {
        check: 'disk space',
        state: free < leastFree ? 'failure' : 'warning',
        says,
        advice: 'Make room, or set HEDDLE_DATA_DIR to a folder on another disk.',
      };
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
async function* checkHandshake({ config, sources }: Resolved): AsyncGenerator<Finding> {
  const [{ Client }, { StdioClientTransport }] = await Promise.all([
    import('@modelcontextprotocol/client'),
    import('@modelcontextprotocol/client/stdio'),
  ]);
  const client = new Client({ name: 'heddle-doctor', version });
  const profile = sources.profile.from === 'flag' ? ['--profile', config.profile] : [];
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
    yield {
      check: 'MCP',
      state: 'ok',
      says: `a client reached \`heddle serve\` over stdio in ${ms} ms, protocol ${client.getNegotiatedProtocolVersion()}, ${tools.length} tools`,
    };
  } catch (error) {
    yield {
      check: 'MCP',
      state: 'failure',
      says: `${(error as Error).message}. The server said: ${said.trim().slice(-500) || 'nothing'}`,
      advice: 'Run `heddle serve` in a terminal to see what it says.',
    };
  } finally {
    await client.close();
  }
}
