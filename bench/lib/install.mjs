// Installs the packages of the bench on its first run, since they are no part of heddle.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const bench = new URL('..', import.meta.url);
if (!existsSync(new URL('node_modules', bench))) {
  console.error('installing the packages of the bench in bench/');
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: bench,
    stdio: ['ignore', 2, 2],
    shell: true,
  });
  if (status !== 0) process.exit(1);
}
