import { describe, expect, it } from 'vitest';
import { runtimeOptions } from '../../src/cli/access/runtime-options.ts';
import { openRuntime, type Runtime } from '../../src/runtime/runtime.ts';
import { resolveSettings } from '../../src/settings/resolve-settings.ts';
import { emptyHome, inInvocation, noFolders, temporaryFolder } from '../support/heddle.ts';

/** Opens a runtime of an embedded service, which starts with the first call and so never in these tests. */
function open(environment: Record<string, string>): Runtime {
  const { values, ...resolved } = resolveSettings({ flags: {}, environment, folders: noFolders, profiles: {} });
  return openRuntime(
    { values, ...resolved },
    { credentials: async () => ({ sources: resolved.sources }), log: () => {} },
  );
}

describe('openRuntime', () => {
  it('removes only the secrets of its own run from its log and results', async () => {
    const openWithLog = (HEDDLE_TOKEN: string) =>
      inInvocation(emptyHome(temporaryFolder(), { HEDDLE_TOKEN, HEDDLE_LOG_LEVEL: 'info' }), (given) => {
        const resolved = resolveSettings({ flags: {}, ...given });
        return openRuntime(resolved, runtimeOptions(resolved));
      });
    const ada = openWithLog('marmalade-of-ada');
    const bob = openWithLog('gingerbread-of-bob');
    const both = 'marmalade-of-ada and gingerbread-of-bob';
    ada.made.log('info', both);
    bob.made.log('info', both);
    await expect.poll(() => ada.output.stderr).toContain(' info [secret] and gingerbread-of-bob\n');
    await expect.poll(() => bob.output.stderr).toContain(' info marmalade-of-ada and [secret]\n');
    const { redactor: ofAda } = ada.made.serverOptions;
    const { redactor: ofBob } = bob.made.serverOptions;
    expect(ofAda.redactValue({ text: both })).toEqual({ text: '[secret] and gingerbread-of-bob' });
    expect(ofBob.redactValue({ text: both })).toEqual({ text: 'marmalade-of-ada and [secret]' });
    await Promise.all([ada.made.close(), bob.made.close()]);
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

  it('has the sample project by default on a data file, and no default project on a database', async () => {
    const [file, database] = [open({}), open({ HEDDLE_DATABASE_URL: 'postgres://db.example/heddle' })];
    expect(file.serverOptions).toMatchObject({
      project: 'demo/support',
      sampleProject: 'demo/support',
      isEmbedded: true,
      instructions: expect.stringContaining('demo/support has sample data'),
    });
    const { project, sampleProject, isEmbedded, instructions } = database.serverOptions;
    expect([project, sampleProject, isEmbedded]).toEqual([undefined, undefined, true]);
    expect(instructions).toContain('evaluations of the embedded service.');
    expect(instructions).toContain('project_id is entity/project, with no default: pass it.');
  });
});
