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
  const { metafile } = await build({ ...options, write: false });
  return { ...options, plugins: [...options.plugins, startChunks(metafile.inputs)] };
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
