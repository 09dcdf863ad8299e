import { expect, test } from 'vitest';
import { basic, startTestService, withStore } from './helpers.ts';

const service = await startTestService({ sample: true });

const read = (project_id: string, id: string) => service.send('POST', '/call/read', basic, { project_id, id });

async function record(id: string, call: object): Promise<void> {
  const line = { call_id: id, call_op_name: 'op', call_trace_id: 't', call_started_at: '2026-01-01T00:00:00Z', call };
  await withStore(service.data, (store) =>
    store.importItems([JSON.stringify(line)], { projectId: 'p/q', queueId: 'q' }),
  );
}

test('a call of the sample project has every field', async () => {
  const { status, body } = await read('demo/support', 'support-0001');
  expect([status, body]).toEqual([
    200,
    {
      call: {
        id: 'support-0001',
        project_id: 'demo/support',
        op_name: 'support.answer',
        display_name: null,
        trace_id: 'trace-support-0001',
        parent_id: null,
        started_at: '2026-01-12T09:00:00.000Z',
        ended_at: '2026-01-12T09:00:01.800Z',
        attributes: {},
        inputs: { question: 'Why was I charged twice in March?' },
        output: {
          answer: 'The second charge was a failed retry; it is refunded and will be back within five working days.',
        },
        summary: null,
        exception: null,
        wb_user_id: null,
      },
    },
  ]);
});

test('what else was recorded is there, but cannot pose as what the service knows', async () => {
  await record('rich', {
    display_name: 'Answer',
    parent_id: 'parent',
    attributes: { env: 'test' },
    inputs: [1],
    output: 'text',
    summary: { usage: {} },
    exception: { type: 'ValueError' },
    wb_user_id: 'ada',
    thread: 7,
    id: 'other',
    project_id: 'p/other',
    op_name: 5,
  });
  expect((await read('p/q', 'rich')).body).toEqual({
    call: {
      id: 'rich',
      project_id: 'p/q',
      op_name: 'op',
      display_name: 'Answer',
      trace_id: 't',
      parent_id: 'parent',
      started_at: '2026-01-01T00:00:00.000Z',
      ended_at: null,
      attributes: { env: 'test' },
      inputs: [1],
      output: 'text',
      summary: { usage: {} },
      exception: '{"type":"ValueError"}',
      wb_user_id: 'ada',
      thread: 7,
    },
  });
});

test('a call that the project does not have is null', async () => {
  await record('mine', {});
  for (const [project, id] of [
    ['p/q', 'nothing'],
    ['p/other', 'mine'],
    ['p/q', "mine' or '1'='1"],
  ] as const) {
    expect(await read(project, id)).toMatchObject({ status: 200, body: { call: null } });
  }
});

test('calls that are read at once are told apart, and so are those who ask', async () => {
  const ada = await withStore(service.data, async (store) => {
    const line = {
      call_id: 'support-0001',
      call_op_name: 'mine',
      call_trace_id: 't',
      call_started_at: '2026-01-01T00:00:00Z',
    };
    await store.importItems([JSON.stringify(line)], { projectId: 'p/q', queueId: 'q' });
    return store.addUser('ada');
  });
  const right = `Basic ${btoa(`ada:${ada.password}`)}`;
  const wrong = `Basic ${btoa(`ada:${ada.token}`)}`;
  const asked = Array.from({ length: 50 }, (_, index) => ({
    who: index % 5 === 4 ? wrong : right,
    project_id: index % 2 ? 'demo/support' : 'p/q',
    id: `support-${String((index % 12) + 1).padStart(4, '0')}`,
  }));
  const answers = await Promise.all(asked.map(({ who, ...body }) => service.send('POST', '/call/read', who, body)));
  asked.forEach(({ who, project_id, id }, index) => {
    const { status, body } = answers[index]!;
    if (who === wrong) expect([status, body]).toEqual([401, { reason: '401 Error' }]);
    else if (project_id === 'p/q' && id !== 'support-0001') expect([status, body]).toEqual([200, { call: null }]);
    else expect([status, body.call.project_id, body.call.id]).toEqual([200, project_id, id]);
  });
});
