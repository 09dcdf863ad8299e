import { basename } from 'node:path';
import { build } from 'esbuild';
import { bundleOptions, root } from './bundle-options.mjs';

const asCommonJs = {
  ...bundleOptions,
  format: 'cjs',
  // They are read as they are, so that no text has to be put together (src/cli/code-cache.ts). Scripts have no import().
  banner: { js: '(function (exports, require, module) {' },
  footer: { js: '})' },
  supported: { 'dynamic-import': false },
  write: false,
};

/**
 * The server on stdio as scripts (CommonJS), the only form whose compiled code every Node can keep: `serve.cjs` is all
 * that a start needs, each other chunk loads when it is asked for. esbuild splits modules of ECMAScript only, and shares
 * parts of a start with later chunks as small files of their own; so it splits first, and what a start needs is then
 * put into one.
 *
 * @returns the texts by file name, with `sourcemap` also `.map` files beside them, and the metafile of the first pass,
 *   which knows the sources
 */
export async function serverChunks({ sourcemap = false } = {}) {
  const maps = sourcemap && { sourcemap: 'external' };
  const { outputFiles, metafile } = await build({
    ...bundleOptions,
    banner: undefined,
    splitting: true,
    entryPoints: { serve: 'src/cli/run-serve.ts' },
    chunkNames: '[name]-[hash]',
    outdir: '.',
    write: false,
    ...maps,
  });
  const written = new Map(outputFiles.map(({ path, text }) => [basename(path), text]));
  const texts = new Map(
    [...written]
      .filter(([name]) => !name.endsWith('.map'))
      .map(([name, text]) => [name, sourcemap ? `${text}\n${inlineMap(written.get(`${name}.map`))}` : text]),
  );
  const atStart = withStaticImports('serve.js', metafile);
  const later = [...texts.keys()].filter((name) => !atStart.has(name));

  // The start offers its parts to later chunks, as namespaces by their names.
  const parts = [...atStart].map((name, index) =>
    name === 'serve.js'
      ? `export * from './serve.js';`
      : `import * as part${index} from './${name}'; export { part${index} as '${name}' };`,
  );
  const scripts = await Promise.all([
    script('serve.cjs', parts.join('\n'), maps, (name) => texts.get(name)),
    ...later.map((name) =>
      script(commonJs(name), texts.get(name), maps, (imported) =>
        atStart.has(imported) ? `module.exports = require('./serve.cjs')['${imported}'];` : undefined,
      ),
    ),
  ]);
  return { texts: Object.fromEntries(scripts.flat()), metafile };
}

/** A chunk and all that it imports, in whichever way but `import()`. */
function withStaticImports(name, metafile, found = new Set()) {
  found.add(name);
  for (const { path, kind, external } of metafile.outputs[name].imports) {
    if (kind === 'import-statement' && !external && !found.has(path)) withStaticImports(path, metafile, found);
  }
  return found;
}

function inlineMap(map) {
  return `//# sourceMappingURL=data:application/json;base64,${Buffer.from(map).toString('base64')}`;
}

/** One script, by its name; `textOf` gives the text of a chunk that goes into it, or nothing for one that stays a file. */
async function script(file, contents, maps, textOf) {
  const chunks = {
    name: 'chunks',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^\.\// }, ({ path, kind }) => {
        const name = basename(path);
        const inside = kind === 'import-statement' && textOf(name) !== undefined;
        return inside ? { path: name, namespace: 'chunk' } : { path: `./${commonJs(name)}`, external: true };
      });
      onLoad({ filter: /./, namespace: 'chunk' }, ({ path }) => ({ contents: textOf(path), resolveDir: root }));
    },
  };
  const stdin = { contents, resolveDir: root };
  const { outputFiles } = await build({ ...asCommonJs, ...maps, plugins: [chunks], stdin, outfile: file });
  return outputFiles.map(({ path, text }) => [basename(path), text]);
}

function commonJs(name) {
  return name.replace(/\.js$/, '.cjs');
}
