#!/usr/bin/env node
import { load } from './code-cache.ts';
import { isPlainServe } from './plain-serve.ts';

if (isPlainServe) void (load('serve.cjs') as typeof import('./run-serve.ts')).run();
else void import('./run-program.ts').then(({ run }) => run());
