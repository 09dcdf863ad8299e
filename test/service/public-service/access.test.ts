import { describe, expect, it } from 'vitest';
import { bodyOf, projectId, startServiceWithCalls } from '../../support/service-with-calls.ts';

const service = await startServiceWithCalls();
const { ada, bob } = service.passwords;

/** Creates a queue with these credentials and returns the account that the queue names as its creator. */
async function creator(credentials: string): Promise<string> {
  const body = { project_id: projectId, name: 'Whose', description: '', scorer_refs: [] };
  const { id } = bodyOf(await service.send('POST', '/annotation_queues', body, credentials));
  const path = `/annotation_queues/${id}?project_id=${projectId}`;
  return bodyOf(await service.send('GET', path, undefined, credentials)).queue.created_by;
}

describe('credentials', () => {
  it('refuses a request without credentials with status 401', async () => {
    const noCredentials = '';
    expect(await service.post('/annotation_queues/query', {}, noCredentials)).toMatchObject({ status: 401 });
  });

  it.each([
    ['api', 'ada', `api:${ada}`],
    ['api', 'bob', `api:${bob}`],
    ['', 'ada', `:${ada}`],
    ['', 'bob', `:${bob}`],
    ['somebody', 'ada', `somebody:${ada}`],
    ['bob', 'ada', `bob:${ada}`],
  ])(
    'recognizes the account by its password alone: user name "%s", password of %s',
    async (_, account, credentials) => {
      expect(await creator(credentials)).toBe(account);
    },
  );

  it('refuses an unknown password, whatever the user name', async () => {
    for (const name of ['ada', 'api', '']) {
      const answer = await service.post('/annotation_queues/query', {}, `${name}:wrong`);
      expect(answer).toMatchObject({ status: 401 });
    }
  });
});

describe('GET /server_info', () => {
  it('responds with JSON', async () => {
    expect(bodyOf(await service.send('GET', '/server_info'))).toEqual(expect.any(Object));
  });
});

describe('unknown members of a body', () => {
  const feedback = {
    weave_ref: 'weave:///acme/support/call/call-0',
    feedback_type: 'custom',
    payload: { fine: true },
  };
  const unknown = { wb_user_id: 'bob', unheard_of: { by: 'anybody' } };

  it.each([
    ['POST', '/annotation_queues', { name: 'Unknown members', description: '', scorer_refs: [] }],
    ['PUT', '/annotation_queues/{queue}', { name: 'Renamed' }],
    ['POST', '/annotation_queues/query', {}],
    ['POST', '/annotation_queues/stats', { queue_ids: [] }],
    ['POST', '/annotation_queues/{queue}/items', { call_ids: ['call-1'], display_fields: [] }],
    ['POST', '/annotation_queues/{queue}/items/query', {}],
    ['POST', '/annotation_queues/{queue}/items/{item}/progress', { annotation_state: 'skipped' }],
    ['POST', '/call/read', { id: 'call-0' }],
    ['POST', '/calls/stream_query', {}],
    ['POST', '/calls/query_stats', {}],
    ['POST', '/feedback/create', feedback],
    ['POST', '/feedback/batch/create', { batch: [{ project_id: projectId, ...feedback, ...unknown }] }],
    ['POST', '/obj/create', { obj: { project_id: projectId, object_id: 'unknown', val: {}, ...unknown } }],
    ['POST', '/objs/query', {}],
    ['POST', '/refs/read_batch', { refs: [] }],
    [
      'POST',
      '/v2/acme/support/evaluations',
      { name: 'Unknown members', dataset: `weave:///acme/support/object/rows:${'a'.repeat(43)}` },
    ],
  ])('are ignored by %s %s', async (method, path, members) => {
    const queue = await service.createQueue({ calls: ['call-0'] });
    const { id } = await service.item(queue, 'call-0');
    const filled = path.replace('{queue}', queue).replace('{item}', id);
    const body = { project_id: projectId, ...members, ...unknown };
    expect(await service.send(method, filled, body)).toMatchObject({ status: 200 });
  });

  it('are ignored by POST /obj/read', async () => {
    await service.createObject('readable', { text: 'only' });
    const body = { object_id: 'readable', digest: 'latest', ...unknown };
    expect(bodyOf(await service.post('/obj/read', body)).obj.val).toEqual({ text: 'only' });
  });

  it('do not change the recorded author', async () => {
    const body = { name: 'Author', description: '', scorer_refs: [], ...unknown };
    const { id } = bodyOf(await service.post('/annotation_queues', body));
    const path = `/annotation_queues/${id}?project_id=${projectId}`;
    expect(bodyOf(await service.send('GET', path)).queue.created_by).toBe('ada');
  });
});
