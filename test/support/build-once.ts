import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Builds heddle once before a test run, since tests spawn the built command. */
export default function setup(): void {
  execFileSync(process.execPath, [fileURLToPath(new URL('../../scripts/build.mjs', import.meta.url))], {
    stdio: 'inherit',
  });
}
