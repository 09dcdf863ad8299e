import { DefaultQueryCompiler } from 'kysely';
import { describe, expect, it } from 'vitest';
import { account, startTestService, temporaryFile, withStore } from '../support/embedded-service.ts';

/** Every statement compiled from here on. */
const statements: string[] = [];
const { compileQuery } = DefaultQueryCompiler.prototype;
DefaultQueryCompiler.prototype.compileQuery = function (...given) {
  const compiled = Reflect.apply(compileQuery, this, given);
  statements.push(compiled.sql);
  return compiled;
};

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
      send('POST', '/call/read', { project_id, id: text }, wrong),
    ]);
    expect(answers.map(({ status }) => status).filter((status) => status >= 500)).toEqual([]);
    expect(answers.at(-1)!.status).toBe(401);
    expect(statements.length).toBeGreaterThan(20);
    expect(statements.filter((sql) => sql.includes(marker))).toEqual([]);
  });

  it.each(['a\0b', 'a\ud800'])('refuses text that SQLite would return changed: %j', async (call_id) => {
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
