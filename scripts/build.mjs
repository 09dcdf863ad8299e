// Builds dist/: the command and the library, with lazily loaded chunks; declarations; the notices of what is inside.
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { build } from 'esbuild';
import { bundleOptions, root } from './bundle-options.mjs';
import { declarations } from './declarations.mjs';
import { noticesOf } from './notices.mjs';

const { metafile } = await build({
  ...bundleOptions,
  entryPoints: { heddle: 'src/cli/main.ts', index: 'src/api/index.ts' },
  outdir: 'dist',
  splitting: true,
  chunkNames: 'chunks/[name]-[hash]',
});
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
