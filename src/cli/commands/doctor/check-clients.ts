import { existsSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { clients, type McpClient, type SystemInfo } from '../../../client-setup/clients.ts';
import { readConfig } from '../../../client-setup/config-file.ts';
import { readMember } from '../../../client-setup/edit-config.ts';
import { HeddleError } from '../../../core/errors.ts';
import { isJsonObject } from '../../../core/json/json-object.ts';
import { invocation } from '../../invocation.ts';
import { type Finding, failure, ok, warning } from './finding.ts';

/** Checks for each client that has heddle whether the program of its entry exists, and whether a plugin starts heddle a second time. */
export function* checkClients(): Generator<Finding> {
  const { home, environment } = invocation();
  const system: SystemInfo = { platform: process.platform, home, environment };
  for (const [name, client] of Object.entries<McpClient>(clients)) {
    try {
      yield* checkClient(name, client, system);
    } catch (error) {
      if (!(error instanceof HeddleError)) throw error;
      yield warning('clients', `${client.title}: ${error.message}`, error.hint);
    }
  }
}

function* checkClient(name: string, client: McpClient, system: SystemInfo): Generator<Finding> {
  const path = client.file(system);
  const format = client.format ?? 'json';
  const entry = memberOf(path, format, [client.servers, 'heddle']);
  const plugin = client.plugin?.(system);
  const hasPlugin = plugin !== undefined && Boolean(memberOf(plugin.file, format, plugin.member));
  if (!isJsonObject(entry)) {
    if (hasPlugin) yield ok('clients', `${client.title} starts heddle as a plugin`);
    return;
  }
  const [program, script] = [entry.command, entry.args].flat();
  const missing = [program, script].find((word) => typeof word === 'string' && isAbsolute(word) && !existsSync(word));
  if (missing !== undefined) {
    const message = `${client.title} cannot start heddle: ${path} names ${missing}, which does not exist`;
    yield failure('clients', message, `Run \`heddle setup ${name}\` again.`);
  } else if (hasPlugin) {
    const advice = `Keep the plugin and run \`heddle setup ${name} --remove\`, or remove the plugin in ${client.title}.`;
    yield warning('clients', `${client.title} has heddle twice: as a plugin, and in ${path}`, advice);
  } else yield ok('clients', `${client.title} has heddle in ${path}`);
}

/** Returns the value at a path of a client's file; undefined if the file or the value does not exist. */
function memberOf(file: string, format: 'json' | 'toml', path: readonly string[]): unknown {
  const { text } = readConfig(file);
  return text === undefined ? undefined : readMember(text, format, path);
}
