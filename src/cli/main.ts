#!/usr/bin/env node
import { load } from './code-cache.ts';
import { start } from './start.ts';

void start(
  () => load('serve.cjs') as typeof import('./run-serve.ts'),
  () => import('./run-program.ts'),
);
