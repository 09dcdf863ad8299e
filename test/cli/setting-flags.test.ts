import { describe, expect, it } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import { flagsOf } from '../../src/cli/usage/flags.ts';
import { flagsOfStdioServer } from '../../src/cli/usage/setting-flags.ts';

/** Returns what the parser of all commands reads from a command line; undefined if it reports a mistake. */
async function flagsOfCommander(args: string[]): Promise<unknown> {
  const program = await createProgram(['serve']);
  const [serve] = program.commands;
  serve!.exitOverride().configureOutput({ outputError: () => {} });
  let flags: unknown;
  serve!.action(() => {
    flags = flagsOf(serve!);
  });
  await program.parseAsync(args, { from: 'user' }).catch(() => {});
  return flags;
}

describe('flagsOfStdioServer', () => {
  it.each([
    [[], {}],
    [['serve'], {}],
    [['--read-only'], { readOnly: 'true' }],
    [
      ['serve', '--project', 'a/b', '--read-only', '--tools=queue,read_call'],
      { project: 'a/b', readOnly: 'true', tools: 'queue,read_call' },
    ],
    [['--project', 'a/b', '--project=c/d'], { project: 'c/d' }],
    [['--tools', ''], { tools: '' }],
    [['--base-url=http://a.example/?x=1'], { baseUrl: 'http://a.example/?x=1' }],
    [
      ['serve', '--timeout-ms', '5', '--log-level', 'debug', '--database', 'postgres://a/b'],
      { timeoutMs: '5', logLevel: 'debug', databaseUrl: 'postgres://a/b' },
    ],
  ])('reads %j as the parser of all commands does', async (args, flags) => {
    expect(flagsOfStdioServer(args)).toEqual(flags);
    expect(await flagsOfCommander(args)).toEqual(flags);
  });

  it.each([
    [['serve', '--http']],
    [['--port', '1']],
    [['--oauth-issuer', 'https://a.example']],
    [['--help']],
    [['-V']],
    [['--json']],
    [['status']],
    [['serve', 'serve']],
    [['serve', '--']],
    [['--proj', 'a/b']],
    [['--project']],
    [['--project', '--read-only']],
    [['--read-only=true']],
    [['--read-only', 'true']],
    [['--__proto__', 'a']],
    [['--constructor']],
  ])('leaves %j to the parser of all commands', (args) => {
    expect(flagsOfStdioServer(args)).toBeUndefined();
  });
});
