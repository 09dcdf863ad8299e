import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../support/heddle.ts';
import { requireProgram } from '../../support/require-program.ts';

const folder = join(import.meta.dirname, '../../../deploy/systemd');
const analyze = '/usr/bin/systemd-analyze';
const hasSystemd = requireProgram('systemd-analyze', analyze, 'apt-get install systemd');

/** What systemd says to a unit as instance 3921. heddle need not be installed: another program stands in for it. */
function verify(name: string, text: string): { status: number | null; said: string } {
  const file = join(temporaryFolder(), name.replace('@', '@3921'));
  writeFileSync(file, text.replace('/usr/bin/heddle ', `${process.execPath} `));
  const { status, stdout, stderr } = spawnSync(analyze, ['verify', file], { encoding: 'utf8' });
  return { status, said: stdout + stderr };
}

test.skipIf(!hasSystemd).each(readdirSync(folder))('%s: systemd finds nothing wrong', (name) => {
  const text = readFileSync(join(folder, name), 'utf8');
  expect(verify(name, text)).toEqual({ status: 0, said: '' });
  expect(verify(name, text.replace('ProtectSystem=', 'ProtectSytem=')).said).toContain("Unknown key 'ProtectSytem'");
  // Longer than the 10 s that calls have after SIGTERM.
  expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(text)?.[1])).toBeGreaterThan(10);
});
