import { describe, expect, it } from 'vitest';
import { basic, startTestService } from '../../support/embedded-service.ts';

const service = await startTestService();
const rows = [
  { q: '1+1', target: 2 },
  { q: '2+2', target: 4 },
];

const create = (body: object, project = 'p/q') => service.send('POST', `/v2/${project}/datasets`, basic, body);

describe('createDataset', () => {
  it('returns the same version for the same content and the next one for other content', async () => {
    const first = await create({ name: 'My Sums/<One>', rows });
    expect(first.status).toBe(200);
    expect(first.body).toEqual({
      digest: 'XWmn551wAGxQwDbyzPrQYUKTPFgJhKWIPHaC2mOoXoA',
      object_id: 'my_sums_one',
      version_index: 0,
    });
    expect((await create({ name: 'My Sums/<One>', description: null, rows, colour: 'red' })).body).toEqual(first.body);
    const others = [
      { name: 'My Sums/<One>', rows: rows.toReversed() },
      { name: 'My Sums/<One>', rows, description: 'Sums.' },
    ];
    for (const [index, body] of others.entries()) {
      expect((await create(body)).body).toMatchObject({ object_id: 'my_sums_one', version_index: index + 1 });
    }
    expect((await create({ name: 'My Sums/<One>', rows }, 'p/other')).body.version_index).toBe(0);
  });

  it('stores the rows as a table that the dataset refers to', async () => {
    const { body } = await create({ name: 'Sums', rows });
    const { obj } = (
      await service.send('POST', '/obj/read', basic, { project_id: 'p/q', object_id: 'sums', digest: body.digest })
    ).body;
    const table = 'f98daf4815b4ad2b742b311d1b4c97b503997e258b440ff822be0e8e3ad031f1';
    expect(obj).toMatchObject({
      base_object_class: 'Dataset',
      val: { _type: 'Dataset', name: 'Sums', description: null, rows: `weave:///p/q/table/${table}` },
    });
    const query = { project_id: 'p/q', digest: table };
    const found = await service.send('POST', '/table/query', basic, query);
    expect(found.body.rows.map(({ val }: { val: unknown }) => val)).toEqual(rows);
  });

  it('accepts a dataset with an empty list of rows and no name', async () => {
    expect((await create({ rows: [] })).body).toMatchObject({ object_id: 'dataset', version_index: 0 });
  });

  it.each([
    ['a name without a valid object id', { name: 'a:b', rows }, ['body', 'name']],
    ['a row that is not an object', { name: 'd', rows: [1] }, ['body', 'rows', 0]],
    ['a dataset without a list of rows', { name: 'd' }, ['body', 'rows']],
  ])('refuses %s', async (_, body, loc) => {
    const refused = await create(body);
    expect([refused.status, refused.body.detail[0].loc]).toEqual([422, loc]);
  });
});
