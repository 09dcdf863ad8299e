// Bundles the command into dist/: one entry, lazily loaded chunks, native add-ons left outside.
import { readdirSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));

const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: { heddle: 'src/cli/main.ts' },
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.18',
  chunkNames: 'chunks/[name]-[hash]',
  // Its main file is of a form whose parts a bundler does not find.
  alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
  external: ['@napi-rs/keyring', '@photostructure/sqlite'],
  // Some bundled packages are CommonJS and reach for require at run time.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module';\nconst require = __createRequire(import.meta.url);",
  },
  legalComments: 'none',
  logLevel: 'warning',
  metafile: true,
});

// What an earlier build left goes last: a process that runs from dist/ meanwhile still finds its chunks.
const built = new Set(Object.keys(metafile.outputs));
for (const file of readdirSync(join(root, 'dist'), { recursive: true, withFileTypes: true })) {
  const path = relative(root, join(file.parentPath, file.name)).replaceAll('\\', '/');
  if (file.isFile() && !built.has(path)) rmSync(join(root, path));
}
