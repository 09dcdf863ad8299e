// Packs heddle-VERSION.tgz, the npm package: `npm run tarball [-- FOLDER]`. Packing the clone itself would publish the
// scripts, settings and dependencies of development, which npm warns users about.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { root } from './bundle-options.mjs';

/** Installed by those who need it: with Node 20 it replaces what later versions of Node contain, and it is 29 MB. */
const sqlite = '@photostructure/sqlite';

const target = resolve(process.argv[2] ?? root);
const {
  private: _,
  scripts: __,
  devDependencies: ___,
  allowScripts: ____,
  ...manifest
} = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const { [sqlite]: sqliteVersions, ...optionalDependencies } = manifest.optionalDependencies;
const packed = {
  ...manifest,
  optionalDependencies,
  peerDependencies: { [sqlite]: sqliteVersions },
  peerDependenciesMeta: { [sqlite]: { optional: true } },
};

const folder = mkdtempSync(join(tmpdir(), 'heddle-package-'));
try {
  // npm leaves out what begins with an exclamation mark, and adds the last two by itself.
  for (const path of [...manifest.files.filter((file) => !file.startsWith('!')), 'README.md', 'LICENSE']) {
    cpSync(join(root, path), join(folder, path), { recursive: true });
  }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(packed, null, 2)}\n`);
  const flags = ['--offline', '--ignore-scripts', '--silent', `--pack-destination="${target}"`];
  // A shell, since npm is a script of its own on Windows.
  const name = execFileSync(`npm pack ${flags.join(' ')}`, { cwd: folder, encoding: 'utf8', shell: true });
  console.log(join(target, name.trim()));
} finally {
  rmSync(folder, { recursive: true });
}
