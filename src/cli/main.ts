#!/usr/bin/env node
import { statSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';
import envPaths from 'env-paths';

// Must run before the rest of heddle is loaded; Node 20 has no such cache. Another user's home folder is not used,
// because compiled code found there would run with the privileges of this process.
const { enableCompileCache } = module as { enableCompileCache?: (folder: string) => void };
const homeOwner = statSync(homedir(), { throwIfNoEntry: false })?.uid;
if (process.getuid?.() === homeOwner || process.platform === 'win32') {
  enableCompileCache?.(envPaths('heddle', { suffix: '' }).cache);
}

try {
  const { run } = await import('./program.ts');
  await run();
} catch (error) {
  // `run` reports its own failures, so only the import can fail here.
  const reason = (error as Error).stack;
  process.stderr.write(`heddle: a file of the installation is missing or damaged; install heddle again. ${reason}\n`);
  process.exitCode = 1;
}
