#!/usr/bin/env node
import module from 'node:module';
import envPaths from 'env-paths';
import { start } from './start.ts';

// Node 22 and later keep what they compiled for the next start; in the user's own folder, where nobody else can write.
const { enableCompileCache } = module as { enableCompileCache?: (folder: string) => void };
enableCompileCache?.(envPaths('heddle', { suffix: '' }).cache);

await start(
  () => import('./run-serve.ts'),
  () => import('./run-program.ts'),
);
