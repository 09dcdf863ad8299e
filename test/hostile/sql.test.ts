import { DefaultQueryCompiler } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { account, startTestService, temporaryFile, withStore } from '../support/embedded-service.ts';

/** Every statement compiled from here on. */
const statements: string[] = [];
const { compileQuery } = DefaultQueryCompiler.prototype;
DefaultQueryCompiler.prototype.compileQuery = function (...given) {
  const compiled = Reflect.apply(compileQuery, this, given);
  statements.push(compiled.sql);
  return compiled;
};
afterAll(() => {
  DefaultQueryCompiler.prototype.compileQuery = compileQuery;
});

const marker = 'zq7';
const text = `${marker}'); drop table objects; --"\`?1:a@b$c%_`;

describe('SQL of the embedded service', () => {
  it('carries text from a client only as parameters', async () => {
    const dataFile = temporaryFile('heddle.db');
    const service = await startTestService({ data: dataFile });
    const project_id = `${marker}'a/${marker}"b`;
    const item = { call_id: text, call_op_name: text, call_trace_id: text, call_started_at: '2026-01-01T00:00:00Z' };
    await withStore(dataFile, async (store) => {
      await store.importItems(
        [JSON.stringify({ ...item, display_fields: [text], added_by: text, call: { inputs: text } })],
        {
          projectId: project_id,
          queueId: `${marker}'q`,
        },
      );
      await store.list(project_id);
    });
    const basic = `Basic ${Buffer.from(`${account.name}:${account.password}`).toString('base64')}`;
    const wrong = `Basic ${Buffer.from(`${text}:${text}`).toString('base64')}`;
    const send = (method: string, path: string, body?: unknown, authorization = basic) =>
      service.send(method, path, authorization, body);
    const queue = encodeURIComponent(`${marker}'q`);
    const [entity, project] = project_id.split('/').map(encodeURIComponent);

    const found = await send('POST', `/annotation_queues/${queue}/items/query`, {
      project_id,
      filter: { call_id: text, call_op_name: text, call_trace_id: text, added_by: text },
      sort_by: [{ field: 'call_op_name', direction: 'desc' }],
      include_position: true,
      limit: 5,
      offset: 0,
    });
    expect(found.body.items).toMatchObject([{ call_id: text, display_fields: [text], position_in_queue: 1 }]);
    const [{ id }] = found.body.items;
    const answers = await Promise.all([
      send('POST', '/annotation_queues/query', { project_id, name: text }),
      send('POST', '/annotation_queues/stats', { project_id, queue_ids: [text, `${marker}'q`] }),
      send('POST', '/annotation_queues', { project_id, name: text, description: text, scorer_refs: [text] }),
      send('GET', `/annotation_queues/${queue}?project_id=${encodeURIComponent(project_id)}`),
      send('POST', `/annotation_queues/${queue}/items`, { project_id, call_ids: [text], display_fields: [text] }),
      send('POST', `/annotation_queues/${queue}/items/${id}/progress`, { project_id, annotation_state: 'completed' }),
      send('POST', '/call/read', { project_id, id: text }),
      send('POST', '/feedback/create', { project_id, weave_ref: text, feedback_type: text, payload: { [text]: text } }),
      send('POST', `/v2/${entity}/${project}/evaluations`, {
        name: marker,
        dataset: `x://${marker}'`,
        description: text,
      }),
      send('GET', `/v2/${entity}/${project}/evaluations?limit=5`),
      send('GET', `/v2/${entity}/${project}/datasets`),
      send('PUT', `/annotation_queues/${queue}`, { project_id, name: text, description: text, scorer_refs: [text] }),
      send('DELETE', `/annotation_queues/${marker}?project_id=${encodeURIComponent(project_id)}`),
      send('POST', '/calls/stream_query', {
        project_id,
        filter: { call_ids: [text], op_names: [text], trace_ids: [text], parent_ids: [text], wb_user_ids: [text] },
        query: { $expr: { $eq: [{ $getField: text }, { $literal: text }] } },
        sort_by: [{ field: text, direction: 'asc' }],
        columns: [text],
        expand_columns: [text, 'inputs'],
      }),
      send('POST', '/calls/stream_query', {
        project_id,
        filter: { call_ids: [text], op_names: [text], trace_ids: [text] },
        sort_by: [{ field: 'op_name', direction: 'asc' }],
      }),
      send('POST', '/calls/query_stats', { project_id, filter: { op_names: [`${text}:*`] } }),
      send('POST', '/feedback/batch/create', {
        batch: [{ project_id, weave_ref: text, feedback_type: text, payload: {}, id: text, creator: text }],
      }),
      send('POST', '/obj/create', {
        obj: { project_id, object_id: marker, val: { _class_name: text, _bases: [text, 'Object'], text } },
      }),
      send('POST', '/obj/read', { project_id, object_id: text, digest: text }),
      send('POST', '/objs/query', {
        project_id,
        filter: { object_ids: [text], base_object_classes: [text], leaf_object_classes: [text], latest_only: true },
        sort_by: [{ field: text, direction: 'asc' }],
      }),
      send('POST', '/refs/read_batch', { refs: [`weave:///${marker}/${marker}/object/${marker}:${marker}'`] }),
      send('POST', '/call/read', { project_id, id: text }, wrong),
    ]);
    expect(answers.map(({ status }) => status).filter((status) => status >= 500)).toEqual([]);
    expect(answers.at(-1)!.status).toBe(401);
    expect(statements.length).toBeGreaterThan(20);
    expect(statements.filter((sql) => sql.includes(marker))).toEqual([]);
  });

  it.each(['a\0b', 'a\ud800'])('refuses text that SQLite would alter: %j', async (call_id) => {
    const dataFile = temporaryFile('heddle.db');
    const service = await startTestService({ data: dataFile });
    const item = { call_op_name: 'op', call_trace_id: 't', call_started_at: '2026-01-01T00:00:00Z' };
    await withStore(dataFile, async (store) => {
      const load = (id: string) =>
        store.importItems([JSON.stringify({ ...item, call_id: id })], { projectId: 'p/q', queueId: 'w' });
      await load('a');
      await expect(load(call_id)).rejects.toMatchObject({ code: 'invalid_arguments', status: 400 });
    });
    expect(await service.query('w', { project_id: 'p/q', filter: { call_id } })).toMatchObject({ status: 400 });
    expect((await service.query('w', { project_id: 'p/q' })).body.items).toHaveLength(1);
    // Inside a definition, which is kept as JSON, it is no problem.
    const made = await service.evaluate('p/q', { name: 'e', dataset: 'x://d', description: call_id });
    expect(made.status).toBe(200);
  });
});
