import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { command } from '../../support/heddle.ts';
import { ready, startSession } from '../../support/keychain-session.ts';
import { startStub } from '../../support/stub-service.ts';

/** What a person does: waits for the text to appear, then types. */
type Step = [appears: string, types: string];

const enter = '\r';
const controlC = '\x03';

/** Runs the command in a pseudo-terminal; returns everything that was on the screen. */
async function converse(
  args: string[],
  environment: Record<string, string>,
  steps: Step[],
): Promise<{ code: unknown; screen: string }> {
  const words = [process.execPath, command, ...args].map((word) => `'${word}'`).join(' ');
  // A new pseudo-terminal has no width, and everything would be wrapped at every character.
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

describe.runIf(ready)('login at a terminal', () => {
  test('asks for what is missing, hides what is typed, and stores it', async () => {
    const [stub, session] = await Promise.all([
      startStub({ username: 'mia', password: 'correct-horse', token: 'tok-11112222' }),
      startSession(),
    ]);
    const { code, screen } = await converse(['login'], session.environment, [
      ['Base URL of the service', `${stub.url}/${enter}`],
      ['User name', `mia${enter}`],
      ['Password of mia', `correct-horse${enter}`],
      ['Bearer token', `tok-11112222${enter}`],
    ]);
    expect(screen).toContain(`Stored in the keychain, profile "default", for ${stub.url}.`);
    expect(code).toBe(0);
    expect(screen).not.toContain('correct');
    expect(screen).not.toContain('tok-1');
    expect(session.secretTool('lookup', 'service', 'heddle/default', 'username', stub.url)).toBe(
      '{"username":"mia","password":"correct-horse","token":"tok-11112222"}',
    );
  });

  test('--weave asks for an API key only', async () => {
    const [stub, session] = await Promise.all([
      startStub({ username: 'api', password: 'weave-key-1234', token: 'weave-key-1234' }),
      startSession(),
    ]);
    const { code, screen } = await converse(['login', '--weave', '--base-url', stub.url], session.environment, [
      ['API key for', `weave-key-1234${enter}`],
    ]);
    expect(code).toBe(0);
    expect(screen).not.toContain('weave-key');
    expect(stub.requests).toEqual([
      'POST /annotation_queues/00000000-0000-0000-0000-000000000000/items/query Basic YXBpOndlYXZlLWtleS0xMjM0',
      'GET /inference/v1/models Bearer weave-key-1234',
    ]);
  });

  test('Ctrl-C at a prompt stores nothing', async () => {
    const [stub, session] = await Promise.all([
      startStub({ username: 'mia', password: 'correct-horse', token: 'tok-11112222' }),
      startSession(),
    ]);
    const args = ['login', '--base-url', stub.url, '--username', 'mia'];
    const { code, screen } = await converse(args, session.environment, [['Password of mia', `correct${controlC}`]]);
    expect(code).toBe(1);
    expect(screen).toContain('Cancelled: nothing was stored.');
    expect(stub.requests).toEqual([]);
    expect(existsSync(join(session.home, 'heddle'))).toBe(false);
  });
});
