import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('../../scripts/tarball.mjs', import.meta.url));

/** Packs this checkout as users get it, with the dist/ that is there, and returns the path of the tarball. */
export function packTarball(folder: string): string {
  return execFileSync(process.execPath, [script, folder], { encoding: 'utf8' }).trim();
}
