import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../support/heddle.ts';
import { requireProgram } from '../../support/require-program.ts';

const folder = join(import.meta.dirname, '../../../deploy/systemd');
const analyze = '/usr/bin/systemd-analyze';
const hasSystemd = requireProgram('systemd-analyze', analyze, 'apt-get install systemd');

/** Verifies a unit as instance 3921, with Node in place of heddle, and returns the status and the messages. */
function verify(name: string, text: string): { status: number | null; output: string } {
  const file = join(temporaryFolder(), name.replace('@', '@3921'));
  writeFileSync(file, text.replace('/usr/bin/heddle ', `${process.execPath} `));
  const { status, stdout, stderr } = spawnSync(analyze, ['verify', file], { encoding: 'utf8' });
  return { status, output: stdout + stderr };
}

describe.skipIf(!hasSystemd)('deploy/systemd', () => {
  it.each(readdirSync(folder))('passes systemd-analyze, with time to finish running calls: %s', (name) => {
    const text = readFileSync(join(folder, name), 'utf8');
    expect(verify(name, text)).toEqual({ status: 0, output: '' });
    expect(verify(name, text.replace('ProtectSystem=', 'ProtectSytem=')).output).toContain(
      "Unknown key 'ProtectSytem'",
    );
    // Running calls get 10 s after SIGTERM.
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(text)?.[1])).toBeGreaterThan(10);
  });
});
