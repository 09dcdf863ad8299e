import { existsSync } from 'node:fs';
import { posix, win32 } from 'node:path';
import type { McpClient, SystemInfo } from './clients.ts';

/** Returns whether a client seems to be installed: it has left a file or a folder, or its program is in the search path. */
export function isInstalled(client: McpClient, system: SystemInfo): boolean {
  return existsSync(traceOf(client, system)) || existsSync(client.file(system)) || hasProgram(client, system);
}

/** Names the traces of a client that are missing, to follow "there is no". */
export function missingTraces(client: McpClient, system: SystemInfo): string {
  const trace = traceOf(client, system);
  return client.program === undefined ? trace : `${trace}, and no program \`${client.program}\``;
}

function hasProgram({ program }: McpClient, { platform, environment }: SystemInfo): boolean {
  if (program === undefined) return false;
  const { delimiter, join } = platform === 'win32' ? win32 : posix;
  const folders = (environment.PATH ?? environment.Path ?? '').split(delimiter).filter((folder) => folder !== '');
  const suffixes = platform === 'win32' ? ['.exe', '.cmd'] : [''];
  return folders.some((folder) => suffixes.some((suffix) => existsSync(join(folder, program + suffix))));
}

/** Returns the path that exists where a client is installed. */
function traceOf(client: McpClient, system: SystemInfo): string {
  const file = client.file(system);
  return client.trace?.(system) ?? (system.platform === 'win32' ? win32 : posix).dirname(file);
}
