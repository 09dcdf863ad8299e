import { describe, expect, it } from 'vitest';
import { basic, execute, startTestService, withStore } from '../../support/embedded-service.ts';

const service = await startTestService({ sample: true });

async function list(path: string): Promise<Record<string, unknown>[]> {
  const { status, headers, body } = await service.send('GET', `/v2/${path}`, basic);
  expect([status, headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
  return body
    .split('\n')
    .slice(0, -1)
    .map((line: string) => JSON.parse(line));
}

describe('listObjects', () => {
  it('lists the dataset and the scorers of the sample project', async () => {
    const version = {
      digest: expect.stringMatching(/^[A-Za-z0-9]{43}$/),
      version_index: 0,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    };
    expect(await list('demo/support/datasets')).toEqual([
      { ...version, object_id: 'tickets', name: 'tickets', description: null },
    ]);
    const scorers = await list('demo/support/scorers');
    expect(scorers.sort((a, b) => (String(a.object_id) < String(b.object_id) ? -1 : 1))).toEqual([
      {
        ...version,
        object_id: 'helpfulness',
        name: 'helpfulness',
        description: 'Does the answer solve what the customer asked?',
      },
      { ...version, object_id: 'tone', name: 'tone', description: 'Is the answer friendly and to the point?' },
    ]);
    expect(await list('demo/support/evaluations')).toEqual([]);
    expect(await list('nobody/nothing/datasets')).toEqual([]);
  });

  it('lists the latest version of each object, the newest first, in pages', async () => {
    const dataset = 'weave:///p/q/object/d:latest';
    const create = async (name: string, description: string) =>
      (await service.evaluate('p/q', { name, dataset, description })).body;
    await create('B Eval', 'first');
    const latest = await create('B Eval', 'second');
    for (const name of ['a', 'c', 'd']) await create(name, 'only');
    await execute(
      service.data,
      `update objects set created_at = '2026-01-0' || case when object_id in ('a', 'd') then 2 else 1 end
      where project_id = 'p/q'`,
    );
    const ids = async (search: string) => (await list(`p/q/evaluations${search}`)).map(({ object_id }) => object_id);
    expect(await ids('')).toEqual(['a', 'd', 'b_eval', 'c']);
    expect(await ids('?limit=2&offset=1')).toEqual(['d', 'b_eval']);
    expect(await ids('?offset=3')).toEqual(['c']);
    expect(await ids('?limit=0')).toEqual([]);
    expect((await list('p/q/evaluations?offset=2&limit=1'))[0]).toEqual({
      object_id: 'b_eval',
      digest: latest.digest,
      version_index: 1,
      created_at: '2026-01-01',
      name: 'B Eval',
      description: 'second',
    });
  });

  it('lists the latest version of each kind when kinds share a name', async () => {
    await withStore(service.data, async (store) => {
      await store.putObject('scorer', 'p/shared', 'both', { name: 5, description: 'a scorer' });
      await store.putObject('dataset', 'p/shared', 'both', [{ name: 'row' }]);
    });
    expect(await list('p/shared/scorers')).toMatchObject([
      { object_id: 'both', version_index: 0, name: 'both', description: 'a scorer' },
    ]);
    expect(await list('p/shared/datasets')).toMatchObject([{ object_id: 'both', version_index: 1, description: null }]);
  });

  it.each([
    ['limit=-1', ['query', 'limit'], 'greater_than_equal'],
    ['limit=many', ['query', 'limit'], 'number_type'],
    ['limit=', ['query', 'limit'], 'number_type'],
    ['offset=%20', ['query', 'offset'], 'number_type'],
    ['limit=0x10', ['query', 'limit'], 'number_type'],
    ['limit=1e1', ['query', 'limit'], 'number_type'],
    ['offset=1.5', ['query', 'offset'], 'int_type'],
    ['page=2', ['query', 'page'], 'extra_forbidden'],
  ])('refuses the query parameters ?%s', async (search, loc, type) => {
    expect(await service.send('GET', `/v2/p/q/scorers?${search}`, basic)).toMatchObject({
      status: 422,
      body: { detail: [{ loc, type }] },
    });
  });
});
