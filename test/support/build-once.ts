import { execFileSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** Builds heddle before a test run unless dist/ is newer than all that it is built from, since some tests spawn the built command. */
export default function setup(): void {
  const sources = ['src', 'scripts'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(root, folder, file)),
  );
  const changedAt = Math.max(...[...sources, join(root, 'package.json')].map((file) => statSync(file).mtimeMs));
  const builtAt = statSync(join(root, 'dist/THIRD-PARTY-NOTICES.txt'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (builtAt > changedAt) return;
  execFileSync(process.execPath, [join(root, 'scripts/build.mjs')], { stdio: 'inherit' });
}
