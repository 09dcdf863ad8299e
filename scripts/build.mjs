// Builds dist/: the command and the library, with lazily loaded chunks; declarations; the notices of what is inside.
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { build } from 'esbuild';
import { bundleOptions, root } from './bundle-options.mjs';
import { declarations } from './declarations.mjs';
import { noticesOf } from './notices.mjs';

const common = { ...bundleOptions, outdir: 'dist', splitting: true, chunkNames: 'chunks/[name]-[hash]' };
// The entry only chooses between two bundles that share nothing. Files cost more at start than bytes: as one bundle the
// server would be read from thirty chunks that other commands use too.
const apart = {
  name: 'apart',
  setup: ({ onResolve }) =>
    onResolve({ filter: /\/run-\w+\.ts$/ }, ({ path, kind }) =>
      kind === 'dynamic-import' ? { path: path.replace(/^\.\/(.*)ts$/, './chunks/$1js'), external: true } : undefined,
    ),
};
const builds = await Promise.all([
  build({ ...common, entryPoints: { heddle: 'src/cli/main.ts' }, plugins: [apart] }),
  build({ ...common, entryPoints: { 'chunks/run-serve': 'src/cli/run-serve.ts' } }),
  build({ ...common, entryPoints: { 'chunks/run-program': 'src/cli/run-program.ts', index: 'src/api/index.ts' } }),
]);
const metafile = { outputs: Object.assign({}, ...builds.map(({ metafile: { outputs } }) => outputs)) };
const built = new Set(Object.keys(metafile.outputs));
const texts = { ...declarations(root), 'THIRD-PARTY-NOTICES.txt': noticesOf(metafile, root) };
for (const [file, text] of Object.entries(texts)) {
  writeFileSync(join(root, 'dist', file), text);
  built.add(`dist/${file}`);
}

// What an earlier build left goes last: a process that runs from dist/ meanwhile still finds its chunks.
for (const file of readdirSync(join(root, 'dist'), { recursive: true, withFileTypes: true })) {
  const path = relative(root, join(file.parentPath, file.name)).replaceAll('\\', '/');
  if (file.isFile() && !built.has(path)) rmSync(join(root, path));
}
