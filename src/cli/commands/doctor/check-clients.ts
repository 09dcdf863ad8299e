import { existsSync } from 'node:fs';
import { basename, isAbsolute, join } from 'node:path';
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

/**
 * Checks for each client whether its entries of heddle work, as the client uses them, those of projects included, and whether a
 * plugin or another entry starts heddle a second time.
 */
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
  /** The advice for an entry that does not work. */
  advice: string;
  /** The words for removing the entry, which follow "and". */
  removal: string;
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
  const entries = entriesOf(`in ${path}`, memberOf(path, format, [client.servers]), `heddle setup ${name}`);
  const projectFile = client.projectFile && join(process.cwd(), client.projectFile);
  if (projectFile && projectFile !== path) {
    entries.push(...entriesOf(`in ${projectFile}`, memberOf(projectFile, format, [client.servers])));
  }
  // Claude Code keeps entries of projects in the file of the user too.
  for (const folder of Object.keys(memberOf(path, format, ['projects']) ?? {})) {
    const servers = memberOf(path, format, ['projects', folder, client.servers]);
    entries.push(...entriesOf(`for ${folder} in ${path}`, servers));
  }
  if (hasPlugin && entries.length === 0) yield ok('clients', `${client.title} starts heddle as a plugin`);
  const working = new Map<string, string>();
  for (const entry of entries) {
    const { place, advice, removal } = entry;
    const fault = await faultOf(entry, proxies);
    const twin = hasPlugin ? 'as a plugin' : working.get(settingsKey(entry));
    if (fault !== undefined) {
      const also = hasPlugin ? '; it starts heddle as a plugin too' : '';
      const step = hasPlugin ? `Keep the plugin and ${removal}.` : advice;
      yield failure('clients', `${client.title} cannot use heddle ${place}: ${fault}${also}`, step);
    } else if (twin !== undefined) {
      const step = hasPlugin
        ? `Keep the plugin and ${removal}, or remove the plugin in ${client.title}.`
        : `Keep the first and ${removal}.`;
      yield warning('clients', `${client.title} has heddle twice: ${twin}, and ${place}`, step);
    } else {
      working.set(settingsKey(entry), place);
      yield ok('clients', `${client.title} has heddle ${place}`);
    }
  }
}

/** Returns what tells entries apart that are meant to differ, such as by their profile. */
function settingsKey({ words, url, env }: HeddleEntry): string {
  return JSON.stringify([url, words.slice(words.findIndex(isProgram) + 1), env]);
}

function isProgram(word: string): boolean {
  return /^heddle(\.js)?$/.test(basename(word));
}

/**
 * Returns the entries that are named heddle or start a program of this name.
 * @param file place of the entries. `setup` is the command that writes them, if there is one.
 */
function entriesOf(file: string, servers: unknown, setup?: string): HeddleEntry[] {
  return Object.entries(isJsonObject(servers) ? servers : {}).flatMap(([name, entry]) => {
    if (!isJsonObject(entry)) return [];
    const words = [entry.command, entry.args].flat().filter((word) => typeof word === 'string');
    if (name !== 'heddle' && !words.some(isProgram)) return [];
    const url = [entry.url, entry.httpUrl, entry.serverUrl].find((each) => typeof each === 'string');
    const env = Object.entries({
      ...(isJsonObject(entry.env) && entry.env),
      ...(isJsonObject(entry.environment) && entry.environment),
    });
    const command = setup && `${setup}${name === 'heddle' ? '' : ` --name ${name}`}`;
    return [
      {
        place: name === 'heddle' ? file : `as "${name}" ${file}`,
        words,
        url,
        env: Object.fromEntries(env.map(([variable, value]) => [variable, String(value)])),
        advice:
          command === undefined
            ? 'Correct this entry, or remove it.'
            : url === undefined
              ? `Run \`${command}\` again with settings that work.`
              : `Start the server at this address, or run \`${command} --url ADDRESS\`.`,
        removal: command === undefined ? 'remove this entry' : `run \`${command} --remove\``,
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
