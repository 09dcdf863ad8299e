import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startFakeService } from '../../support/fake-service.ts';
import { hasSecretService, startSession } from '../../support/keychain-session.ts';
import { controlC, converse, enter } from '../../support/pseudo-terminal.ts';

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
      ['Project of tool calls', enter],
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
      ['Project of tool calls', enter],
    ]);
    expect(code).toBe(0);
    expect(screen).not.toContain('weave-key');
    expect(service.requestLines()).toEqual([
      'POST /annotation_queues/00000000-0000-0000-0000-000000000000/items/query Basic YXBpOndlYXZlLWtleS0xMjM0',
      'GET /inference/v1/models Bearer weave-key-1234',
      'GET /projects Basic YXBpOndlYXZlLWtleS0xMjM0',
      'POST /annotation_queues/00000000-0000-0000-0000-000000000000/items/query Basic YXBpOndlYXZlLWtleS0xMjM0',
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
