#!/usr/bin/env node
import module from 'node:module';
import envPaths from 'env-paths';

// Node 22 and later keep what they compiled for the next start; in the user's own folder, where nobody else can write.
const { enableCompileCache } = module as { enableCompileCache?: (folder: string) => void };
enableCompileCache?.(envPaths('heddle', { suffix: '' }).cache);

const args = process.argv.slice(2);
// How clients start it, with settings in the environment, is a bundle of its own (scripts/build.mjs): neither the parser
// nor the other commands are read.
const plain = args.length === 0 || (args.length === 1 && args[0] === 'serve');
const { run } = plain ? await import('./run-serve.ts') : await import('./run-program.ts');
await run();
