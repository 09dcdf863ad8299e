import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeData } from '../../src/core/database-url.ts';
import { execute, storedIn, temporaryData, temporaryFile } from '../support/embedded-service.ts';
import { emptyHome, type Finished, run as runCommand, startCommand } from '../support/heddle.ts';

const data = await temporaryData();
const folder = dirname(temporaryFile('x'));

// The tests do not use the settings of the person who runs them.
const environment = emptyHome(folder, storedIn(data));
const run = (args: string[], input?: string): Promise<Finished> => runCommand(['service', ...args], environment, input);

function file(name: string, content: string | Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const item = { call_id: 'c1', call_op_name: 'op', call_trace_id: 't', call_started_at: '2026-01-01T00:00:00Z' };
const target = ['--project', 'p/q', '--queue', 'work'];

describe('heddle service', () => {
  it('import adds the items of a file, and counts them as duplicates when stdin has them again', async () => {
    // JSON strings may contain U+2028, which must not end the line.
    const lines = `${JSON.stringify({ ...item, call: { a: 'b\u2028c' } })}\r\n\n${JSON.stringify({ ...item, call_id: 'c2' })}`;
    const path = file('items.jsonl', lines);
    expect(await run(['import', path, ...target])).toEqual({
      code: 0,
      stdout: '2 added, 0 duplicates\n',
      stderr:
        "The queue has no field to judge: the board asks for one, or import the file again with --field 'helpful:boolean'.\nJudge them in a browser: node dist/heddle.js board work --project p/q\nSave the judgements: node dist/heddle.js queue export work --project p/q --format csv --wide --values --out work-judgements.csv\nClients see it once p/q is their project: `node dist/heddle.js config set project p/q`, or for one client `node dist/heddle.js setup CLIENT --project p/q`.\n",
    });
    expect(await run(['import', '-', ...target], lines)).toMatchObject({ code: 0, stdout: '0 added, 2 duplicates\n' });
  });

  it('import names invalid lines and adds nothing', async () => {
    const lines = [item, { ...item, call_id: 7 }, { ...item, colour: 1 }]
      .map((line) => JSON.stringify(line))
      .join('\n');
    const { code, stdout, stderr } = await run(['import', '-', '--project', 'p/q', '--queue', 'bad'], lines);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain('2 invalid lines, nothing was loaded: line 2: call_id: ');
    expect(stderr).toContain('line 3: colour: Unknown member');
    expect((await run(['list'])).stdout).not.toContain('"bad"');
  });

  it('import rejects unreadable files and missing flags', async () => {
    expect(await run(['import', join(folder, 'nothing'), ...target])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('cannot be read: it does not exist.'),
    });
    expect(await run(['import', file('latin1', Buffer.from([0x7b, 0xe9, 0x7d])), ...target])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/was read as Windows-1252.*line 1: is not JSON/s),
    });
    expect(await run(['import', '-', '--queue', 'work'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no project'),
    });
    expect(await run(['import', '-', '--project', 'p/q'])).toMatchObject({ code: 2 });
  });

  it('put-prompt and put-dataset store versions that list shows', async () => {
    const prompt = file('prompt.json', '[{"role":"system","content":"Hi {name}"}]');
    const first = await run(['put-prompt', 'hello', prompt, '--project', 'p/q']);
    expect(first.stdout).toMatch(/^v0 weave:\/\/\/p\/q\/object\/hello:[A-Za-z0-9]{43}\n$/);
    const same = '{"messages":[{"content":"Hi {name}","role":"system"}]}';
    expect(await run(['put-prompt', 'hello', '-', '--project', 'p/q'], same)).toEqual(first);
    const rows = '{"a":1}\n{"a":2}\n';
    const dataset = await run(['put-dataset', 'rows', '-', '--project', 'p/q'], rows);
    expect(dataset.stdout).toMatch(/^v0 /);
    expect(await run(['put-dataset', 'rows', '-', '--project', 'p/q'], '[{"a":1},{"a":2}]')).toEqual(dataset);
    expect((await run(['put-dataset', 'Rows', '-', '--project', 'p/q'], '{"a":1}')).stdout).toMatch(/^v1 /);

    for (const [args, input] of [
      [['put-prompt', 'hello', '-'], '[{"content":"no role"}]'],
      [['put-prompt', 'hello', '-'], '{"messages":[]}'],
      [['put-prompt', 'two: words', '-'], same],
      [['put-dataset', 'rows', '-'], '[1]'],
      [['put-dataset', 'rows', '-'], '{"a":1}\nnonsense'],
    ] as const) {
      expect(await run([...args, '--project', 'p/q'], input), input).toMatchObject({ code: 1, stdout: '' });
    }
    const { stdout } = await run(['list', '--json']);
    expect(JSON.parse(stdout)).toMatchObject([
      {
        project_id: 'p/q',
        queues: [{ id: 'work', items: 2, states: { unstarted: 2 } }],
        objects: [
          { object_id: 'hello', kind: 'prompt', versions: [{ version_index: 0 }] },
          { object_id: 'rows', kind: 'dataset', versions: [{ version_index: 0 }, { version_index: 1 }] },
        ],
      },
    ]);
    expect((await run(['list'])).stdout).toBe(stdout);
  });

  it('list shows projects with recorded calls alone, and names the nearest of an unknown project', async () => {
    const lines = JSON.stringify({ ...item, call_id: 'alone' });
    await run(['import', '-', '--project', 'p/calls', '--queue', 'gone'], lines);
    const { code } = await runCommand(['queue', 'delete', 'gone', '--yes', '--project', 'p/calls'], environment);
    expect(code).toBe(0);
    const { stdout } = await run(['list', '--project', 'p/calls']);
    expect(JSON.parse(stdout)).toEqual([{ project_id: 'p/calls', queues: [], objects: [] }]);
    expect(await run(['list', '--project', 'p/cals'])).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('There is no project p/cals.\nThe nearest projects are p/calls'),
    });
  });

  it('end-sessions names an account that does not exist', async () => {
    expect(await run(['end-sessions', 'nobody'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('There is no account named "nobody".'),
    });
  });

  it('put-dataset takes the rows of CSV, whatever the name of its file', async () => {
    const rows = file('Answers.csv', 'question;answer\nWhere?;Here\n');
    const stored = await run(['put-dataset', 'rows', rows, '--project', 'p/q']);
    expect(stored.code).toBe(0);
    expect(await run(['put-dataset', 'rows', '-', '--project', 'p/q'], 'question;answer\nWhere?;Here\n')).toEqual(
      stored,
    );
    const other = file('answers.export', 'question;answer\nWhere?;Here\n');
    expect(await run(['put-dataset', 'rows', other, '--project', 'p/q'])).toEqual(stored);
    const read = ['call', 'read_object', '{"ref":"rows"}', '--project', 'p/q'];
    expect(JSON.parse((await runCommand(read, environment)).stdout).rows).toEqual([
      { question: 'Where?', answer: 'Here' },
    ]);
  });

  it('put-dataset names the first line that is not JSON', async () => {
    const { code, stderr } = await run(['put-dataset', 'bad', '-', '--project', 'p/q'], '{"a":1}\n\n{"a":2}\nnonsense');
    expect(code).toBe(1);
    expect(stderr).toContain('-, line 4: "nonsense" is no JSON object.');
  });

  it('grant, revoke and list-users change and show the projects of an account', async () => {
    const empty = await run(['list-users', '--table']);
    expect(empty).toEqual({ code: 0, stdout: '', stderr: `There are no accounts in ${describeData(data)}.\n` });
    expect((await run(['add-user', 'grace'])).stdout).toMatch(
      /\nprojects: {2}none yet: node dist\/heddle.js service grant grace ENTITY\/PROJECT\nstored in: .+\n$/,
    );
    expect((await run(['add-user', 'eve', '--all-projects'])).stdout).toMatch(
      /\nprojects: {2}all projects\nstored in: .+\n$/,
    );
    const stdout = (text: string) => ({ code: 0, stdout: text, stderr: '' });
    expect(await run(['grant', 'grace', 'team/support', 'p/q'])).toEqual(stdout('grace: p/q, team/support\n'));
    expect(await run(['revoke', 'grace', 'p/q', 'never/granted'])).toEqual(stdout('grace: team/support\n'));
    expect(await run(['list-users', '--table'])).toEqual(stdout('eve: all projects\ngrace: team/support\n'));
    expect(await run(['revoke', 'grace', 'team/support'])).toEqual(stdout('grace: no project\n'));
    const accounts = JSON.parse((await run(['list-users', '--json'])).stdout);
    expect(accounts).toMatchObject([
      { name: 'eve', projects: 'all' },
      { name: 'grace', projects: [] },
    ]);
  });

  it('add-user prints the key and the address as lines that a shell and Node can read', async () => {
    const added = await run(['add-user', 'lin', 'p/q', '--env']);
    expect(added).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        /^export WANDB_API_KEY=[\w-]{43}\nexport WF_TRACE_SERVER_URL=http:\/\/127\.0\.0\.1:8787\nexport WANDB_BASE_URL=http:\/\/127\.0\.0\.1:8787\n$/,
      ),
      stderr: `projects:  p/q\nstored in: ${describeData(data)}\n`,
    });
    const key = /KEY=(.*)/.exec(added.stdout)![1];
    const print = 'process.stdout.write([process.env.WANDB_API_KEY, process.env.WF_TRACE_SERVER_URL].join(" "))';
    const evaluated = execFileSync('sh', [
      '-c',
      'eval "$1"; "$2" -e "$3"',
      'sh',
      added.stdout,
      process.execPath,
      print,
    ]);
    expect(evaluated.toString()).toBe(`${key} http://127.0.0.1:8787`);
    const loaded = execFileSync(process.execPath, [`--env-file=${file('service.env', added.stdout)}`, '-e', print]);
    expect(loaded.toString()).toBe(`${key} http://127.0.0.1:8787`);

    expect(await run(['add-user', 'mo', '--env', '--url', 'https://heddle.example.com/trace/'])).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        /\nexport WF_TRACE_SERVER_URL=https:\/\/heddle\.example\.com\/trace\nexport WANDB_BASE_URL=https:\/\/heddle\.example\.com\/trace\n$/,
      ),
      stderr: `projects:  none yet: node dist/heddle.js service grant mo ENTITY/PROJECT\nstored in: ${describeData(data)}\n`,
    });
    for (const url of ['example.com', 'ftp://example.com', 'http://a:b@example.com', 'http://x/$(id)', "http://x/'"]) {
      expect(await run(['add-user', 'no', '--env', '--url', url])).toMatchObject({ code: 2, stdout: '' });
    }
    for (const name of ['lin', 'mo']) await execute(data, `delete from project_grants where account = '${name}'`);
    await execute(data, "delete from accounts where name in ('lin', 'mo')");
  });

  it.each([
    [2, ['grant', 'eve'], 'no project: name at least one, or pass --all-projects'],
    [2, ['grant', 'eve', 'p/q', '--all-projects'], 'name projects or pass --all-projects, not both'],
    [1, ['grant', 'nobody', 'p/q'], 'There is no account named "nobody".'],
    [1, ['grant', 'eve', 'p/q', 'support'], 'Nothing was granted: project: must have the shape entity/project'],
    [1, ['add-user', 'new', 'support'], 'No account was created: project: must have the shape entity/project'],
    [1, ['renew-user', 'nobody'], 'There is no account named "nobody".'],
    [1, ['revoke', 'eve', 'p/q'], 'Nothing was revoked: eve can see all projects'],
    [2, ['end-sessions'], 'name an account or pass --all'],
    [2, ['end-sessions', 'eve', '--all'], 'name an account or pass --all'],
  ] as const)('exits with code %d for %s, and changes nothing', async (code, args, message) => {
    expect(await run([...args])).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) });
    expect((await run(['list-users', '--table'])).stdout).toBe('eve: all projects\ngrace: no project\n');
  });

  it('invite refuses a project without content, and grant and add-user warn of one that may be misspelled', async () => {
    expect(await run(['invite', 'kim', 'p/cals'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^heddle: Nobody was invited: there is no project p\/cals\.\nThe nearest projects are p\/calls.*\. For a new project, fill a queue first: `.* import FILE --project p\/cals`\.\n$/,
      ),
    });
    expect((await run(['list-users', '--json'])).stdout).not.toContain('kim');
    const warning = 'heddle: nothing is stored in p/cals yet (did you mean p/calls?)\n';
    expect(await run(['add-user', 'kim', 'p/cals', 'p/calls', 'quite/new'])).toMatchObject({
      code: 0,
      stderr: warning,
    });
    expect(await run(['grant', 'kim', 'p/cals'])).toMatchObject({ code: 0, stderr: warning });
  });

  it('start serves until SIGTERM and accepts accounts that are added meanwhile', async () => {
    const service = startCommand(['service', 'start', '--port', '0'], environment);
    const [, url] = await service.reports(/^listening on (http:\/\/127\.0\.0\.1:\d+)$/m);
    const port = new URL(url!).port;
    expect(await run(['start', '--port', port])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('EADDRINUSE'),
    });
    const { stdout } = await run(['add-user', 'ada', 'p/q']);
    const [, password] =
      /^user name: ada\npassword: {2}([\w-]{43})\ntoken: {5}[\w-]{43}\nprojects: {2}p\/q\nstored in: .+\n$/.exec(
        stdout,
      )!;
    expect(await run(['add-user', 'ada'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('give it new secrets with `node dist/heddle.js service renew-user ada`'),
    });
    const query = (secret: string) =>
      fetch(`${url}/annotation_queues/work/items/query`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`ada:${secret}`)}` },
        body: '{"project_id":"p/q"}',
      });
    expect(((await (await query(password!)).json()) as { items: unknown[] }).items).toHaveLength(2);
    const renewed = await run(['renew-user', 'ada', '--env']);
    expect(renewed.stderr).toMatch(/^projects: {2}p\/q\nstored in: /);
    const [, key] = /^export WANDB_API_KEY=([\w-]{43})\n/.exec(renewed.stdout)!;
    expect([(await query(password!)).status, (await query(key!)).status]).toEqual([401, 200]);
    service.signal('SIGTERM');
    expect((await service.finished).code).toBe(0);
    expect(await run(['start', '--port', '70000'])).toMatchObject({ code: 2 });
  });
});
