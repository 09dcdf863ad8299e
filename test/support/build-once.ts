import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Tests spawn the built command, so it is built from the sources under test, once a run. */
export default function setup(): void {
  execFileSync(process.execPath, [fileURLToPath(new URL('../../scripts/build.mjs', import.meta.url))], {
    stdio: 'inherit',
  });
}
