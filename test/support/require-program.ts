import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/**
 * Tells whether a test can use an outside program. A missing program is an error under `CI`, and a warning elsewhere.
 *
 * @param path Path of a file, or the name of a command in `PATH`.
 * @param howToInstall The command that installs it.
 * @example `describe.skipIf(!requireProgram('nginx', '/usr/sbin/nginx', 'apt-get install nginx'))`
 */
export function requireProgram(name: string, path: string, howToInstall: string): boolean {
  const isPresent = path.includes('/')
    ? existsSync(path)
    : spawnSync('sh', ['-c', 'command -v "$1"', 'sh', path]).status === 0;
  if (isPresent) return true;
  const message = `${name} is missing; install it with: ${howToInstall}`;
  if (process.env.CI) throw new Error(message);
  console.warn(`SKIPPED: ${message}`);
  return false;
}
