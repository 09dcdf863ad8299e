import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, watch } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startFakeService } from '../../support/fake-service.ts';
import { command, emptyHome, run, temporaryFolder } from '../../support/heddle.ts';

const right = { username: 'mia', password: 'correct-horse', token: 'tok-11112222' };

describe('heddle login', () => {
  it('leaves either the old secrets or the new ones if it is killed while replacing the file', async () => {
    const service = await startFakeService({ credentials: right });
    const environment = emptyHome(temporaryFolder());
    const folder = join(environment.XDG_CONFIG_HOME!, 'heddle');
    const args = ['login', '--store', 'file', '--base-url', service.url, '--username', 'mia', '--password-stdin'];
    expect((await run(args, environment, 'correct-horse\n')).code).toBe(0);
    let killed = 0;
    for (let round = 0; round < 8; round++) {
      const password = `horse-number-${round}`;
      service.credentials = { ...right, password };
      const child = spawn(process.execPath, [command, ...args], {
        env: environment,
        stdio: ['pipe', 'ignore', 'ignore'],
      });
      // Kills the process as soon as it writes.
      const watcher = watch(folder, () => child.kill('SIGKILL'));
      onTestFinished(() => watcher.close());
      child.stdin.end(`${password}\n`);
      const [, signal] = await once(child, 'close');
      if (signal === 'SIGKILL') killed++;
      watcher.close();
      const { default: records } = JSON.parse(readFileSync(join(folder, 'credentials.json'), 'utf8'));
      const found = records[service.url].password;
      expect(['correct-horse', ...Array.from({ length: round + 1 }, (_, n) => `horse-number-${n}`)]).toContain(found);
      expect((await run(['status', '--json'], environment)).code).toBe(0);
    }
    expect(killed).toBeGreaterThan(0);
    // The next login removes temporary files that a crash left behind.
    service.credentials = right;
    expect((await run(args, environment, 'correct-horse\n')).code).toBe(0);
    expect(readdirSync(folder).sort()).toEqual(['config.json', 'credentials.json']);
  });
});
