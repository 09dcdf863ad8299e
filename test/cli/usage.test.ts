import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { emptyHome, run, temporaryFolder } from '../support/heddle.ts';

describe('a mistyped command line', () => {
  it.each([
    ['srve', "unknown command 'srve' (did you mean `node dist/heddle.js serve`?)"],
    ['hlep', "unknown command 'hlep' (did you mean `node dist/heddle.js help`?)"],
    ['version', "unknown command 'version' (did you mean `node dist/heddle.js --version`?)"],
    [
      'export',
      "unknown command 'export' (did you mean `node dist/heddle.js queue export` or `node dist/heddle.js evaluation export`?)",
    ],
    [
      'lits',
      "unknown command 'lits' (did you mean `node dist/heddle.js queue list`, `node dist/heddle.js evaluation list`, `node dist/heddle.js config list`, or `node dist/heddle.js service list`?)",
    ],
    ['list queues', "unknown command 'list' (did you mean `node dist/heddle.js queue list`?)"],
    ['queues list', "unknown command 'queues' (did you mean `node dist/heddle.js queue list`?)"],
    ['queue lists', "unknown command 'lists' (did you mean `node dist/heddle.js queue list`?)"],
    ['--project demo/support srve', "unknown command 'srve' (did you mean `node dist/heddle.js serve`?)"],
    ...['login --api-key x', 'serve --passwort x', 'login --pass x', 'serve --bearer x', 'login --credentials x'].map(
      (line) => [line, 'Secrets have no options'],
    ),
    ['improt', "unknown command 'improt' (did you mean `node dist/heddle.js import`?)\n"],
    [
      'queue show Answers',
      "unknown command 'show'\nThe commands of `node dist/heddle.js queue` are list, export, and delete.\n",
    ],
    ['queue create Answers', '(did you mean `node dist/heddle.js import FILE --queue NAME`?)'],
    ['setup claude', 'unknown client (did you mean claude-desktop or claude-code?): name one of claude-desktop, '],
    ['help queue exprot', "unknown command 'exprot' (did you mean `node dist/heddle.js help queue export`?)"],
    ['--porject x queue list', "unknown option '--porject' (did you mean --project?)"],
    ['queue list --porject x', "unknown option '--porject' (did you mean --project?)"],
    ['list_queues', '(did you mean `node dist/heddle.js queue list`?)'],
    ['read_call', '(did you mean `node dist/heddle.js call read_call`?)'],
    ['judge', '(did you mean `node dist/heddle.js board`?)'],
    ['ls', '(did you mean `node dist/heddle.js queue list`?)'],
    ['users', '(did you mean `node dist/heddle.js service list-users`?)'],
    ['datasets list', '(did you mean `node dist/heddle.js call list_objects \'{"kind":"dataset"}\'`?)'],
    ['config get api_key', 'Secrets are no values of a profile'],
    ['service lst', "unknown command 'lst' (did you mean `node dist/heddle.js service list`?)"],
    ['config st', "unknown command 'st' (did you mean `node dist/heddle.js config set`?)"],
    [
      'service users',
      '(did you mean `node dist/heddle.js service add-user`, `node dist/heddle.js service renew-user`, or',
    ],
    ['service invitations', "unknown command 'invitations'\nThe commands of"],
    ['init', '(did you mean `node dist/heddle.js setup`?)'],
    ['tools lst', '(did you mean `node dist/heddle.js tools`?)'],
    ['setup curser', '(did you mean cursor?)'],
    ['call list_queue', "unknown tool 'list_queue' (did you mean list_queues?)"],
    ['tools read_cal', '(did you mean read_call?)'],
    ['serve --htp', "unknown option '--htp' (did you mean --http?)"],
    ['config set projct x', "unknown key 'projct' (did you mean project?)"],
    ['call --text --table list_queues', "option '--text' cannot be used with option '--table'"],
    ['setup', 'no client: name one of claude-desktop'],
  ])('`heddle %s` exits with 2 and suggests what was meant', async (line, message) => {
    const { code, stdout, stderr } = await run(line.split(' '), emptyHome(temporaryFolder()));
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^heddle: /);
    expect(stderr).toContain(message);
  });

  it.each([
    'queue list --bogus',
    'queue list --keyboard',
    'queue list --keychain-timeout 1',
    'evaluation show x --max-tokens 5',
    'evaluation show x --max-token 5',
    'serve --token-fil x',
    'import file.csv --key id',
    'config get projct',
  ])('does not speak of secrets in `heddle %s`', async (line) => {
    const { code, stderr } = await run(line.split(' '), emptyHome(temporaryFolder()));
    expect(code).toBe(2);
    expect(stderr).not.toContain('Secrets');
  });

  it('takes the last value of a setting that is given twice', async () => {
    const environment = emptyHome(temporaryFolder());
    const line = ['--project', 'no/project', 'queue', '--project', 'no/other', 'list', '--project', 'demo/support'];
    const { code, stdout } = await run(line, environment);
    expect([code, stdout]).toEqual([0, expect.stringContaining('support-triage')]);
  });

  it('may have settings between a command and the one below it', async () => {
    const environment = emptyHome(temporaryFolder());
    const { code, stdout } = await run(['queue', '--project', 'demo/support', 'list'], environment);
    expect([code, stdout]).toEqual([0, expect.stringContaining('support-triage')]);
  });

  it('may have --json and --table before the command', async () => {
    const environment = emptyHome(temporaryFolder());
    const json = await run(['--json', '--project', 'demo/support', 'queue', 'list'], environment);
    expect([json.code, JSON.parse(json.stdout).queues]).toMatchObject([0, [{ id: 'support-triage' }]]);
    const table = await run(['--project', 'demo/support', '--table', 'queue', 'list'], environment);
    expect([table.code, table.stdout]).toEqual([0, expect.stringMatching(/^1 queue\.\n/)]);
  });

  it('changes no data in read-only mode', async () => {
    const environment = emptyHome(temporaryFolder());
    for (const args of [
      ['--read-only', 'queue', 'delete', 'support-triage', '--yes'],
      ['import', 'rows.csv', '--read-only'],
      ['service', 'put-dataset', 'rows', 'rows.json', '--read-only'],
      ['service', 'add-user', 'ann', '--read-only'],
      ['service', 'grant', 'ann', 'team/support', '--read-only'],
      ['service', 'revoke', 'ann', 'team/support', '--read-only'],
      ['service', 'invite', 'ann', 'team/support', '--read-only'],
      ['service', 'end-sessions', 'ann', '--read-only'],
      ['service', 'copy', '--to', 'cloud', '--read-only'],
      ['service', 'restore', 'backup.db', '--read-only'],
      ['service', 'reset', '--yes', '--read-only'],
    ]) {
      const { code, stderr } = await run(args, environment);
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining('changes data, which HEDDLE_READ_ONLY or --read-only forbids'),
      ]);
    }
    const readOnly = { ...environment, HEDDLE_READ_ONLY: 'true' };
    expect((await run(['queue', 'delete', 'support-triage', '--yes'], readOnly)).code).toBe(2);
    const file = join(environment.HOME!, 'rows.csv');
    writeFileSync(file, 'question,answer\nWhy?,Because.\n');
    expect(await run(['import', file, '--dry-run'], readOnly)).toMatchObject({ code: 0 });
  });

  it('is reported as JSON with --json', async () => {
    const environment = emptyHome(temporaryFolder());
    expect(JSON.parse((await run(['service', 'list', '--jsn', '--json'], environment)).stderr)).toEqual({
      code: 'usage',
      message: "unknown option '--jsn' (did you mean --json?)",
    });
    const failed = await run(['call', 'read_call', '{"call_id":"none"}', '--json'], environment);
    expect([failed.code, failed.stdout]).toEqual([1, '']);
    expect(JSON.parse(failed.stderr)).toMatchObject({ code: 'not_found' });
    const read = await run(['call', 'read_call', '{"call_id":"none"}'], environment);
    expect(read).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^heddle: [A-Z].*\n.*\(not_found/),
    });
  });
});
