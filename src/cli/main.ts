#!/usr/bin/env node
import { statSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';

try {
  await enableCompileCache();
  const { run } = await import('./run.ts');
  await run();
} catch (error) {
  // `run` reports its own failures, so only the imports can fail here. They need a home folder and the files of heddle.
  const { message, syscall } = error as NodeJS.ErrnoException;
  const isHomeMissing = syscall === 'uv_os_homedir';
  process.stderr.write(
    isHomeMissing
      ? 'heddle: this user has no home folder.\nSet HOME to a folder of the user who runs heddle.\n'
      : `heddle: a file of the installation is missing or damaged; install heddle again. ${message}\n`,
  );
  process.exitCode = isHomeMissing ? 2 : 1;
}

/**
 * Keeps compiled code between starts, before the rest of heddle is loaded; Node 20 has no such cache. Another user's home
 * folder is not used, because compiled code found there would run with the privileges of this process.
 */
async function enableCompileCache(): Promise<void> {
  const { enableCompileCache: enable } = module as { enableCompileCache?: (folder: string) => void };
  if (!enable || (process.platform !== 'win32' && process.getuid?.() !== ownerOf(homedir()))) return;
  const { default: envPaths } = await import('env-paths');
  enable(envPaths('heddle', { suffix: '' }).cache);
}

/** Returns the user id of a folder's owner; undefined if the folder cannot be looked at. */
function ownerOf(folder: string): number | undefined {
  try {
    return statSync(folder).uid;
  } catch {
    return undefined;
  }
}
