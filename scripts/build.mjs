// Builds dist/: the command and the library as one bundle with lazily loaded chunks, the type declarations, and the
// notices of the bundled packages.
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { build } from 'esbuild';
import { root } from './bundle-options.mjs';
import { declarations } from './declarations.mjs';
import { distOptions } from './dist-options.mjs';
import { noticesOf } from './notices.mjs';
import { pageMetafiles } from './pages-plugin.mjs';

// On a busy machine it takes a quarter of a minute.
console.error('building dist/ …');
const { metafile } = await build(await distOptions());
const written = new Set(Object.keys(metafile.outputs));
const texts = {
  'index.d.ts': await declarations(root),
  'THIRD-PARTY-NOTICES.txt': noticesOf([metafile, ...pageMetafiles], root),
};
for (const [file, text] of Object.entries(texts)) {
  writeFileSync(join(root, 'dist', file), text);
  written.add(`dist/${file}`);
}

// Files of an earlier build go last: a process that runs from dist/ meanwhile still finds its chunks.
for (const entry of readdirSync(join(root, 'dist'), { recursive: true, withFileTypes: true })) {
  const path = relative(root, join(entry.parentPath, entry.name)).replaceAll('\\', '/');
  if (entry.isFile() && !written.has(path)) rmSync(join(root, path));
}
