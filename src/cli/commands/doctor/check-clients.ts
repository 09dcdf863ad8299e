import { existsSync } from 'node:fs';
import { basename, isAbsolute } from 'node:path';
import { clients, type McpClient, type SystemInfo } from '../../../client-setup/clients.ts';
import { readConfig } from '../../../client-setup/config-file.ts';
import { readMember } from '../../../client-setup/edit-config.ts';
import { HeddleError } from '../../../core/errors.ts';
import { isJsonObject } from '../../../core/json/json-object.ts';
import { dataLocation } from '../../../runtime/runtime.ts';
import { type ResolvedSettings, resolveSettings } from '../../../settings/resolve-settings.ts';
import { invocation } from '../../invocation.ts';
import { splitLeadingSettings } from '../../usage/setting-flags.ts';
import { checkMissingFile } from './check-data.ts';
import { type Finding, failure, ok, warning } from './finding.ts';
import { requestOnce } from './request-once.ts';
import { tryServer } from './try-server.ts';

/** Checks for each client whether its entries of heddle work, as the client uses them, and whether a plugin starts heddle a second time. */
export async function* checkClients({ values }: ResolvedSettings): AsyncGenerator<Finding> {
  const { home, environment } = invocation();
  const system: SystemInfo = { platform: process.platform, home, environment };
  for (const [name, client] of Object.entries<McpClient>(clients)) {
    try {
      yield* checkClient(name, client, system, values);
    } catch (error) {
      if (!(error instanceof HeddleError)) throw error;
      yield warning('clients', `${client.title}: ${error.message}`, error.hint);
    }
  }
}

/** An entry of heddle in the file of a client. */
interface HeddleEntry {
  /** Describes the place of the entry, for messages. */
  place: string;
  /** The program and its arguments; empty for a server over HTTP. */
  words: string[];
  url: string | undefined;
  env: Record<string, string>;
  setup: string;
  /** What to do if it does not work. */
  advice: string;
}

async function* checkClient(
  name: string,
  client: McpClient,
  system: SystemInfo,
  proxies: ResolvedSettings['values'],
): AsyncGenerator<Finding> {
  const path = client.file(system);
  const format = client.format ?? 'json';
  const plugin = client.plugin?.(system);
  const hasPlugin = plugin !== undefined && Boolean(memberOf(plugin.file, format, plugin.member));
  const entries = entriesOf(name, path, memberOf(path, format, [client.servers]));
  if (hasPlugin && entries.length === 0) yield ok('clients', `${client.title} starts heddle as a plugin`);
  for (const entry of entries) {
    const fault = await faultOf(entry, proxies);
    if (fault !== undefined) {
      yield failure('clients', `${client.title} cannot use heddle ${entry.place}: ${fault}`, entry.advice);
    } else if (hasPlugin) {
      const advice = `Keep the plugin and run \`${entry.setup} --remove\`, or remove the plugin in ${client.title}.`;
      yield warning('clients', `${client.title} has heddle twice: as a plugin, and ${entry.place}`, advice);
    } else yield ok('clients', `${client.title} has heddle ${entry.place}`);
  }
}

/** Returns the entries that are named heddle or start a program of this name. */
function entriesOf(client: string, path: string, servers: unknown): HeddleEntry[] {
  return Object.entries(isJsonObject(servers) ? servers : {}).flatMap(([name, entry]) => {
    if (!isJsonObject(entry)) return [];
    const words = [entry.command, entry.args].flat().filter((word) => typeof word === 'string');
    if (name !== 'heddle' && !words.some((word) => /^heddle(\.js)?$/.test(basename(word)))) return [];
    const url = [entry.url, entry.httpUrl, entry.serverUrl].find((each) => typeof each === 'string');
    const env = Object.entries({
      ...(isJsonObject(entry.env) && entry.env),
      ...(isJsonObject(entry.environment) && entry.environment),
    });
    const setup = `heddle setup ${client}${name === 'heddle' ? '' : ` --name ${name}`}`;
    return [
      {
        place: name === 'heddle' ? `in ${path}` : `as "${name}" in ${path}`,
        words,
        url,
        env: Object.fromEntries(env.map(([variable, value]) => [variable, String(value)])),
        setup,
        advice:
          url === undefined
            ? `Run \`${setup}\` again with settings that work.`
            : `Start the server at this address, or run \`${setup} --url ADDRESS\`.`,
      },
    ];
  });
}

/** Uses an entry as its client does. Returns why that fails; undefined if it works. */
async function faultOf(
  { words, url, env }: HeddleEntry,
  proxies: ResolvedSettings['values'],
): Promise<string | undefined> {
  try {
    if (url !== undefined) {
      const { status } = await requestOnce(url, {}, proxies);
      return status === 404 ? `${url} has no MCP server (status 404)` : undefined;
    }
    const [command, ...args] = words;
    if (command === undefined) return 'it has neither a program nor an address';
    const missing = words.slice(0, 2).find((word) => isAbsolute(word) && !existsSync(word));
    if (missing !== undefined) return `${missing} does not exist`;
    const { environment, folders } = invocation();
    const server = { command, args, env: { ...environment, ...env } };
    const { flags } = splitLeadingSettings(args.slice(args.indexOf('serve') + 1));
    const settings = resolveSettings({ flags, environment: server.env, folders });
    const file = dataLocation(settings);
    const isMissing =
      settings.values.baseUrl === undefined && settings.values.databaseUrl === undefined && !existsSync(file);
    const unusable = isMissing ? (await checkMissingFile(file)).find(({ state }) => state === 'failure') : undefined;
    return unusable?.message ?? (await tryServer(server, settings)).fault;
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    if (url !== undefined) return `${url}: ${message}`;
    return code === 'ENOENT' ? `there is no program ${words[0]}` : message;
  }
}

/** Returns the value at a path of a client's file; undefined if the file or the value does not exist. */
function memberOf(file: string, format: 'json' | 'toml', path: readonly string[]): unknown {
  const { text } = readConfig(file);
  return text === undefined ? undefined : readMember(text, format, path);
}
