import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { build } from 'esbuild';
import { bundleOptions, root } from './bundle-options.mjs';

/** What `main.ts` loads for every command, and all that a client of the server on stdin and stdout waits for. */
const start = 'src/cli/run.ts';

/** Returns the options that build the command and the library in dist/. @returns {Promise<import('esbuild').BuildOptions>} */
export async function distOptions() {
  const options = {
    ...bundleOptions,
    splitting: true,
    entryPoints: { heddle: 'src/cli/main.ts', index: 'src/library.ts' },
    chunkNames: 'chunks/[name]-[hash]',
    outdir: 'dist',
  };
  const { metafile, outputFiles } = await build({ ...options, write: false });
  const define = { __HEDDLE_BUILD__: JSON.stringify(commit() ?? digestOf(outputFiles)) };
  return { ...options, define, plugins: [...options.plugins, startChunks(metafile.inputs)] };
}

/** Returns seven hex digits of the commit whose files are built, or undefined if they differ from it or there is no git. */
function commit() {
  const git = (...args) =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    // A copy of the sources inside the repository of another project has no commit of its own.
    if (git('rev-parse', '--show-prefix').trim() !== '' || git('status', '--porcelain', '--', 'src', 'package.json'))
      return;
    return git('rev-parse', 'HEAD').slice(0, 7);
  } catch {
    return undefined;
  }
}

/** Returns seven hex digits of what was built. @param {import('esbuild').OutputFile[]} files */
function digestOf(files) {
  const hash = createHash('sha256');
  for (const { contents } of files) hash.update(contents);
  return hash.digest('hex').slice(0, 7);
}

/**
 * Keeps the modules of the start in few chunks. The bundler makes a chunk of the modules that the same entries reach, here about
 * thirty of them, and Node takes half a millisecond to open each. So every module that is loaded later imports the whole start,
 * which is there by then.
 * @param {import('esbuild').Metafile['inputs']} inputs all modules.
 * @returns {import('esbuild').Plugin}
 */
function startChunks(inputs) {
  const imported = (kind, { imports }) =>
    imports.filter((one) => one.kind === kind && !one.external).map(({ path }) => path);
  const later = new Set(Object.values(inputs).flatMap((input) => imported('dynamic-import', input)));
  const early = new Set([start]);
  for (const file of early) for (const path of imported('import-statement', inputs[file])) early.add(path);
  const own = [...early].filter((path) => path.startsWith('src/') && path.endsWith('.ts'));
  return {
    name: 'start-chunks',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const file = relative(root, path).replaceAll('\\', '/');
        if (!later.has(file) || early.has(file)) return undefined;
        // Only commands import commands: the library must not load them.
        const first = own.filter((one) => file.startsWith('src/cli/') || !one.startsWith('src/cli/'));
        const imports = first.map((one) => `import ${JSON.stringify(join(root, one))};`);
        return { contents: `${imports.join('')}${readFileSync(path, 'utf8')}`, loader: 'ts' };
      });
    },
  };
}
