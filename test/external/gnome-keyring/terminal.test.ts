import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startFakeService } from '../../support/fake-service.ts';
import { command } from '../../support/heddle.ts';
import { hasSecretService, startSession } from '../../support/keychain-session.ts';

/** A step of a user, who waits for a text and then types. */
type Step = [appears: string, types: string];

const enter = '\r';
const controlC = '\x03';

/** Runs heddle in a pseudo-terminal, and returns its exit code and everything on the screen. */
async function converse(
  args: string[],
  environment: Record<string, string>,
  steps: Step[],
): Promise<{ code: unknown; screen: string }> {
  const words = [process.execPath, command, ...args].map((word) => `'${word}'`).join(' ');
  // A new pseudo-terminal has no width, so it would wrap after every character.
  const line = `stty columns 120 rows 30; exec ${words}`;
  const child = spawn('script', ['--quiet', '--return', '--command', line, '/dev/null'], {
    env: { ...environment, TERM: 'xterm', SHELL: '/bin/sh' },
  });
  let screen = '';
  let read = 0;
  const waiting = [...steps];
  child.stdout.on('data', (bytes: Buffer) => {
    screen += bytes;
    const step = waiting[0];
    const at = step ? screen.indexOf(step[0], read) : -1;
    if (!step || at < 0) return;
    waiting.shift();
    read = at + step[0].length;
    child.stdin.write(step[1]);
  });
  const [code] = await once(child, 'close');
  expect(waiting).toEqual([]);
  return { code, screen };
}

describe.skipIf(!hasSecretService)('heddle login at a terminal', () => {
  it('asks for missing values, hides typed secrets and stores them', async () => {
    const [service, session] = await Promise.all([
      startFakeService({ credentials: { username: 'mia', password: 'correct-horse', token: 'tok-11112222' } }),
      startSession(),
    ]);
    const { code, screen } = await converse(['login'], session.environment, [
      ['Base URL of the service', `${service.url}/${enter}`],
      ['User name', `mia${enter}`],
      ['Password of mia', `correct-horse${enter}`],
      ['Bearer token', `tok-11112222${enter}`],
    ]);
    expect(screen).toContain(`Stored in the keychain, profile "default", for ${service.url}.`);
    expect(code).toBe(0);
    expect(screen).not.toContain('correct');
    expect(screen).not.toContain('tok-1');
    expect(session.secretTool('lookup', 'service', 'heddle/default', 'username', service.url)).toBe(
      '{"username":"mia","password":"correct-horse","token":"tok-11112222"}',
    );
  });

  it('asks only for an API key with --weave', async () => {
    const [service, session] = await Promise.all([
      startFakeService({ credentials: { username: 'api', password: 'weave-key-1234', token: 'weave-key-1234' } }),
      startSession(),
    ]);
    const { code, screen } = await converse(['login', '--weave', '--base-url', service.url], session.environment, [
      ['API key for', `weave-key-1234${enter}`],
    ]);
    expect(code).toBe(0);
    expect(screen).not.toContain('weave-key');
    expect(service.requestLines()).toEqual([
      'POST /annotation_queues/00000000-0000-0000-0000-000000000000/items/query Basic YXBpOndlYXZlLWtleS0xMjM0',
      'GET /inference/v1/models Bearer weave-key-1234',
    ]);
  });

  it('stores nothing after Ctrl-C at a prompt', async () => {
    const [service, session] = await Promise.all([
      startFakeService({ credentials: { username: 'mia', password: 'correct-horse', token: 'tok-11112222' } }),
      startSession(),
    ]);
    const args = ['login', '--base-url', service.url, '--username', 'mia'];
    const { code, screen } = await converse(args, session.environment, [['Password of mia', `correct${controlC}`]]);
    expect(code).toBe(1);
    expect(screen).toContain('Cancelled: nothing was stored.');
    expect(service.requestLines()).toEqual([]);
    expect(existsSync(join(session.home, 'heddle'))).toBe(false);
  });
});
