import { describe, expect, it } from 'vitest';
import { connectClient } from '../../support/client.ts';
import { execute, withStore } from '../../support/embedded-service.ts';
import { emptyHome, run, temporaryFolder } from '../../support/heddle.ts';
import { onEnd } from '../../support/on-end.ts';
import { Cluster } from '../../support/postgres-cluster.ts';
import { callsAt, opNamed } from '../../support/recorded-calls.ts';
import { type ServiceProcess, startServiceProcess } from '../../support/service-process.ts';
import { hasWeaveSdk } from '../../support/weave-sdk.ts';
import { Recorder } from '../weave-sdk/recorder.ts';

const project = 'team/support';
const recordedOp = `weave:///${project}/op/recorded:${'a'.repeat(43)}`;

/** A primary with a synchronous standby, and the URL that lists both. */
async function startPair() {
  const primary = await Cluster.make();
  onEnd(() => primary.remove());
  const standby = await primary.makeSynchronousStandby();
  onEnd(() => standby.remove());
  return { primary, standby, url: listHosts(primary, standby), swapped: listHosts(standby, primary) };
}

function listHosts(first: Cluster, second: Cluster): string {
  return first.url.replace(/@([^/]*)/, `@$1,${new URL(second.url).host}`);
}

const serviceOn = (url: string): Promise<ServiceProcess> => startServiceProcess({ HEDDLE_DATABASE_URL: url });

/** Imports `count` calls into the queue `q`, and creates the accounts. */
async function fill(url: string, count: number, names: string[]) {
  return withStore(url, async (store) => {
    const lines = Array.from({ length: count }, (_, index) =>
      JSON.stringify({
        call_id: `call-${index}`,
        call_op_name: 'answer',
        call_trace_id: `trace-${index}`,
        call_started_at: '2026-01-01T00:00:00Z',
        call: { inputs: { question: `${index}?` } },
      }),
    );
    await store.importItems(lines, { projectId: project, queueId: 'q', onProgress: () => {} });
    const accounts = [];
    for (const name of names) accounts.push(await store.addUser(name, [project]));
    return accounts;
  });
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

const until = async (happened: () => boolean) => {
  while (!happened()) await new Promise((resolve) => setTimeout(resolve, 20));
};

/** A client that records one thing after another, from number 0, and repeats what is refused. */
interface Recording {
  record: (number: number) => Promise<Response>;
  acknowledged: number;
  refusals: { status: number; retryAfter: string | null; reason: string }[];
}

function post(url: string, password: string, body: object): Promise<Response> {
  const authorization = `Basic ${btoa(`api:${password}`)}`;
  return fetch(url, { method: 'POST', headers: { authorization }, body: JSON.stringify(body) });
}

function createNote(url: string, password: string, id: string): Promise<Response> {
  return post(`${url}/feedback/create`, password, {
    project_id: project,
    weave_ref: `weave:///${project}/call/call-0`,
    feedback_type: 'recorded',
    payload: { id },
    id,
  });
}

/** Sends, as npm weave does, the start of a program's call together with the end of the call before. */
function upsertCalls(url: string, password: string, program: string, number: number): Promise<Response> {
  const start = {
    project_id: project,
    id: `${program}-${number}`,
    op_name: recordedOp,
    trace_id: `${program}-trace-${number}`,
    started_at: '2026-01-01T00:00:00.000Z',
    attributes: {},
    inputs: { number },
  };
  const end = {
    project_id: project,
    id: `${program}-${number - 1}`,
    ended_at: '2026-01-01T00:00:01.000Z',
    output: number - 1,
    summary: {},
  };
  const ends = number === 0 ? [] : [{ mode: 'end', req: { end } }];
  return post(`${url}/call/upsert_batch`, password, { batch: [{ mode: 'start', req: { start } }, ...ends] });
}

describe('the loss of a primary with a synchronous standby', () => {
  it('makes calls fail until the standby is promoted, and neither loses nor duplicates a change', async () => {
    const { primary, standby, url, swapped } = await startPair();
    const itemCount = 400;
    const [ada, bob, recorder] = await fill(url, itemCount, ['ada', 'bob', 'recorder']);
    // One service finds the primary first, the other a server that accepts no changes.
    const services = [await serviceOn(url), await serviceOn(swapped)] as const;

    const connect = async ({ name, password }: { name: string; password: string }, { url }: ServiceProcess) =>
      connectClient(
        emptyHome(temporaryFolder(), {
          HEDDLE_BASE_URL: url,
          HEDDLE_PROJECT: project,
          HEDDLE_USERNAME: name,
          HEDDLE_PASSWORD: password,
          HEDDLE_MAX_RESULT_CHARS: '1000000',
        }),
      );
    const clients = [await connect(ada!, services[0]), await connect(bob!, services[1])];
    const { items } = await clients[0]!.call('query_queue_items', { queue_id: 'q', limit: itemCount, fields: ['id'] });
    const ids: string[] = items.map(({ id }: { id: string }) => id);

    let running = true;
    const judges = clients.map(({ call }) => ({
      call,
      acknowledged: new Map<string, number>(),
      codes: [] as string[],
    }));
    const judging = judges.map(async ({ call, acknowledged, codes }, judge) => {
      for (let index = 0; running && index < ids.length; ) {
        const judgements = { score: index + judge };
        const item = { item_id: ids[index]!, judgements, annotation_state: 'completed' };
        const { error, items: results } = await call('update_queue_items', { queue_id: 'q', items: [item] });
        const refusal = error ?? results?.[0]?.error;
        if (refusal) codes.push(refusal.code);
        else acknowledged.set(ids[index++]!, judgements.score);
      }
    });
    const { password } = recorder!;
    const recordingOf = (record: Recording['record']): Recording => ({ record, acknowledged: 0, refusals: [] });
    const notings = services.map(({ url }, index) =>
      recordingOf((number) => createNote(url, password, `${index}-${number}`)),
    );
    const programs = services.map(({ url }, index) =>
      recordingOf((number) => upsertCalls(url, password, `program-${index}`, number)),
    );
    const recordings = [...notings, ...programs];
    const recording = recordings.map(async (client) => {
      while (running) {
        const response = await client.record(client.acknowledged);
        const { reason } = (await response.json()) as { reason: string };
        const retryAfter = response.headers.get('retry-after');
        if (response.status === 200) client.acknowledged += 1;
        else client.refusals.push({ status: response.status, retryAfter, reason });
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    });
    const counts = () => [
      ...judges.map(({ acknowledged }) => acknowledged.size),
      ...recordings.map(({ acknowledged }) => acknowledged),
    ];
    const allGrowBy = async (count: number) => {
      const before = counts();
      await until(() => counts().every((now, index) => now >= before[index]! + count));
    };

    await allGrowBy(15);
    primary.killProcesses();
    await until(() => judges.every(({ codes }) => codes.length >= 2));
    await until(() => recordings.every(({ refusals }) => refusals.length >= 20));
    const read = await clients[0]!.call('query_queue_items', { queue_id: 'q', limit: 1 });
    expect(read.error).toMatchObject({ code: 'service_unavailable' });
    for (const { url } of services) expect((await fetch(`${url}/health`)).status).toBe(503);
    standby.promote();
    await allGrowBy(15);
    running = false;
    await Promise.all([...judging, ...recording]);

    for (const { codes } of judges) expect(new Set(codes)).toEqual(new Set(['service_unavailable']));
    const refusals = recordings.flatMap((recording) => recording.refusals);
    expect(new Set(refusals.map(({ status }) => status))).toEqual(new Set([503]));
    for (const { retryAfter, reason } of refusals) {
      if (retryAfter === null) expect(reason).toContain('it may or may not have been saved');
      else
        expect([retryAfter, reason]).toEqual([
          '1',
          expect.stringMatching(/^(No server of the database accepts changes|The database cannot be reached)/),
        ]);
    }
    expect(refusals.some(({ reason }) => reason === 'No server of the database accepts changes.')).toBe(true);

    // Every judgement reads back through the tool, and nothing is stored twice.
    const { items: judged } = await clients[1]!.call('query_queue_items', {
      queue_id: 'q',
      limit: itemCount,
      fields: ['id', 'judgements'],
      include_judgements: true,
    });
    const given = new Map<string, Record<string, { score: number }>>();
    for (const { id, judgements } of judged) given.set(id, judgements);
    for (const [judge, name] of ['ada', 'bob'].entries()) {
      for (const [id, score] of judges[judge]!.acknowledged)
        expect([id, given.get(id)?.[`${name} (test via heddle)`]?.score]).toEqual([id, score]);
    }
    const rows = await execute(standby.url, 'select id, wb_user_id, weave_ref, feedback_type from feedback');
    const notes = rows.filter(({ feedback_type }) => feedback_type === 'recorded').map(({ id }) => id as string);
    expect(new Set(notes).size).toBe(notes.length);
    for (const [index, { acknowledged }] of notings.entries())
      expect(upTo(acknowledged).filter((number) => !notes.includes(`${index}-${number}`))).toEqual([]);
    const calls = await callsAt({ url: services[0].url, password }, { filter: { op_names: [recordedOp] } });
    expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
    const outputs = new Map(calls.map(({ id, output }) => [id, output]));
    for (const [index, { acknowledged }] of programs.entries()) {
      const found = upTo(acknowledged).map((number) => outputs.get(`program-${index}-${number}`));
      // The end of the last call was not sent, or not acknowledged.
      expect(found.slice(0, -1)).toEqual(upTo(acknowledged - 1));
      expect(found.at(-1)).not.toBe(undefined);
    }
    expect(await execute(standby.url, 'select id from early_call_ends')).toEqual([]);
    const progress = await execute(
      standby.url,
      "select annotator_user_id as who, item_id as id from annotator_progress where annotation_state = 'completed'",
    );
    const completed = new Set(progress.map(({ who, id }) => `${who} ${id}`));
    expect(completed.size).toBe(progress.length);
    for (const [judge, name] of ['ada', 'bob'].entries()) {
      expect([...judges[judge]!.acknowledged.keys()].filter((id) => !completed.has(`${name} ${id}`))).toEqual([]);
    }
    const judgements = rows.filter(({ feedback_type }) => feedback_type !== 'recorded');
    const distinct = new Set(judgements.map(({ wb_user_id, weave_ref }) => `${wb_user_id} ${weave_ref}`));
    expect(distinct.size).toBe(judgements.length);
    for (const { child, url, stderr } of services) {
      expect([child.exitCode, (await fetch(`${url}/health`)).status]).toEqual([null, 200]);
      expect(stderr()).not.toContain(new URL(primary.url).password);
    }
    console.log(
      `failover: ${judges.map(({ acknowledged }) => acknowledged.size).join(' + ')} judgements, ` +
        `${notings.map(({ acknowledged }) => acknowledged).join(' + ')} notes and ` +
        `${programs.map(({ acknowledged }) => acknowledged).join(' + ')} batches acknowledged, ` +
        `${judges.flatMap(({ codes }) => codes).length} tool calls and ${refusals.length} requests refused; 0 lost, 0 doubled`,
    );
  });

  it.skipIf(!hasWeaveSdk)('does not stop npm weave from recording each of its calls once', async () => {
    const { primary, standby, swapped } = await startPair();
    const [ada] = await fill(swapped, 1, ['ada']);
    const { url } = await serviceOn(swapped);
    const at = { url, password: ada!.password };
    const recorder = new Recorder(url, at.password);
    await recorder.run('init', project);

    let running = true;
    let made = 0;
    const recording = (async () => {
      for (; running; made += 1) {
        expect(await recorder.run('nested', made)).toBe(2 * (made + 1));
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    })();
    const recordedCount = async () => (await callsAt(at, { filter: opNamed('outer'), columns: ['id'] })).length;
    await expect.poll(recordedCount).toBeGreaterThan(30);
    primary.killProcesses();
    const madeBefore = made;
    await until(() => recorder.printed.includes('Return code: 503. Retrying'));
    standby.promote();
    // The SDK waits longer before each retry, up to 16 s.
    await expect.poll(recordedCount).toBeGreaterThan(madeBefore);
    running = false;
    await recording;
    await recorder.run('flush');

    const outer = await callsAt(at, { filter: opNamed('outer') });
    const inner = await callsAt(at, { filter: opNamed('add') });
    const byNumber = (a: number, b: number) => a - b;
    expect(outer.map(({ inputs }) => inputs.arg0).sort(byNumber)).toEqual(upTo(made));
    for (const { inputs, output, ended_at } of outer)
      expect([output, ended_at]).toEqual([2 * (inputs.arg0 + 1), expect.any(String)]);
    expect(inner.map(({ output }) => output - 1).sort(byNumber)).toEqual(upTo(made));
    expect(new Set(inner.map(({ parent_id }) => parent_id))).toEqual(new Set(outer.map(({ id }) => id)));
    expect(await execute(standby.url, 'select id from early_call_ends')).toEqual([]);
    console.log(`failover: npm weave recorded ${made} calls and ${made} calls within them; 0 lost, 0 doubled`);
  });

  it('acknowledges no change that only the primary has, not even when it is repeated', async () => {
    const { primary, standby, url } = await startPair();
    const [ada] = await fill(url, 1, ['ada']);
    const service = await serviceOn(url);
    const create = (id: string) => createNote(service.url, ada!.password, id);
    expect((await create('before')).status).toBe(200);
    standby.kill();
    for (const attempt of ['first', 'repeated']) {
      const waiting = create('during');
      // An administrator ends the wait, and PostgreSQL then calls the change saved.
      const end = "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'";
      await expect.poll(() => execute(primary.url, end)).toEqual([{ pg_cancel_backend: true }]);
      const answer = await waiting;
      expect([attempt, answer.status, answer.headers.get('retry-after'), await answer.json()]).toEqual([
        attempt,
        503,
        null,
        { reason: 'The standby did not confirm a change; it may or may not have been saved.' },
      ]);
    }
    standby.start();
    expect((await create('during')).status).toBe(200);
    primary.killProcesses();
    standby.promote();
    await expect.poll(async () => (await create('after')).status).toBe(200);
    expect(await execute(standby.url, 'select id from feedback order by created_at')).toEqual([
      { id: 'before' },
      { id: 'during' },
      { id: 'after' },
    ]);
  });

  it('moves the service away from a server that refuses changes although its connections still work', async () => {
    const { primary, standby, url } = await startPair();
    const [ada] = await fill(url, 1, ['ada']);
    const service = await serviceOn(url);
    expect((await createNote(service.url, ada!.password, 'before')).status).toBe(200);
    await execute(primary.url, 'alter system set default_transaction_read_only = on');
    await execute(primary.url, 'select pg_reload_conf()');
    standby.promote();
    await expect.poll(async () => (await createNote(service.url, ada!.password, 'after')).status).toBe(200);
    expect(await execute(standby.url, 'select id from feedback order by created_at')).toEqual([
      { id: 'before' },
      { id: 'after' },
    ]);
  });

  it('lets commands and doctor find the server that accepts changes', async () => {
    const { swapped, standby } = await startPair();
    const environment = emptyHome(temporaryFolder(), { HEDDLE_DATABASE_URL: swapped });
    expect(await run(['service', 'add-user', 'ada', '--all-projects'], environment)).toMatchObject({ code: 0 });
    expect((await run(['service', 'list-users', '--table'], environment)).stdout).toBe('ada: all projects\n');
    expect((await run(['doctor'], environment)).stdout).toContain('PostgreSQL is reachable');
    const onlyStandby = { ...environment, HEDDLE_DATABASE_URL: `${standby.url}?target_session_attrs=read-write` };
    const refused = await run(['service', 'list-users'], onlyStandby);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain('No server of the database accepts changes.');
    expect(refused.stderr).not.toContain(new URL(standby.url).password);
    const asReplica = { ...environment, HEDDLE_DATABASE_URL: `${swapped}?target_session_attrs=standby` };
    const wrong = await run(['service', 'list-users'], asReplica);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('target_session_attrs')]);
  });
});
