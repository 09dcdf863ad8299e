import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openRuntime, type Runtime } from '../../src/runtime/runtime.ts';
import { resolveSettings } from '../../src/settings/resolve-settings.ts';

/** Opens a runtime of an embedded service, which starts with the first call and so never in these tests. */
function open(environment: Record<string, string>): Runtime {
  const resolved = resolveSettings({
    flags: {},
    environment: { HEDDLE_LOG_LEVEL: 'info', ...environment },
    profiles: {},
  });
  return openRuntime(resolved, { credentials: async () => ({ sources: resolved.sources }) });
}

/** Collects what is written to stderr until the test ends. */
function captureStderr(): string[] {
  const lines: string[] = [];
  const spy = vi.spyOn(process.stderr, 'write').mockImplementation((line) => lines.push(String(line)) > 0);
  onTestFinished(() => spy.mockRestore());
  return lines;
}

describe('openRuntime', () => {
  it('removes only the secrets of its own run from its log and results', async () => {
    const ada = open({ HEDDLE_TOKEN: 'marmalade-of-ada' });
    const bob = open({ HEDDLE_TOKEN: 'gingerbread-of-bob' });
    const both = 'marmalade-of-ada and gingerbread-of-bob';
    const lines = captureStderr();
    ada.log('info', both);
    bob.log('info', both);
    expect(lines.map((line) => line.split(' info ')[1])).toEqual([
      '[secret] and gingerbread-of-bob\n',
      'marmalade-of-ada and [secret]\n',
    ]);
    expect(ada.serverOptions.redactor.redactValue({ text: both })).toEqual({ text: '[secret] and gingerbread-of-bob' });
    expect(bob.serverOptions.redactor.redactValue({ text: both })).toEqual({ text: 'marmalade-of-ada and [secret]' });
    await Promise.all([ada.close(), bob.close()]);
  });

  it('forgets its secrets when it is closed, and leaves those of another runtime', async () => {
    const ada = open({ HEDDLE_TOKEN: 'marmalade-of-ada' });
    const bob = open({
      HEDDLE_TOKEN: 'gingerbread-of-bob',
      HEDDLE_DATABASE_URL: 'postgresql://bob:cinnamon%20roll@db.example/heddle',
    });
    await bob.close();
    const text = 'marmalade-of-ada, gingerbread-of-bob, cinnamon roll';
    expect(bob.serverOptions.redactor.redact(text)).toBe('marmalade-of-ada, gingerbread-of-bob, cinnamon roll');
    expect(ada.serverOptions.redactor.redact(text)).toBe('[secret], gingerbread-of-bob, cinnamon roll');
    await ada.close();
    expect(ada.serverOptions.redactor.redact(text)).toBe('marmalade-of-ada, gingerbread-of-bob, cinnamon roll');
  });

  it.each([
    'postgresql://bob:cinnamon%20roll@db.example/heddle',
    'postgresql://bob:cinnamon%20roll@one.example:5432,two.example:5433/heddle',
  ])('removes the password of the database URL, as a whole and decoded: %s', async (HEDDLE_DATABASE_URL) => {
    const runtime = open({ HEDDLE_DATABASE_URL });
    expect(runtime.serverOptions.redactor.redact('password cinnamon roll')).toBe('password [secret]');
    await runtime.close();
  });
});
