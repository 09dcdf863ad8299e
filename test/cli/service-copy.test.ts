import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { basic, startTestService, storedIn, type TestService, withStore } from '../support/embedded-service.ts';
import { fillProject, senderTo } from '../support/filled-project.ts';
import { run, temporaryFolder } from '../support/heddle.ts';
import { type Account, setUpProfiles } from '../support/profiles.ts';
import { publicProject, startPublicTarget } from '../support/public-target.ts';
import { readWholeProject, type WholeProject } from '../support/whole-project.ts';

const project = 'team/support';
const source = await startTestService();
const basicOf = ({ username, password }: Pick<Account, 'username' | 'password'>) =>
  `Basic ${btoa(`${username}:${password}`)}`;

/** Creates an account that may see all projects. */
async function addAccount({ running, data }: TestService, username: string): Promise<Account> {
  const { password, token } = await withStore(data, (store) => store.addUser(username, 'all'));
  return { baseUrl: running.url, project, username, password, token };
}

const ada = basicOf(await addAccount(source, 'ada'));
const bob = basicOf(await addAccount(source, 'bob'));
await fillProject({ service: source, ada, bob }, project, 100);
const whole = await readWholeProject(senderTo(source.running.url, ada), project);

/** Returns a function that copies from the source to the service of the profile `cloud`, and returns what is printed. */
function copierTo(profiles: Record<string, Account>, data = source.data) {
  const { environment } = setUpProfiles(profiles, {});
  return async (...args: string[]) => {
    // A service of the environment must not take the place of that of the profile.
    const settings = { ...environment, ...storedIn(data), HEDDLE_BASE_URL: 'http://127.0.0.1:9' };
    const finished = await run(['service', 'copy', '--to', 'cloud', ...args], settings);
    const [copied] = finished.stdout.startsWith('[') ? JSON.parse(finished.stdout) : [];
    return { ...finished, copied };
  };
}

async function startTarget() {
  const target = await startTestService();
  const mia = await addAccount(target, 'mia');
  return { target, mia, copy: copierTo({ cloud: mia }), send: senderTo(target.running.url, basicOf(mia)) };
}

/** Returns a project as its copy is to be, with the account mia, which says whose each judgement is. */
function copiedBy(user: string, { feedback, ...rest }: WholeProject): WholeProject {
  const authorOf = (entry: WholeProject['feedback'][number]) =>
    entry.creator === null ? entry.user : `${entry.user} (${entry.creator})`;
  return { ...rest, feedback: feedback.map((entry) => ({ ...entry, user, creator: authorOf(entry) })) };
}

const here = { files: 1, tables: 1, objects: 5, calls: 100, queues: 2, items: 60, feedback: 81, prices: 1 };
const countsOf = (counts: Record<string, object>, name: string) =>
  Object.fromEntries(Object.entries(counts).map(([kind, count]) => [kind, (count as Record<string, number>)[name]]));
const nothing = Object.fromEntries(Object.keys(here).map((kind) => [kind, 0]));

describe('heddle service copy to another heddle', () => {
  it('counts what would be copied with --dry-run, and writes nothing', async () => {
    const { copy, send } = await startTarget();
    const { code, copied } = await copy('--dry-run');
    expect([code, copied.project_id, copied.target_project_id]).toEqual([0, project, project]);
    expect(countsOf(copied.counts, 'here')).toEqual(here);
    expect(countsOf(copied.counts, 'there')).toEqual(nothing);
    expect(copied).not.toHaveProperty('check');
    expect(await send('GET', '/projects')).toEqual({ projects: [] });
  });

  it('copies all of a project, and nothing when it is repeated', async () => {
    const { copy, send } = await startTarget();
    const first = await copy();
    expect([first.code, first.copied.left, first.copied.changed, first.copied.new_ids]).toEqual([0, [], [], 0]);
    expect(countsOf(first.copied.counts, 'copied')).toEqual(here);
    expect(first.copied.check.faults).toEqual([]);
    expect(first.copied.check.compared).toMatchObject({ files: 1, tables: 1, objects: 5, calls: 100 });
    const read = await readWholeProject(send, project);
    expect(read).toEqual(copiedBy('mia', whole));

    const second = await copy();
    // The same bytes again are the same file.
    expect(countsOf(second.copied.counts, 'copied')).toEqual({ ...nothing, files: 1 });
    expect(await readWholeProject(send, project)).toEqual(read);
    const { results } = await send('POST', '/cost/query', { project_id: project });
    expect(results).toMatchObject([
      { llm_id: 'model-1', prompt_token_cost: 0.5, effective_date: '2026-01-01T00:00:00.000' },
    ]);
  });

  it('copies into a project of another name, in which references lead to the copies', async () => {
    const { copy, send } = await startTarget();
    const { code, copied } = await copy('--project', project, '--to-project', 'acme/wide');
    expect([code, copied.target_project_id, copied.check.faults]).toEqual([0, 'acme/wide', []]);
    expect(await readWholeProject(send, 'acme/wide')).toEqual(copiedBy('mia', whole));
    const [call] = await send('POST', '/calls/stream_query', {
      project_id: 'acme/wide',
      limit: 1,
      expand_columns: ['inputs.row'],
    });
    expect(call.inputs.row).toMatchObject({
      question: 'Why?',
      by: expect.stringMatching(/^weave:\/\/\/acme\/wide\/op\/answer:/),
    });
    expect((await copy('--project', project, '--to-project', 'acme/wide')).copied.counts.objects).toEqual({
      here: 5,
      there: 5,
      copied: 0,
    });
  });

  it('copies every number as it was recorded', async () => {
    const { target, mia } = await startTarget();
    const numbers = await startTestService();
    const authorization = basicOf(await addAccount(numbers, 'ada'));
    const [project_id, id] = ['team/numbers', '0191a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b'];
    const call = {
      project_id,
      id,
      trace_id: id,
      op_name: 'answer',
      started_at: '2026-01-01T00:00:00Z',
      attributes: {},
    };
    const inputs = '{"user":1234567890123456789,"score":1.0,"small":1e-07}';
    const start = JSON.stringify({ start: { ...call, inputs: {} } }).replace('"inputs":{}', `"inputs":${inputs}`);
    const headers = { 'content-type': 'application/json' };
    const recorded = { method: 'POST', headers: { ...headers, authorization }, body: start };
    expect((await fetch(`${numbers.running.url}/call/start`, recorded)).status).toBe(200);
    const { code, copied } = await copierTo({ cloud: mia }, numbers.data)();
    expect([code, copied.check.faults, copied.check.compared]).toEqual([0, [], expect.objectContaining({ calls: 1 })]);
    const read = {
      method: 'POST',
      headers: { ...headers, authorization: basicOf(mia) },
      body: JSON.stringify({ project_id, id }),
    };
    expect(await (await fetch(`${target.running.url}/call/read`, read)).text()).toContain(`"inputs":${inputs}`);
  });

  it('lets judgements and states be of the accounts that --as names', async () => {
    const { target, mia } = await startTarget();
    const accounts = { ada: await addAccount(target, 'ada-there'), bob: await addAccount(target, 'bob-there') };
    const copy = copierTo({ cloud: mia, ...accounts });
    const { code, copied } = await copy('--as', 'ada=ada', '--as', 'bob=bob');
    expect([code, copied.left]).toEqual([0, []]);
    const read = await readWholeProject(senderTo(target.running.url, basicOf(mia)), project);
    expect(read.feedback).toEqual(whole.feedback.map((entry) => ({ ...entry, user: `${entry.user}-there` })));
    expect(read.queues).toEqual(whole.queues);
  });
});

describe('heddle service copy to the public service', () => {
  const startPublic = async () => {
    const target = await startPublicTarget();
    const account = { baseUrl: target.url, project: publicProject, username: 'api', password: 'key', token: 'key' };
    const copy = copierTo({ cloud: account });
    const ids = join(temporaryFolder(), 'ids.jsonl');
    return {
      target,
      ids,
      copy: (...args: string[]) => copy('--project', project, '--to-project', publicProject, '--ids', ids, ...args),
      read: async () => {
        const lines = readFileSync(ids, 'utf8')
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line));
        const hereByThere = new Map<string, string>(lines.map(({ id, target_id }) => [target_id, id]));
        return readWholeProject(senderTo(target.url, 'Basic YXBpOmtleQ=='), publicProject, hereByThere);
      },
    };
  };
  /** Without what the service has of its own. */
  const own = ({ objects, queues, ...rest }: WholeProject) => ({
    ...rest,
    queues: queues.filter(({ name }) => name !== 'Q'),
    objects: objects.filter(({ object_id }) => !['score', 'rows', 'helpful'].includes(object_id)),
  });

  it('gives ids that are no UUIDs new ones, which follow from the old', async () => {
    const { target, copy, ids, read } = await startPublic();
    const { code, stderr, copied } = await copy();
    expect([code, stderr, copied.left]).toEqual([0, '', []]);
    expect(copied.changed).toEqual([
      {
        kind: 'calls',
        note: 'a new id, because the target takes only UUIDs',
        count: 34,
        first: ['call-0', 'call-12', 'call-15'],
      },
    ]);
    expect(statSync(ids).mode & 0o777).toBe(0o600);
    // As Python computes it: uuid.uuid5(uuid.NAMESPACE_URL, 'weave:///team/support/call/call-0')
    expect(readFileSync(ids, 'utf8')).toContain(
      '{"project_id":"team/support","id":"call-0","target_project_id":"team/project","target_id":"ab38fe36-42d4-5258-a497-cba6849c52d8"}\n',
    );
    expect(own(await read())).toEqual(own(copiedBy('user-key', whole)));
    expect(target.feedback).toHaveLength(81);
  });

  it('sends nothing again but files and rows, whose content identifies them', async () => {
    const { target, copy } = await startPublic();
    await copy();
    target.requests.length = 0;
    const { code, copied } = await copy();
    expect([code, copied.check.faults]).toEqual([0, []]);
    const writes = target.requests.filter(({ path }) =>
      /create$|complete$|start$|end$|items$|progress$|annotation_queues$/.test(path),
    );
    expect(writes.map(({ path }) => path)).toEqual(['/file/create', '/table/create']);
  });

  it.each([
    ['again', ['B', 'A'], ['B', 'A', 'B']],
    ['not again if somebody stored another', ['B', 'A', 'C'], ['B', 'A', 'C']],
  ])('stores the newest version here %s where an older one is the newest', async (_, there, sent) => {
    const versioned = await startTestService();
    const eve = basicOf(await addAccount(versioned, 'eve'));
    const store = (url: string, project_id: string, text: string) =>
      senderTo(url, eve)('POST', '/obj/create', { obj: { project_id, object_id: 'greeting', val: { text } } });
    for (const text of ['A', 'B']) await store(versioned.running.url, project, text);
    const target = await startPublicTarget();
    for (const text of there) await store(target.url, publicProject, text);
    const account = { baseUrl: target.url, project, username: 'api', password: 'key', token: 'key' };
    const copy = copierTo({ cloud: account }, versioned.data);
    expect(await copy('--to-project', publicProject)).toMatchObject({ code: 0 });
    expect(target.bodiesOf('/obj/create').map(({ obj }) => obj.val.text)).toEqual(sent);
  });

  it.each([4, 15, 45, 80])('goes on after the service was lost at request %i', async (place) => {
    const { target, copy, read } = await startPublic();
    let requests = 0;
    let isLost = true;
    target.onRequest = (request) => {
      requests += 1;
      if (!isLost || requests < place) return true;
      request.socket.destroy();
      return false;
    };
    const broken = await copy();
    expect([broken.code, broken.stdout]).toEqual([1, '']);
    expect(broken.stderr).toContain('Then run the same command again: it goes on where it stopped.');
    isLost = false;
    expect(await copy()).toMatchObject({ code: 0 });
    expect(own(await read())).toEqual(own(copiedBy('user-key', whole)));
    expect([...target.recorded.values()].every((times) => times === 1)).toBe(true);
  });

  it('lists what the service refuses, and copies the rest', async () => {
    const { target, copy } = await startPublic();
    target.refusalOf = (path, body) => {
      if (
        path.endsWith('/calls/complete') &&
        body.batch.some(({ attributes }: { attributes: { n: number } }) => attributes.n === 17)
      )
        return 'number 17 is not taken';
      return path === '/feedback/batch/create' &&
        body.batch.some(({ feedback_type }: { feedback_type: string }) => feedback_type === 'wandb.note.1')
        ? 'no notes'
        : undefined;
    };
    const { code, copied } = await copy();
    expect([code, copied.check.faults]).toEqual([0, []]);
    expect(copied.left).toMatchObject([
      { kind: 'calls', count: 1, note: expect.stringContaining('number 17 is not taken') },
      { kind: 'items', count: 1, note: 'the call of the item is not there' },
      { kind: 'feedback', count: 1, note: expect.stringContaining('wandb.note.1: The service refused the request') },
    ]);
    expect([target.calls.length, target.feedback.length]).toEqual([99, 80]);
  });
});

describe('heddle service copy', () => {
  it('copies imported calls as far as the interface has a place for them, and says what is different', async () => {
    const imported = await startTestService();
    const line = { call_op_name: 'op', call_trace_id: 't', call_started_at: '2026-01-01T00:00:00Z' };
    const lines = [
      {
        ...line,
        call_id: 'a',
        call: { inputs: 'a text', output: 'fine', colour: 'red' },
        annotation_state: 'completed',
      },
      { ...line, call_id: 'b', call_ended_at: '2026-01-01T00:00:01Z', call: { inputs: { q: 1 }, output: { a: 1 } } },
    ];
    await withStore(imported.data, (store) =>
      store.importItems(
        lines.map((text) => JSON.stringify(text)),
        { projectId: project, queueId: 'review' },
      ),
    );
    await imported.send('PUT', '/annotation_queues/review', basic, { project_id: project, assignees: ['ada'] });
    const { mia, send } = await startTarget();
    const { code, copied } = await copierTo({ cloud: mia }, imported.data)();
    expect([code, copied.left, copied.check.faults]).toEqual([0, [], []]);
    expect(copied.changed).toEqual([
      { kind: 'calls', note: 'members that are not in the interface are left out', count: 1, first: ['a'] },
      { kind: 'calls', note: 'inputs that are no object are stored as {"value": …}', count: 1, first: ['a'] },
      { kind: 'calls', note: 'an output but no time of its end: it ends when it started', count: 1, first: ['a'] },
      {
        kind: 'queues',
        note: 'without their assignees, not all of whom have an account there',
        count: 1,
        first: ['review'],
      },
    ]);
    const { calls, queues } = await readWholeProject(send, project);
    expect(calls).toMatchObject([
      { id: 'a', inputs: { value: 'a text' }, output: 'fine' },
      { id: 'b', inputs: { q: 1 }, output: { a: 1 } },
    ]);
    expect(queues).toMatchObject([
      {
        name: 'review',
        items: [
          ['a', 'completed', []],
          ['b', 'unstarted', []],
        ],
      },
    ]);
  });

  it('adds what was recorded and judged since the last time', async () => {
    const growing = await startTestService();
    const eve = basicOf(await addAccount(growing, 'eve'));
    const add = senderTo(growing.running.url, eve);
    const start = {
      project_id: project,
      op_name: 'op',
      started_at: '2026-01-01T00:00:00Z',
      attributes: {},
      inputs: {},
    };
    for (const id of ['one', 'two']) await add('POST', '/call/start', { start: { ...start, id, trace_id: id } });
    const { id: queue } = await add('POST', '/annotation_queues', { project_id: project, name: 'q', scorer_refs: [] });
    await add('POST', `/annotation_queues/${queue}/items`, {
      project_id: project,
      call_ids: ['one'],
      display_fields: [],
    });
    const { mia, send } = await startTarget();
    const copy = copierTo({ cloud: mia }, growing.data);
    expect(await copy()).toMatchObject({ code: 0 });

    const end = { project_id: project, id: 'one', ended_at: '2026-01-01T00:00:02Z', output: 'late', summary: {} };
    await add('POST', '/call/end', { end });
    await add('POST', '/call/start', { start: { ...start, id: 'three', trace_id: 'three' } });
    await add('POST', `/annotation_queues/${queue}/items`, {
      project_id: project,
      call_ids: ['three'],
      display_fields: [],
    });
    const { items } = await add('POST', `/annotation_queues/${queue}/items/query`, { project_id: project });
    const path = `/annotation_queues/${queue}/items/${items[0].id}/progress`;
    await add('POST', path, { project_id: project, annotation_state: 'completed' });
    const { code, copied } = await copy();
    expect([code, copied.counts.calls, copied.counts.items]).toEqual([
      0,
      { here: 3, there: 1, copied: 2 },
      { here: 2, there: 1, copied: 1 },
    ]);
    const grown = await readWholeProject(add, project);
    expect(await readWholeProject(send, project)).toEqual(grown);
  });

  it('prints tables for people', async () => {
    const { copy } = await startTarget();
    expect((await copy('--table')).stdout).toBe(`team/support
kind      here  there before  copied  compared
files        1             0       1         1
tables       1             0       1         1
objects      5             0       5         5
calls      100             0     100       100
queues       2             0       2         0
items       60             0      60         0
feedback    81             0      81         0
prices       1             0       1         0
Checked: all of it is there, and what was compared is equal.
`);
  });

  it('says which project an account may not write to', async () => {
    const { target } = await startTarget();
    const { password, token } = await withStore(target.data, (store) => store.addUser('eve', ['acme/other']));
    const eve = { baseUrl: target.running.url, project, username: 'eve', password, token };
    const { code, stderr } = await copierTo({ cloud: eve })();
    expect(code).toBe(1);
    expect(stderr).toContain('refused access (Basic), status 403');
    expect(stderr).toContain('name another project with --to-project');
    expect(stderr).not.toContain(password);
  });

  it.each([
    [['--project', 'no/such'], 2, 'nothing is stored of no/such; there are: team/support'],
    [['--to-project', 'nonsense'], 2, 'It must have the shape entity/project.'],
    [['--as', 'ada'], 2, 'Write it as USER=PROFILE.'],
    [['--as', 'ada=nobody'], 2, 'There is no profile "nobody".'],
  ])('refuses %j', async (args, expected, message) => {
    const { copy } = await startTarget();
    const { code, stderr } = await copy(...args);
    expect([code, stderr]).toEqual([expected, expect.stringContaining(message)]);
  });
});
