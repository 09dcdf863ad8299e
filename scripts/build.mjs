// Builds dist/: the command and the library, with lazily loaded chunks; declarations; the notices of what is inside.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { build } from 'esbuild';
import { bundleOptions, root } from './bundle-options.mjs';
import { declarations } from './declarations.mjs';
import { noticesOf } from './notices.mjs';
import { serverChunks } from './server-chunks.mjs';

const common = { ...bundleOptions, outdir: 'dist' };
// The entry only chooses between two bundles that share nothing. Files cost more at start than bytes: as one bundle the
// server would be read from thirty chunks that other commands use too.
const apart = {
  name: 'apart',
  setup: ({ onResolve }) =>
    onResolve({ filter: /\/run-program\.ts$/ }, () => ({ path: './chunks/run-program.js', external: true })),
};
const server = await serverChunks();
const digest = createHash('sha256').update(JSON.stringify(server.texts)).digest('hex').slice(0, 12);
const builds = await Promise.all([
  build({
    ...common,
    format: 'cjs',
    outExtension: { '.js': '.cjs' },
    banner: undefined,
    // Loaded as CommonJS the entry spares Node its loader of modules, 4 ms.
    define: {
      chunksDigest: JSON.stringify(digest),
      'import.meta.dirname': '__dirname',
      'import.meta.filename': '__filename',
    },
    entryPoints: { heddle: 'src/cli/main.ts' },
    plugins: [apart],
  }),
  build({
    ...common,
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    entryPoints: { 'chunks/run-program': 'src/cli/run-program.ts', index: 'src/api/index.ts' },
  }),
]);
const metafiles = [server.metafile, ...builds.map(({ metafile }) => metafile)];
const built = new Set(builds.flatMap(({ metafile }) => Object.keys(metafile.outputs)));
const texts = {
  ...Object.fromEntries(Object.entries(server.texts).map(([name, text]) => [`chunks/${name}`, text])),
  ...declarations(root),
  'THIRD-PARTY-NOTICES.txt': noticesOf(metafiles, root),
};
mkdirSync(join(root, 'dist/chunks'), { recursive: true });
for (const [file, text] of Object.entries(texts)) {
  writeFileSync(join(root, 'dist', file), text);
  built.add(`dist/${file}`);
}

// What an earlier build left goes last: a process that runs from dist/ meanwhile still finds its chunks.
for (const file of readdirSync(join(root, 'dist'), { recursive: true, withFileTypes: true })) {
  const path = relative(root, join(file.parentPath, file.name)).replaceAll('\\', '/');
  if (file.isFile() && !built.has(path)) rmSync(join(root, path));
}
