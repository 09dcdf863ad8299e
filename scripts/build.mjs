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
const texts = Object.fromEntries(
  Object.entries(server.texts).map(([name, text]) => [`chunks/${digest}/${name}`, text]),
);
mkdirSync(join(root, 'dist/chunks', digest), { recursive: true });
write(texts);
// The entry comes after what it names: a process that starts meanwhile has either all that is old or all that is new.
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
Object.assign(texts, declarations(root), { 'THIRD-PARTY-NOTICES.txt': noticesOf(metafiles, root) });
write(texts);
for (const file of Object.keys(texts)) built.add(`dist/${file}`);

// What an earlier build left goes last: a process that runs from dist/ meanwhile still finds its chunks.
for (const file of readdirSync(join(root, 'dist'), { recursive: true, withFileTypes: true })) {
  const path = relative(root, join(file.parentPath, file.name)).replaceAll('\\', '/');
  if (file.isFile() && !built.has(path)) rmSync(join(root, path));
}
for (const entry of readdirSync(join(root, 'dist/chunks'), { withFileTypes: true })) {
  if (entry.isDirectory() && entry.name !== digest) rmSync(join(root, 'dist/chunks', entry.name), { recursive: true });
}

function write(files) {
  for (const [file, text] of Object.entries(files)) writeFileSync(join(root, 'dist', file), text);
}
