import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { hashedAccount } from '../../../src/service/admin/accounts.ts';
import { loadSqlite, openConnection } from '../../../src/service/storage/sqlite/connection.ts';
import {
  basic,
  execute,
  onPostgres,
  startTestService,
  temporaryData,
  withStore,
} from '../../support/embedded-service.ts';
import { schema1 } from '../../support/schema-1.ts';
import { schema2 } from '../../support/schema-2.ts';
import { schema3 } from '../../support/schema-3.ts';
import { schema5 } from '../../support/schema-5.ts';
import { schema7 } from '../../support/schema-7.ts';
import { schema8 } from '../../support/schema-8.ts';

/** Returns the definitions of the tables, sorted and with normalised white space. */
async function schemaOf(data: string): Promise<string[]> {
  const rows = await execute(data, onPostgres ? postgresSchema : 'select sql from sqlite_master where sql is not null');
  return rows.map(({ sql }) => String(sql).replaceAll(/\s+/g, ' ').replaceAll('( ', '(')).sort();
}

const postgresSchema = `
  select concat_ws(' ', table_name, column_name, data_type, collation_name, is_nullable) as sql
    from information_schema.columns where table_schema = current_schema()
  union all select indexdef from pg_indexes where schemaname = current_schema()
  union all select conrelid::regclass || ' ' || pg_get_constraintdef(oid) from pg_constraint
    where connamespace = current_schema()::regnamespace`;

async function expectCurrentSchema(data: string): Promise<void> {
  const fresh = await temporaryData();
  await withStore(fresh, async () => {});
  expect(await schemaOf(data)).toEqual(await schemaOf(fresh));
  expect(await execute(data, 'select version from schema_version')).toMatchObject([{ version: 9 }]);
}

const forPostgres = (schema: string): string =>
  schema.replaceAll('" text', '" text collate "C"').replaceAll('" blob', '" bytea');

/** Creates a database with these tables and rows. */
async function databaseOf(schema: string, rows: string): Promise<string> {
  const data = await temporaryData();
  if (onPostgres) {
    await execute(data, forPostgres(schema) + rows);
    return data;
  }
  mkdirSync(dirname(data));
  const connection = openConnection(await loadSqlite(), data);
  connection.exec(`pragma journal_mode = wal; ${schema} ${rows}`);
  connection.close();
  return data;
}

const rows1 = `
  insert into queues values ('p/q', 'old', 'old', null, '[]', '2026-01-01T00:00:00.000Z', 'x', '2026-01-01T00:00:00.000Z', null);
  insert into calls values ('p/q', 'c', 'op', 't', '2026-01-01T00:00:00.000Z', null, '{"inputs":{"x":1}}');
  insert into queue_items values ('item', 'p/q', 'old', 'c', '2026-01-01T00:00:00.000Z', null, 'op', 't', '[]', 'completed',
    null, null, '2026-01-01T00:00:00.000Z', 'x', '2026-01-01T00:00:00.000Z', null);`;

/** The digests that schema version 2 stored; they must not change, or every definition would get a new version. */
const digests = {
  greet: 'QFJgPco6xCLtVCXAsOd3v5JpHfUdkROjhTBwXCwfXuE',
  judge: '8RG9IMliaHr1GA53Xjc5XXDeDZxddi5NdZHUpVELDso',
  old_eval: 'o00bRWQ9s82VokdyrYsj4bO3kX0VUszaf92oh0Xsbnc',
  rows: 'iobbb3WE2kEdJM2ZQArYIuM2FzgUIcW1HWh1a9h2lk8',
};

const rows2 = `
  insert into queues values
    ('p/q', 'old', 'old', null, '[]', '2026-01-01T00:00:00.000Z', 'x', '2026-01-01T00:00:00.000Z', null),
    ('demo/support', 'support-triage', 'support-triage', null, '[]', '2026-01-01T00:00:00.000Z', 'sample',
      '2026-01-01T00:00:00.000Z', null);
  insert into calls values ('p/q', 'c', 'op', 't', '2026-01-01T00:00:00.000Z', null, '{"inputs":{"x":1}}');
  insert into queue_items values ('item', 'p/q', 'old', 'c', '2026-01-01T00:00:00.000Z', null, 'op', 't', '[]',
    'in_progress', null, 'tester', '2026-01-01T00:00:00.000Z', 'x', '2026-01-02T00:00:00.000Z', null);
  insert into annotator_progress values
    ('item', 'tester', 'in_progress', '2026-01-02T00:00:00.000Z', '2026-01-02T00:00:00.000Z');
  insert into feedback values ('p/q', 'kept', 'weave:///p/q/call/c', 'wandb.annotation.helpful', '{"value":true}', null,
    'old', '2026-01-02T00:00:00.000Z', 'tester');
  insert into objects values
    ('p/q', 'greet', '${digests.greet}', 0, 'prompt',
      '{"messages":[{"content":"You greet {name}.","role":"system"}]}', '2026-01-01T00:00:00.000Z', 'cli'),
    ('p/q', 'judge', '${digests.judge}', 0, 'scorer',
      '{"description":"Is it right?","name":"judge"}', '2026-01-01T00:00:00.000Z', 'cli'),
    ('p/q', 'old_eval', '${digests.old_eval}', 0, 'evaluation',
      '{"dataset":"weave:///p/q/object/rows:latest","description":null,"eval_attributes":{},"evaluation_name":null,"name":"Old Eval","scorers":["weave:///p/q/object/judge:latest"],"trials":1}',
      '2026-01-01T00:00:00.000Z', 'tester'),
    ('p/q', 'rows', '${digests.rows}', 0, 'dataset',
      '{"rows":[{"question":"Why?"}]}', '2026-01-01T00:00:00.000Z', 'cli');`;

async function openVersion2(options: { sample?: boolean } = {}) {
  const service = await startTestService({ data: await databaseOf(schema2, rows2), ...options });
  const post = async (path: string, body: object) => {
    const answer = await service.send('POST', path, basic, { project_id: 'p/q', ...body });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    return answer.body;
  };
  return { service, post };
}

describe('a database of schema version 1', () => {
  it('keeps its data and gets the current schema', async () => {
    const data = await databaseOf(schema1, rows1);
    const service = await startTestService({ data });
    expect((await service.send('GET', '/health', undefined)).body.schema_version).toBe(9);
    const post = (path: string, body: object) => service.send('POST', path, basic, { project_id: 'p/q', ...body });
    expect((await post('/call/read', { id: 'c' })).body.call).toMatchObject({ id: 'c', inputs: { x: 1 } });
    expect((await service.query('old', { project_id: 'p/q' })).body.items).toMatchObject([
      { id: 'item', call_id: 'c' },
    ]);
    const progress = '/annotation_queues/old/items/item/progress';
    expect((await post(progress, { annotation_state: 'in_progress' })).status).toBe(400);
    const feedback = { weave_ref: 'weave:///p/q/call/c', feedback_type: 'note', payload: {} };
    expect((await post('/feedback/create', feedback)).status).toBe(200);
    await expectCurrentSchema(data);
  });

  it('can be upgraded by several processes at once', async () => {
    const data = await databaseOf(schema1, rows1);
    const services = await Promise.all([1, 2, 3, 4].map(() => startTestService({ data })));
    for (const service of services)
      expect((await service.query('old', { project_id: 'p/q' })).body.items).toHaveLength(1);
    expect(await execute(data, 'select version from schema_version')).toMatchObject([{ version: 9 }]);
  });
});

const { service, post } = await openVersion2();

describe('a database of schema version 2', () => {
  it('gets the current schema', async () => {
    await expectCurrentSchema(service.data);
  });

  it('keeps the progress of annotators', async () => {
    expect((await post('/annotation_queues/stats', { queue_ids: ['old'] })).stats).toEqual([
      { queue_id: 'old', total_items: 1, completed_items: 0 },
    ]);
    const { item } = await post('/annotation_queues/old/items/item/progress', { annotation_state: 'completed' });
    expect(item).toMatchObject({ annotation_state: 'completed', updated_at: '2026-01-02T00:00:00.000Z' });
    const skipped = { project_id: 'p/q', annotation_state: 'skipped' };
    expect(await service.send('POST', '/annotation_queues/old/items/item/progress', basic, skipped)).toMatchObject({
      status: 400,
      body: { reason: 'Invalid state transition from completed to skipped' },
    });
  });

  it('keeps feedback, without references that it did not have', async () => {
    expect(await execute(service.data, 'select * from feedback')).toMatchObject([
      {
        id: 'kept',
        feedback_type: 'wandb.annotation.helpful',
        payload: '{"value":true}',
        queue_id: 'old',
        wb_user_id: 'tester',
        annotation_ref: null,
        runnable_ref: null,
        call_ref: null,
        trigger_ref: null,
        creator: null,
      },
    ]);
  });

  it('keeps the ids of feedback, of which each account has its own from then on', async () => {
    const feedback = { id: 'kept', weave_ref: 'weave:///p/q/call/c', feedback_type: 'mood', payload: {} };
    const body = { project_id: 'p/q', ...feedback };
    expect((await service.send('POST', '/feedback/create', basic, body)).status).toBe(409);
    const { password } = await withStore(service.data, (store) => store.addUser('ada', 'all'));
    const asAda = `Basic ${btoa(`ada:${password}`)}`;
    expect((await service.send('POST', '/feedback/create', asAda, body)).status).toBe(200);
    expect(await execute(service.data, "select wb_user_id from feedback where id = 'kept'")).toHaveLength(2);
  });

  it.each(['evaluations old_eval', 'datasets rows', 'scorers judge'])('lists its %s', async (listed) => {
    const [list, object_id = ''] = listed.split(' ');
    const { status, body } = await service.send('GET', `/v2/p/q/${list}`, basic);
    expect([status, JSON.parse(body)]).toMatchObject([200, { object_id, version_index: 0 }]);
  });

  it.each([
    ['Evaluation', 'Evaluation', 'old_eval'],
    ['Prompt', 'MessagesPrompt', 'greet'],
    ['Dataset', 'Dataset', 'rows'],
    ['Scorer', 'Scorer', 'judge'],
  ] as const)('gives its objects their classes: %s', async (base_object_class, leaf_object_class, object_id) => {
    const { objs } = await post('/objs/query', { filter: { base_object_classes: [base_object_class] } });
    const digest = digests[object_id];
    expect(objs).toMatchObject([
      { object_id, digest, version_index: 0, kind: 'object', base_object_class, leaf_object_class, is_latest: 1 },
    ]);
    const read = await post('/obj/read', { object_id, digest: 'latest' });
    expect(read.obj.val).toMatchObject({ _class_name: leaf_object_class });
  });

  it('still runs its prompt', async () => {
    const prompt = 'weave:///p/q/object/greet:latest';
    expect(await service.echoed({ prompt, template_vars: { name: 'Ada' } })).toEqual([
      { role: 'system', content: 'You greet Ada.' },
    ]);
  });

  it('finds version 0 when the same content is stored again', async () => {
    const evaluation = {
      name: 'Old Eval',
      dataset: 'weave:///p/q/object/rows:latest',
      scorers: ['weave:///p/q/object/judge:latest'],
    };
    expect((await service.evaluate('p/q', evaluation)).body).toMatchObject({
      object_id: 'old_eval',
      digest: digests.old_eval,
      version_index: 0,
    });
    await withStore(service.data, async (store) => {
      for (const [kind, name, value] of [
        ['dataset', 'rows', [{ question: 'Why?' }]],
        ['prompt', 'greet', [{ role: 'system', content: 'You greet {name}.' }]],
        ['scorer', 'judge', { name: 'judge', description: 'Is it right?' }],
      ] as const) {
        expect(await store.putObject(kind, 'p/q', name, value)).toMatchObject({
          digest: digests[name],
          version_index: 0,
        });
      }
    });
  });

  it('gives the sample queue its field, once', async () => {
    const { service, post } = await openVersion2({ sample: true });
    const readFields = async () => {
      const { body } = await service.send('GET', '/annotation_queues/support-triage?project_id=demo/support', basic);
      return body.queue.scorer_refs as string[];
    };
    const refs = await readFields();
    expect(refs).toEqual([expect.stringMatching(/^weave:\/\/\/demo\/support\/object\/helpful:[A-Za-z0-9]{43}$/)]);
    expect((await post('/refs/read_batch', { refs })).vals).toMatchObject([
      { name: 'helpful', field_schema: { type: 'boolean' } },
    ]);
    await startTestService({ data: service.data, sample: true });
    expect(await readFields()).toEqual(refs);
    const { objs } = await post('/objs/query', {
      project_id: 'demo/support',
      filter: { base_object_classes: ['AnnotationSpec'] },
    });
    expect(objs).toHaveLength(1);
  });

  it('leaves the sample queue as it is unless the sample project is asked for', async () => {
    const { body } = await service.send('GET', '/annotation_queues/support-triage?project_id=demo/support', basic);
    expect(body.queue.scorer_refs).toEqual([]);
  });
});

describe('a database of schema version 3', () => {
  it('lets its accounts see every project as before, and new ones only what they are granted', async () => {
    const elder = { name: 'elder', password: 'password of elder', token: 'token of elder' };
    const { password_hash, token_hash } = hashedAccount(elder);
    const created = '2026-01-01T00:00:00.000Z';
    const rows = `insert into accounts values ('elder', '${password_hash}', '${token_hash}', '${created}');`;
    const service = await startTestService({ data: await databaseOf(schema3, rows1 + rows) });
    await expectCurrentSchema(service.data);
    const younger = await withStore(service.data, async (store) => {
      const added = await store.addUser('younger');
      expect(await store.listUsers()).toMatchObject([
        { name: 'elder', projects: 'all' },
        { name: 'younger', projects: [] },
      ]);
      return added;
    });
    const readAs = async ({ password }: { password: string }) =>
      (await service.send('POST', '/call/read', `Basic ${btoa(`:${password}`)}`, { project_id: 'p/q', id: 'c' }))
        .status;
    expect([await readAs(elder), await readAs(younger)]).toEqual([200, 403]);
  });
});

describe('a database of schema version 5', () => {
  const call = (id: string, data: object): string =>
    `('p/q', '${id}', 'answer', 't-${id}', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:01.500Z', '${JSON.stringify(data)}')`;
  const rich = {
    id: 'ignored',
    display_name: 'Answer',
    parent_id: 'plain',
    thread_id: 'thread',
    exception: { type: 'ValueError' },
    wb_run_id: 12,
    attributes: { env: 'test' },
    inputs: [1.5, 'Grüße'],
    output: null,
    summary: { usage: { tokens: 3 } },
    deleted_at: 5,
    own_member: { a: 1 },
  };
  const many = Array.from({ length: 250 }, (_, index) =>
    call(`many-${String(index).padStart(3, '0')}`, { output: index }),
  );
  const rows = `insert into calls values ${[call('plain', { inputs: { x: 1 } }), call('rich', rich), ...many].join(',')};`;

  async function openVersion5() {
    const service = await startTestService({ data: await databaseOf(schema5, rows) });
    const post = async (path: string, body: object) =>
      (await service.send('POST', path, basic, { project_id: 'p/q', ...body })).body;
    return { service, post };
  }

  it('gets the current schema', async () => {
    await expectCurrentSchema((await openVersion5()).service.data);
  });

  it('keeps every member of its imported calls', async () => {
    const { post } = await openVersion5();
    expect(await post('/call/read', { id: 'rich' })).toEqual({
      call: {
        id: 'rich',
        project_id: 'p/q',
        op_name: 'answer',
        display_name: 'Answer',
        trace_id: 't-rich',
        parent_id: 'plain',
        thread_id: 'thread',
        started_at: '2026-01-01T00:00:00.000Z',
        ended_at: '2026-01-01T00:00:01.500Z',
        exception: '{"type":"ValueError"}',
        attributes: { env: 'test' },
        inputs: [1.5, 'Grüße'],
        output: null,
        summary: { usage: { tokens: 3 }, weave: { status: 'error', latency_ms: 1500, display_name: 'Answer' } },
        wb_user_id: null,
        wb_run_id: '12',
        deleted_at: '5',
        own_member: { a: 1 },
        storage_size_bytes: null,
        total_storage_size_bytes: null,
      },
    });
    expect(await post('/calls/query_stats', {})).toEqual({ count: 252 });
    expect((await post('/call/read', { id: 'many-249' })).call.output).toBe(249);
  });

  it('finds its imported calls by members that have a column now', async () => {
    const { post } = await openVersion5();
    const ids = async (filter: object): Promise<string[]> =>
      (await post('/calls/stream_query', { filter }))
        .split('\n')
        .slice(0, -1)
        .map((line: string) => JSON.parse(line).id);
    expect(await ids({ parent_ids: ['plain'] })).toEqual(['rich']);
    expect(await ids({ thread_ids: ['thread'] })).toEqual(['rich']);
    expect(await ids({ trace_roots_only: true, call_ids: ['plain', 'rich'] })).toEqual(['plain']);
  });
});

describe('a database of schema version 7', () => {
  const { password_hash, token_hash } = hashedAccount({
    name: 'ada',
    password: 'the-key-of-ada',
    token: 'the-token-of-ada',
  });
  const rows = `
    insert into accounts values ('ada', '${password_hash}', '${token_hash}', '2026-01-01T00:00:00.000Z');
    insert into project_grants values ('ada', '*');
    insert into calls values ('p/q', 'late', 'weave:///p/q/op/answer:v', 't', null, null, null,
      '2026-01-02T00:00:00.000Z', null, null, null, 'ada', null, 2, null, null, null, null, '{}');
    insert into calls values ('p/q', 'early', 'weave:///p/q/op/answer:v', 't', null, null, null,
      '2026-01-01T00:00:00.000Z', null, null, null, 'ada', null, 2, null, null, null, null, '{}');`;

  it('keeps its calls and accounts and gets the current schema', async () => {
    const data = await databaseOf(schema7, rows);
    const service = await startTestService({ data });
    const ada = `Basic ${Buffer.from('ada:the-key-of-ada').toString('base64')}`;
    const byName = { $contains: { input: { $getField: 'op_name' }, substr: { $literal: '/op/answer:' } } };
    const { body } = await service.send('POST', '/calls/stream_query', ada, {
      project_id: 'p/q',
      query: { $expr: byName },
    });
    const ids = (body as string)
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line).id);
    expect(ids).toEqual(['early', 'late']);
    await expectCurrentSchema(data);
  });
});

describe('a database of schema version 8', () => {
  const content = (val: object): string => JSON.stringify(val);
  const object = (name: string, leaf: string, val: object): string =>
    `insert into objects values ('p/q', '${name}', '${name}', 0, 'object', '${content(val)}', '2026-01-01T00:00:00.000Z',
      'ada', '${leaf}', '${leaf}');`;
  const rows = [
    object('rows', 'Dataset', { rows: [{ question: 'Why?' }] }),
    object('quality', 'Evaluation', { dataset: 'weave:///p/q/object/rows:rows', scorers: [], trials: 1 }),
    object('helper', 'LLMStructuredCompletionModel', { llm_model_id: 'heddle/echo', default_params: {} }),
    `insert into calls values ('p/q', 'kept', 'op', 't', null, null, null, '2026-01-02T00:00:00.000Z', null, null, null,
      'ada', null, 2, null, null, null, null, '{}');`,
  ];

  it('keeps its calls and objects, gets the current schema, and runs its evaluations', async () => {
    const service = await startTestService({ data: await databaseOf(schema8, rows.join('\n')) });
    const send = (path: string, body: object) => service.send('POST', path, basic, { project_id: 'p/q', ...body });
    expect((await send('/call/read', { id: 'kept' })).body.call).toMatchObject({ id: 'kept', wb_user_id: 'ada' });
    await expectCurrentSchema(service.data);
    const { status, body } = await send('/evaluations/evaluate_model', {
      evaluation_ref: 'weave:///p/q/object/quality:latest',
      model_ref: 'weave:///p/q/object/helper:latest',
    });
    expect(status, JSON.stringify(body)).toBe(200);
    const isComplete = async () => {
      const { body: answer } = await send('/evaluations/status', { call_id: body.call_id });
      expect(answer.status).toMatchObject({ code: 'complete' });
    };
    await vi.waitFor(isComplete, { timeout: 20_000, interval: 100 });
  });
});
