#!/usr/bin/env node
import { statSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';
import envPaths from 'env-paths';

// Node 22 and later keep compiled code between starts; this must be on before the rest of heddle is loaded. A home folder
// that belongs to another user is left alone: compiled code from there would run with this process's privileges.
const { enableCompileCache } = module as { enableCompileCache?: (folder: string) => void };
const homeOwner = statSync(homedir(), { throwIfNoEntry: false })?.uid;
if (process.getuid?.() === homeOwner || process.platform === 'win32') {
  enableCompileCache?.(envPaths('heddle', { suffix: '' }).cache);
}

try {
  const { run } = await import('./program.ts');
  await run();
} catch (error) {
  // `run` reports its own failures, so only a missing or damaged file of the installation ends up here.
  process.stderr.write(`heddle: cannot be loaded; install it again: ${(error as Error).stack}\n`);
  process.exitCode = 1;
}
