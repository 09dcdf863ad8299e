// Builds heddle-VERSION.mcpb, the bundle for Claude Desktop: `npm run bundle [-- FOLDER]`.
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { zipSync } from 'fflate';
import { bundleOptions, root } from './bundle-options.mjs';
import { noticesOf } from './notices.mjs';
import { pageMetafiles } from './pages-plugin.mjs';

const manifest = JSON.parse(readFileSync(join(root, 'manifest.json'), 'utf8'));
const file = resolve(process.argv[2] ?? root, `${manifest.name}-${manifest.version}.mcpb`);

// One file, because hosts unpack each file separately; without the native packages, which macOS hosts refuse.
const { outputFiles, metafile } = await build({
  ...bundleOptions,
  entryPoints: ['src/cli/main.ts'],
  outfile: manifest.server.entry_point,
  write: false,
});

const kept = ['manifest.json', manifest.icon, 'README.md', 'LICENSE'];
const contents = {
  ...Object.fromEntries(kept.map((path) => [path, readFileSync(join(root, path))])),
  [manifest.server.entry_point]: outputFiles[0].contents,
  'THIRD-PARTY-NOTICES.txt': Buffer.from(noticesOf([metafile, ...pageMetafiles], root)),
};

// Entries have a fixed order, time and permissions, so the same sources give the same bytes on every machine.
const entry = { mtime: new Date(1980, 0, 1), os: 3, attrs: 0o100644 << 16, level: 9 };
const entries = Object.keys(contents)
  .sort()
  .map((path) => [path, [new Uint8Array(contents[path]), entry]]);
writeFileSync(file, zipSync(Object.fromEntries(entries)));
console.log(file);
