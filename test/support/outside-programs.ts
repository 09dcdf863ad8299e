import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { requireProgram } from './require-program.ts';

const packages = join(import.meta.dirname, '../external/packages');

/** The command that installs the packages of every folder in test/external/packages. */
export const installCommand = 'npm ci --prefix test/external/packages --ignore-scripts';

/**
 * Returns the path of a package that a folder of test/external/packages depends on, or of a file in it; undefined if it is
 * not installed.
 *
 * @example `installedPath('model-clients', '@openai/codex/bin/codex.js')`
 */
export function installedPath(folder: string, file: string): string | undefined {
  // npm nests a package here if another folder needs a different version of it.
  const own = join(packages, folder, 'node_modules', file);
  const path = existsSync(own) ? own : join(packages, 'node_modules', file);
  return requireProgram(file, path, installCommand) ? path : undefined;
}

/** Returns the `require` of a folder in test/external/packages. */
export function requireFrom(folder: string): NodeJS.Require {
  return createRequire(join(packages, folder, 'package.json'));
}

/** Returns a Node of version 22 or newer: the running one, or an installed one. */
export function newNode(): string | undefined {
  const isNew = Number(process.versions.node.split('.')[0]) >= 22;
  return isNew ? process.execPath : installedPath('node-versions', 'node-22/bin/node');
}

export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a program until it exits, and returns its exit code and output. */
export function runTool(program: string, args: string[], env: Record<string, string>, cwd: string): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    const ran: Ran = { code: null, stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text) => {
        ran[name] += text;
      });
    }
    child.on('error', reject);
    child.on('close', (code) => resolve({ ...ran, code }));
  });
}
