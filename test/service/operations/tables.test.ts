import { describe, expect, it } from 'vitest';
import { type Answer, basic, execute, longText, onPostgres, startTestService } from '../../support/embedded-service.ts';

const service = await startTestService();
const project_id = 'p/q';

const post = (path: string, body: object) => service.send('POST', path, basic, { project_id, ...body });

function bodyOf({ status, body }: Answer) {
  expect(status, JSON.stringify(body).slice(0, 500)).toBe(200);
  return body;
}

const create = async (rows: object[], project = project_id) =>
  bodyOf(await post('/table/create', { table: { project_id: project, rows } }));

const query = async (digest: string, members: object = {}) =>
  bodyOf(await post('/table/query', { digest, ...members })).rows;

const sums = [
  { q: '1+1', target: 2 },
  { q: '2+2', target: 4 },
];
const sumsDigest = 'f98daf4815b4ad2b742b311d1b4c97b503997e258b440ff822be0e8e3ad031f1';
const [first, second] = ['Xez88HCQnJ0XedLbtxrjUT8d6q7fOokULfthVqzofFc', 'fWxjvljku9bZfvYxNNUoJ5eXrhzvvbhbVG8bbqiHoxE'];

describe('createTable', () => {
  it('returns the digests of the list and of its rows, the same for the same rows', async () => {
    const created = { digest: sumsDigest, row_digests: [first, second] };
    expect(await create(sums)).toEqual(created);
    expect(await create(sums.map(({ q, target }) => ({ target, q })))).toEqual(created);
    expect(await query(sumsDigest)).toEqual([
      { digest: first, val: { q: '1+1', target: 2 }, original_index: 0 },
      { digest: second, val: { q: '2+2', target: 4 }, original_index: 1 },
    ]);
    const [counts] = await execute(service.data, 'select count(*) as rows_stored from table_rows');
    expect(counts).toMatchObject({ rows_stored: onPostgres ? '2' : 2 });
  });

  it('keeps equal rows, empty lists, and members with any name and value', async () => {
    const rows = [{}, {}, JSON.parse('{"__proto__": {"é": [null, 1.5e-7]}, "constructor": ""}')];
    const { digest, row_digests } = await create(rows);
    expect([row_digests.length, row_digests[0] === row_digests[1]]).toEqual([3, true]);
    const answer = await post('/table/query', { digest });
    expect(answer.body.rows.map(({ val }: { val: unknown }) => JSON.stringify(val))).toEqual([
      '{}',
      '{}',
      '{"__proto__":{"é":[null,1.5e-7]},"constructor":""}',
    ]);
    expect(await create([])).toEqual({
      digest: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
      row_digests: [],
    });
  });

  it('stores rows and files once that several processes receive at the same time', async () => {
    const others = await Promise.all([1, 2].map(() => startTestService({ data: service.data })));
    const rows = Array.from({ length: 700 }, (_, n) => ({ n, shared: true }));
    const project = 'p/concurrent';
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) => {
        const other = others[index % 2]!;
        const body = { table: { project_id: project, rows: index % 3 ? rows : [...rows].reverse() } };
        return Promise.all([
          other.send('POST', '/table/create', basic, body),
          other.upload(basic, { project_id: project, file: 'the same' }),
        ]);
      }),
    );
    expect(new Set(answers.flat().map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(([table]) => table.body.digest)).size).toBe(2);
    const count = async (table: string) =>
      Number((await execute(service.data, `select count(*) as n from ${table} where project_id = '${project}'`))[0]!.n);
    expect(await Promise.all(['row_tables', 'row_contents', 'table_rows', 'files', 'file_chunks'].map(count))).toEqual([
      2, 700, 1400, 1, 1,
    ]);
  });

  it.each([
    [{ rows: [{ a: 1 }, 5] }, ['body', 'table', 'rows', 1], 'value_error'],
    [{ rows: [[]] }, ['body', 'table', 'rows', 0], 'value_error'],
    [{}, ['body', 'table', 'rows'], 'missing'],
  ])('refuses the table %j', async (table, loc, type) => {
    expect(await post('/table/create', { table: { project_id, ...table } })).toMatchObject({
      status: 422,
      body: { detail: [{ loc, type }] },
    });
  });

  it('refuses more than 250,000 rows', async () => {
    const rows = `[${'{},'.repeat(250_000)}{}]`;
    const answer = await service.send('POST', '/table/create', basic, `{"table":{"project_id":"p/q","rows":${rows}}}`);
    expect(answer).toMatchObject({ status: 422, body: { detail: [{ type: 'too_long' }] } });
  });
});

describe('queryTable', () => {
  const places = (rows: { original_index: number }[]) => rows.map(({ original_index }) => original_index);

  it('pages rows, and filters them by their digests', async () => {
    const { digest, row_digests } = await create(Array.from({ length: 1203 }, (_, n) => ({ n })));
    expect(places(await query(digest))).toEqual(Array.from({ length: 1203 }, (_, n) => n));
    expect(places(await query(digest, { limit: 2, offset: 1200 }))).toEqual([1200, 1201]);
    expect(places(await query(digest, { offset: 600 }))).toHaveLength(603);
    expect(await query(digest, { limit: 0 })).toEqual([]);
    expect(await query(digest, { offset: 2000 })).toEqual([]);
    const filter = { row_digests: [row_digests[7], row_digests[3], 'unknown'] };
    expect(places(await query(digest, { filter }))).toEqual([3, 7]);
    expect(places(await query(digest, { filter, offset: 1 }))).toEqual([7]);
    expect(
      await query(digest, { filter: { row_digests: null }, limit: null, offset: null, sort_by: null }),
    ).toHaveLength(1203);
  });

  it('sorts rows by members, those without one last', async () => {
    const { digest } = await create([
      { input: { text: 'b' }, score: 10 },
      { input: { text: 'a' }, score: 9 },
      { score: 9 },
      { input: { text: null }, score: 100 },
    ]);
    const sorted = async (...keys: [string, string][]) =>
      places(await query(digest, { sort_by: keys.map(([field, direction]) => ({ field, direction })) }));
    expect(await sorted(['score', 'asc'])).toEqual([1, 2, 0, 3]);
    expect(await sorted(['score', 'desc'])).toEqual([3, 0, 1, 2]);
    expect(await sorted(['input.text', 'asc'])).toEqual([1, 0, 2, 3]);
    expect(await sorted(['input.text', 'desc'])).toEqual([0, 1, 2, 3]);
    expect(await sorted(['score', 'asc'], ['input.text', 'desc'])).toEqual([1, 2, 0, 3]);
    const page = { sort_by: [{ field: 'score', direction: 'desc' }], limit: 2, offset: 1 };
    expect(places(await query(digest, page))).toEqual([0, 1]);
  });

  it.each(['', '.', 'a..b', '.a', 'a.', 'a. '])('refuses the sort field %j', async (field) => {
    expect(await post('/table/query', { digest: 'x', sort_by: [{ field, direction: 'asc' }] })).toMatchObject({
      status: 400,
      body: { reason: `Invalid sort field: ${field}` },
    });
  });

  it('returns no rows of an unknown list, or of one of another project', async () => {
    const { digest } = await create([{ only: 'here' }]);
    expect(await query('unknown')).toEqual([]);
    expect(await query(digest, { project_id: 'p/other' })).toEqual([]);
  });

  it('refuses to return rows that are too large together, but returns fewer of them', async () => {
    const { digest } = await create([{ n: 1 }, { n: 2 }, { n: 3 }], 'p/large');
    await execute(
      service.data,
      `update row_contents set content = '{"text":"' || ${longText(45_000_000)} || '"}', memory_bytes = 180000000 where project_id = 'p/large'`,
    );
    const reason = 'The request needs more than 512 MiB of memory: ask for fewer rows at once, with limit and offset';
    expect(await post('/table/query', { project_id: 'p/large', digest })).toMatchObject({
      status: 413,
      body: { reason },
    });
    expect(places(await query(digest, { project_id: 'p/large', limit: 1, offset: 2 }))).toEqual([2]);
  });
});

describe('updateTable', () => {
  it('appends, removes and inserts rows in order, and leaves the original list unchanged', async () => {
    const { digest, row_digests } = await create([{ n: 0 }, { n: 1 }, { n: 2 }]);
    const updates = [
      { append: { row: { n: 3 } } },
      { pop: { index: 0 } },
      { insert: { index: 0, row: { n: 9 } } },
      { insert: { index: 4, row: { n: 8 } } },
    ];
    const updated = bodyOf(await post('/table/update', { base_digest: digest, updates }));
    const rows = await query(updated.digest);
    expect(rows.map(({ val }: { val: { n: number } }) => val.n)).toEqual([9, 1, 2, 3, 8]);
    expect(updated.updated_row_digests).toEqual([rows[3].digest, row_digests[0], rows[0].digest, rows[4].digest]);
    expect(await query(digest)).toHaveLength(3);
    expect((await create([{ n: 9 }, { n: 1 }, { n: 2 }, { n: 3 }, { n: 8 }])).digest).toBe(updated.digest);
    expect(bodyOf(await post('/table/update', { base_digest: digest, updates: [] }))).toEqual({
      digest,
      updated_row_digests: [],
    });
  });

  it.each([
    [{ pop: { index: 1 } }, 1],
    [{ pop: { index: -1 } }, -1],
    [{ insert: { index: 2, row: {} } }, 2],
    [{ insert: { index: -1, row: {} } }, -1],
  ])('refuses %j for a list of one row', async (update, index) => {
    const { digest } = await create([{ only: 1 }]);
    expect(await post('/table/update', { base_digest: digest, updates: [update] })).toMatchObject({
      status: 400,
      body: { reason: `Index out of range: ${index}` },
    });
  });

  it('responds with 404 for an unknown list', async () => {
    expect(await post('/table/update', { base_digest: 'unknown', updates: [] })).toMatchObject({
      status: 404,
      body: { reason: 'Table unknown not found' },
    });
  });

  it('refuses an unknown kind of update, and more than 1,000 that insert or remove rows', async () => {
    const { digest } = await create([{ only: 1 }]);
    expect((await post('/table/update', { base_digest: digest, updates: [{ sort: {} }] })).status).toBe(422);
    const updates = Array.from({ length: 1001 }, () => ({ insert: { index: 0, row: {} } }));
    expect(await post('/table/update', { base_digest: digest, updates })).toMatchObject({
      status: 413,
      body: { reason: 'More than 1000 rows are inserted or removed: send fewer at once' },
    });
  });
});

describe('countTableRows', () => {
  it('counts the rows of a list, and returns 0 for an unknown one', async () => {
    const { digest } = await create(sums);
    expect(bodyOf(await post('/table/query_stats', { digest }))).toEqual({ count: 2 });
    expect(bodyOf(await post('/table/query_stats', { digest: 'unknown' }))).toEqual({ count: 0 });
  });
});

describe('countRowsOfTables', () => {
  it('counts the rows of each list, and skips unknown ones', async () => {
    const { digest } = await create(sums);
    const { digest: empty } = await create([]);
    const digests = [empty, 'unknown', digest, empty];
    expect(bodyOf(await post('/table/query_stats_batch', { digests, include_storage_size: true }))).toEqual({
      tables: [
        { digest: empty, count: 0, storage_size_bytes: null },
        { digest, count: 2, storage_size_bytes: null },
      ],
    });
    expect(bodyOf(await post('/table/query_stats_batch', {}))).toEqual({ tables: [] });
  });
});

describe('createTableFromDigests', () => {
  it('stores a list of stored rows, which is the same as one with their contents', async () => {
    await create(sums);
    const row_digests = [second, first, second];
    const { digest } = bodyOf(await post('/table/create_from_digests', { row_digests }));
    expect((await query(digest)).map(({ val }: { val: unknown }) => val)).toEqual([sums[1], sums[0], sums[1]]);
    expect((await create([sums[1]!, sums[0]!, sums[1]!])).digest).toBe(digest);
    const known = { row_digests: [first, second], expected_digest: sumsDigest };
    expect(bodyOf(await post('/table/create_from_digests', known))).toEqual({ digest: sumsDigest });
  });

  it('refuses a row of another project, and rows whose digest is not the expected one', async () => {
    await create([{ only: 'there' }], 'p/other');
    const { row_digests } = await create([{ only: 'here' }]);
    const foreign = { project_id: 'p/other', row_digests };
    expect(await post('/table/create_from_digests', foreign)).toMatchObject({
      status: 404,
      body: { reason: `Row ${row_digests[0]} not found` },
    });
    const unexpected = { row_digests: [first], expected_digest: sumsDigest };
    expect(await post('/table/create_from_digests', unexpected)).toMatchObject({
      status: 400,
      body: { reason: expect.stringMatching(`^These rows have the digest [0-9a-f]{64}, not ${sumsDigest}$`) },
    });
  });
});

describe('references to rows', () => {
  it('lead through an object to its table, to rows by digest or position, and to their members', async () => {
    const { digest } = await create(sums);
    const table = `weave:///p/q/table/${digest}`;
    const marks = { _type: 'Dataset', _class_name: 'Dataset', _bases: ['Object', 'BaseModel'] };
    const obj = { project_id, object_id: 'sums', val: { ...marks, name: 'sums', rows: table } };
    const dataset = `weave:///p/q/object/sums:${bodyOf(await post('/obj/create', { obj })).digest}`;
    const holder = { project_id, object_id: 'holder', val: { data: dataset } };
    const outer = `weave:///p/q/object/holder:${bodyOf(await post('/obj/create', { obj: holder })).digest}`;
    const refs = [
      `${dataset}/attr/rows`,
      `${dataset}/attr/rows/id/${first}`,
      `${dataset}/attr/rows/id/${second}/key/target`,
      `${dataset}/attr/rows/index/1`,
      `${outer}/attr/data/attr/rows/id/${first}/attr/q`,
      `${table}/id/${second}`,
      `${table}/index/0/key/q`,
      `${dataset}/attr/rows/id/unknown`,
      `${dataset}/attr/rows/index/2`,
      `${dataset}/attr/rows/attr/0`,
      `${dataset}/attr/name/id/${first}`,
      `weave:///p/other/table/${digest}/id/${first}`,
    ];
    expect(bodyOf(await post('/refs/read_batch', { refs })).vals).toEqual([
      table,
      sums[0],
      4,
      sums[1],
      '1+1',
      sums[1],
      '1+1',
      null,
      null,
      null,
      null,
      null,
    ]);
    expect((await post('/refs/read_batch', { refs: [table] })).body).toEqual({ reason: `Invalid ref: ${table}` });
  });

  it('return null after ten steps through an object that refers to itself', async () => {
    const obj = { project_id, object_id: 'circle', val: { next: 'weave:///p/q/object/circle:latest' } };
    const circle = `weave:///p/q/object/circle:${bodyOf(await post('/obj/create', { obj })).digest}`;
    const steps = (count: number) => `${circle}${'/attr/next'.repeat(count)}`;
    expect(bodyOf(await post('/refs/read_batch', { refs: [steps(1), steps(10), steps(11)] })).vals).toEqual([
      'weave:///p/q/object/circle:latest',
      'weave:///p/q/object/circle:latest',
      null,
    ]);
  });
});
