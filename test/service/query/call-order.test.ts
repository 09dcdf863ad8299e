import fc from 'fast-check';
import { type SqlBool, sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { ExactNumber, exactJson } from '../../../src/core/json/exact-number.ts';
import { idsInIndex, MemberIndexes } from '../../../src/service/query/member-order.ts';
import { openDatabase } from '../../../src/service/storage/open-database.ts';
import { caseCount } from '../../support/cases.ts';
import { basic, startTestService, withStore } from '../../support/embedded-service.ts';
import { onEnd } from '../../support/on-end.ts';

const service = await startTestService();

interface GeneratedCall {
  op_name: string;
  start: number;
  seconds: number;
  inputs: Record<string, unknown>;
  output: unknown;
}

interface Call {
  id: string;
  op_name: string;
  started_at: string;
  ended_at: string;
  inputs: Record<string, unknown>;
  output: unknown;
  /** What the service derives. */
  summary?: object;
}

type Key = { field: string; direction: 'asc' | 'desc' };

async function record(project_id: string, calls: readonly Call[]): Promise<void> {
  const batch = calls.flatMap(({ output, ended_at, summary, ...start }) => [
    { mode: 'start', req: { start: { ...start, project_id, trace_id: 't', attributes: {} } } },
    { mode: 'end', req: { end: { project_id, id: start.id, ended_at, output, summary: {} } } },
  ]);
  expect((await service.send('POST', '/call/upsert_batch', basic, exactJson({ batch }))).status).toBe(200);
}

async function idsOf(body: object, from = service): Promise<string[]> {
  const { status, body: text } = await from.send('POST', '/calls/stream_query', basic, { columns: ['id'], ...body });
  expect(status, JSON.stringify(text)).toBe(200);
  return (text as string)
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line).id);
}

const time = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
const valueAt = (call: Call, path: string): unknown =>
  path.split('.').reduce<unknown>((at, name) => {
    const members = Object(at ?? {}) as Record<string, unknown>;
    return Object.hasOwn(members, name) ? members[name] : undefined;
  }, call);
const bytesOf = (value: unknown): Buffer => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
/** Compares two values as the interface describes: numbers by size, then all others as text, and those without a value last. */
function compare(a: unknown, b: unknown, direction: Key['direction']): number {
  if (a == null || b == null) return Number(a == null) - Number(b == null);
  const [first, second] = direction === 'asc' ? [a, b] : [b, a];
  if (typeof first === 'number' && typeof second === 'number') return first - second;
  const byType = Number(typeof second === 'number') - Number(typeof first === 'number');
  return byType || Buffer.compare(bytesOf(first), bytesOf(second));
}

const inOrder = (calls: readonly Call[], keys: readonly Key[]): string[] =>
  [...calls]
    .sort((a, b) => {
      for (const { field, direction } of keys) {
        const order = compare(valueAt(a, field), valueAt(b, field), direction);
        if (order !== 0) return order;
      }
      return a.id < b.id ? -1 : 1;
    })
    .map(({ id }) => id);

const signs = fc.constantFrom(
  '"',
  '\\',
  ' ',
  'a',
  'B',
  '1',
  'é',
  '\u0007',
  '\n',
  '\ud7ff',
  '\uffee',
  '\u{1f600}',
  '\\u0000',
);
const word = fc.string({ unit: signs, maxLength: 3 });
const value = fc.oneof(
  fc.integer({ min: -3, max: 3 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  word,
  fc.boolean(),
  fc.constant(null),
  fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 2 }),
  fc.record({ b: word, a: fc.boolean() }),
  fc.stringMatching(/^long text( \w){60}[ab]$/),
);
const call = fc.record({
  op_name: fc.constantFrom('chat', 'chat:2', 'plan', 'Plan', 'é'),
  start: fc.integer({ min: 0, max: 3 }),
  seconds: fc.integer({ min: 0, max: 3 }),
  inputs: fc.record({ n: value, deep: fc.record({ er: value }) }, { requiredKeys: [] }),
  output: fc.oneof(value, fc.record({ score: value }, { requiredKeys: [] })),
});
const fields = [
  'id',
  'op_name',
  'started_at',
  'ended_at',
  'inputs.n',
  'inputs.deep.er',
  'inputs.deep',
  'output',
  'output.score',
];
const direction = fc.constantFrom('asc' as const, 'desc' as const);
const keys = fc.uniqueArray(fc.record({ field: fc.constantFrom(...fields), direction }), {
  minLength: 1,
  maxLength: 3,
  selector: ({ field }) => field,
});

/** Returns sort keys of which the first is one of some fields. */
const keysAfter = (firstFields: readonly string[]): fc.Arbitrary<Key[]> =>
  fc
    .tuple(fc.record({ field: fc.constantFrom(...firstFields), direction }), fc.oneof(fc.constant([]), keys))
    .map(([first, others]) => [first, ...others]);

let projects = 0;

const page = fc.tuple(fc.nat(40), fc.nat(40));

/** Records calls, and compares every order with that of the model. */
async function checkOrders(generated: readonly GeneratedCall[], orders: Key[][], [offset, limit]: [number, number]) {
  const project_id = `p/order-${projects++}`;
  const calls = generated.map(({ start, seconds, ...members }, index) => ({
    ...members,
    id: `id-${(index * 7) % 41}`,
    started_at: time(start),
    ended_at: time(start + seconds),
    summary: { weave: { latency_ms: seconds * 1000 } },
  }));
  if (calls.length > 0) await record(project_id, calls);
  for (const sort_by of orders) {
    const expected = inOrder(calls, sort_by);
    expect(await idsOf({ project_id, sort_by })).toEqual(expected);
    expect(await idsOf({ project_id, sort_by, offset, limit })).toEqual(expected.slice(offset, offset + limit));
  }
}

describe('the order of recorded calls', () => {
  it('holds for short and long calls, which keep all their values', async () => {
    const project_id = 'team/lengths';
    const lengths = [3, 20_000, 5, 30_000, 7];
    const inputsOf = (length: number) => ({ text: 'x'.repeat(length) });
    const calls = lengths.map((length, second) => ({
      id: `call-${second}`,
      op_name: 'ask',
      started_at: time(second),
      ended_at: time(10),
      inputs: inputsOf(length),
      output: length,
    }));
    await record(project_id, calls);
    const read = async (page: object) => {
      const columns = ['inputs', 'output'];
      const { body } = await service.send('POST', '/calls/stream_query', basic, { project_id, columns, ...page });
      return (body as string)
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line))
        .map(({ inputs, output }) => [inputs.text.length, output]);
    };
    const all = lengths.map((length) => [length, length]);
    const isShort = {
      $not: [{ $contains: { input: { $getField: 'inputs.text' }, substr: { $literal: 'x'.repeat(25_000) } } }],
    };
    expect(await read({})).toEqual(all);
    expect(await read({ offset: 1, limit: 3 })).toEqual(all.slice(1, 4));
    expect(await read({ query: { $expr: isShort }, offset: 1 })).toEqual([all[1], all[2], all[4]]);
  });

  it('is the one of the compared values, whatever their types, on every page', async () => {
    const orders = fc.array(keys, { minLength: 1, maxLength: 5 });
    await fc.assert(fc.asyncProperty(fc.array(call, { maxLength: 40 }), orders, page, checkOrders), {
      numRuns: caseCount(50),
    });
  });

  it('by operation and start respects conditions, and goes on after a hundred operations', async () => {
    const project_id = 'p/operations';
    const calls = Array.from({ length: 240 }, (_, index) => ({
      id: `id-${String(index).padStart(3, '0')}`,
      op_name: `op-${String(index % 120).padStart(3, '0')}`,
      started_at: time(index),
      ended_at: time(index),
      inputs: { half: index % 2 },
      output: null,
    }));
    await record(project_id, calls);
    const sort_by: Key[] = [
      { field: 'op_name', direction: 'desc' },
      { field: 'started_at', direction: 'asc' },
    ];
    expect(await idsOf({ project_id, sort_by, limit: 4 })).toEqual(['id-119', 'id-239', 'id-118', 'id-238']);
    expect(await idsOf({ project_id, sort_by, offset: 197, limit: 6 })).toEqual([
      ...['id-141', 'id-020', 'id-140', 'id-019', 'id-139', 'id-018'],
    ]);
    const isOdd = {
      $expr: { $eq: [{ $convert: { input: { $getField: 'inputs.half' }, to: 'int' } }, { $literal: 1 }] },
    };
    expect(await idsOf({ project_id, sort_by, query: isOdd, offset: 1, limit: 3 })).toEqual([
      ...['id-239', 'id-117', 'id-237'],
    ]);
    const since = { $expr: { $gte: [{ $getField: 'started_at' }, { $literal: time(238) }] } };
    expect(await idsOf({ project_id, sort_by, query: since })).toEqual(['id-239', 'id-238']);
    const named = { op_names: ['op-007', 'op-003'] };
    expect(await idsOf({ project_id, sort_by, filter: named })).toEqual(['id-007', 'id-127', 'id-003', 'id-123']);
  });
});

describe('calls that start at the same time', () => {
  it('are found once each, in the order of their ids, where conditions make the search go range by range', async () => {
    const project_id = 'p/together';
    const calls = Array.from({ length: 120 }, (_, index) => ({
      id: `id-${String((index * 77) % 120).padStart(3, '0')}`,
      op_name: `op-${index % 3}`,
      started_at: time(Math.floor(index / 50)),
      ended_at: time(10 + (index % 2)),
      inputs: {},
      output: null,
    }));
    await record(project_id, calls);
    const endsLate = { $gte: [{ $getField: 'ended_at' }, { $literal: Date.parse(time(11)) / 1000 }] };
    const cases: [object, (call: Call) => boolean][] = [
      [{ query: { $expr: endsLate } }, ({ ended_at }) => ended_at === time(11)],
      [{ filter: { op_names: ['op-0', 'op-1'] } }, ({ op_name }) => op_name !== 'op-2'],
    ];
    for (const [selection, isSelected] of cases) {
      for (const direction of ['asc', 'desc'] as const) {
        const sort_by: Key[] = [{ field: 'started_at', direction }];
        const expected = inOrder(calls.filter(isSelected), sort_by);
        expect(await idsOf({ project_id, ...selection, sort_by })).toEqual(expected);
        const middle = { sort_by, offset: 20, limit: 30 };
        expect(await idsOf({ project_id, ...selection, ...middle })).toEqual(expected.slice(20, 50));
      }
      const count = calls.filter(isSelected).length;
      const counted = await service.send('POST', '/calls/query_stats', basic, { project_id, ...selection });
      expect(counted.body).toEqual({ count });
    }
  });

  it('are on the right pages after thousands of calls, with and without a time or an operation', async () => {
    const project_id = 'p/many-together';
    const calls = Array.from({ length: 2400 }, (_, index) => ({
      id: `id-${String((index * 77) % 2400).padStart(4, '0')}`,
      op_name: `op-${index % 2}`,
      started_at: time(Math.floor(index / 350)),
      ended_at: time(10),
      inputs: {},
      output: null,
    }));
    await record(project_id, calls);
    const since = { $gte: [{ $getField: 'started_at' }, { $literal: Date.parse(time(1)) / 1000 }] };
    const selections: [object, (call: Call) => boolean][] = [
      [{}, () => true],
      [{ query: { $expr: since } }, ({ started_at }) => started_at >= time(1)],
      [{ filter: { op_names: ['op-1'] } }, ({ op_name }) => op_name === 'op-1'],
    ];
    for (const [selection, isSelected] of selections) {
      for (const direction of ['asc', 'desc'] as const) {
        const sort_by: Key[] = [{ field: 'started_at', direction }];
        const expected = inOrder(calls.filter(isSelected), sort_by);
        for (const offset of [1000, 1001, 1050, 1199, 1399, 1400, 1777, 2399, 2400, 9000]) {
          const page = await idsOf({ project_id, ...selection, sort_by, offset, limit: 7 });
          expect(page, `${JSON.stringify(selection)} ${direction} ${offset}`).toEqual(
            expected.slice(offset, offset + 7),
          );
        }
      }
    }
  });
});

describe('conditions on the name of the operation', () => {
  it('find the calls of the operations that satisfy them, in the order of start and counted', async () => {
    const names = ['weave:///p/named/op/chat:1', 'weave:///p/named/op/chat:2', 'weave:///p/named/op/plan:1', 'chat'];
    const calls = Array.from({ length: 12 }, (_, index) => ({
      id: `id-${String(index).padStart(2, '0')}`,
      op_name: names[index % 4]!,
      started_at: time(index),
      ended_at: time(index),
      inputs: { half: index % 2 },
      output: null,
    }));
    await record('p/named', calls);
    const name = { $getField: 'op_name' };
    const contains = (text: string) => ({ $contains: { input: name, substr: { $literal: text } } });
    const isChat = { $or: [{ $eq: [name, { $literal: 'chat' }] }, contains('/op/chat:')] };
    const isOdd = { $eq: [{ $convert: { input: { $getField: 'inputs.half' }, to: 'int' } }, { $literal: 1 }] };
    const cases: [object, string][] = [
      [contains('nothing'), ''],
      [contains('plan'), '02 06 10'],
      [isChat, '00 01 03 04 05 07 08 09 11'],
      [{ $not: [isChat] }, '02 06 10'],
      [{ $and: [isChat, { $not: [contains(':2')] }] }, '00 03 04 07 08 11'],
      [{ $and: [isChat, isOdd] }, '01 03 05 07 09 11'],
      [{ $or: [contains('plan'), isOdd] }, '01 02 03 05 06 07 09 10 11'],
    ];
    for (const [$expr, expected] of cases) {
      const body = { project_id: 'p/named', query: { $expr } };
      const found = expected.split(' ').filter(Boolean);
      const idsFound = async (more: object) => (await idsOf({ ...body, ...more })).map((id) => id.slice(3));
      expect(await idsFound({}), JSON.stringify($expr)).toEqual(found);
      const newest = { sort_by: [{ field: 'started_at', direction: 'desc' }], limit: 2, offset: 1 };
      expect(await idsFound(newest)).toEqual([...found].reverse().slice(1, 3));
      expect((await service.send('POST', '/calls/query_stats', basic, body)).body).toEqual({ count: found.length });
    }
    const versions = { op_names: ['weave:///p/named/op/chat:*'] };
    expect(await idsOf({ project_id: 'p/named', filter: versions, limit: 3 })).toEqual(['id-00', 'id-01', 'id-04']);
  });

  it('find the same calls where names are very long', async () => {
    const long = 'n'.repeat(1001);
    const calls = [`${long} chat`, `${long} plan`, 'chat', 'plan'].map((op_name, index) => ({
      id: `id-${index}`,
      op_name,
      started_at: time(index),
      ended_at: time(index),
      inputs: {},
      output: null,
    }));
    await record('p/long-names', calls);
    const isChat = { $contains: { input: { $getField: 'op_name' }, substr: { $literal: 'chat' } } };
    expect(await idsOf({ project_id: 'p/long-names', query: { $expr: isChat } })).toEqual(['id-0', 'id-2']);
  });
});

describe('the index of a member', async () => {
  const indexed = ['inputs.n', 'inputs.deep.er', 'output.score', 'summary.weave.latency_ms'];
  const database = await openDatabase(service.data);
  onEnd(() => database.close());
  const indexes = new MemberIndexes(database);
  const indexOf = (field: string) => indexes.indexFor({ field });

  it('has calls in the same order as without it', async () => {
    for (const field of indexed) await indexes.create(indexOf(field)!);
    expect(await database.memberIndexes.list()).toHaveLength(4);
    const orders = fc.array(keysAfter(indexed), { minLength: 1, maxLength: 5 });
    await fc.assert(fc.asyncProperty(fc.array(call, { maxLength: 40 }), orders, page, checkOrders), {
      numRuns: caseCount(50),
    });
  });

  it('finds and counts the calls whose member is equal to a text, as without it', async () => {
    const values = [
      1,
      '1',
      '1.0',
      ' 1 ',
      true,
      'true',
      null,
      undefined,
      0.1,
      1e-7,
      9007199254740992,
      '',
      'é',
      [1],
      { a: 1 },
    ];
    const longs = ['a', 'b'].map((end) => `${'😀'.repeat(100)}${end}`);
    const others = [
      'x'.repeat(100),
      '2026-01-01T00:00:00Z',
      1_767_225_600,
      new ExactNumber('1.0'),
      new ExactNumber('0.0'),
      false,
    ];
    const calls = [...values, ...longs, ...others].map((n, index) => ({
      id: `id-${String(index).padStart(2, '0')}`,
      op_name: index % 2 === 0 ? 'even' : 'odd',
      started_at: time(index),
      ended_at: time(index),
      inputs: { n, deep: { same: n } },
      output: null,
    }));
    await record('p/equal', calls);
    const cases: [string | string[], string][] = [
      ['1', '00 01'],
      ['1.0', '02 20'],
      ['true', '04 05'],
      ['0.1', '08'],
      ['9007199254740992', '10'],
      ['', '11'],
      ['é', '12'],
      ['[1]', '13'],
      ['{"a":1}', '14'],
      [longs[0]!, '15'],
      ['😀'.repeat(100), ''],
      ['x'.repeat(100), '17'],
      ['2026-01-01T00:00:00Z', '18'],
      [['é', 'true', 'none'], '04 05 12'],
      [['1.0', '1e-7', '0.0000001'], '02 09 20'],
      [[], ''],
    ];
    for (const [texts, expected] of cases) {
      for (const field of ['inputs.n', 'inputs.deep.same']) {
        const member = { $getField: field };
        const listed = [texts].flat().map((text) => ({ $literal: text }));
        const isEqual = typeof texts === 'string' ? { $eq: [member, listed[0]] } : { $in: [member, listed] };
        const isOdd = { $eq: [{ $getField: 'op_name' }, { $literal: 'odd' }] };
        for (const $expr of [isEqual, { $and: [isEqual, isOdd] }]) {
          const found = expected.split(' ').filter((id) => id !== '' && ($expr === isEqual || Number(id) % 2 === 1));
          const body = { project_id: 'p/equal', query: { $expr } };
          const ids = (await idsOf(body)).map((id) => id.slice(3));
          expect(ids, `${field} ${JSON.stringify($expr)}`).toEqual(found);
          const counted = await service.send('POST', '/calls/query_stats', basic, body);
          expect(counted.body, JSON.stringify($expr)).toEqual({ count: found.length });
        }
      }
    }
  });

  it('finds and counts the calls whose converted member is compared, as without it', async () => {
    const cases: [string, string, boolean | number | number[], string][] = [
      ['$eq', 'double', 1, '00 01 02 03 04 20'],
      ['$gt', 'double', 0.1, '00 01 02 03 04 10 19 20'],
      ['$gte', 'double', 0.1, '00 01 02 03 04 08 10 19 20'],
      ['$lt', 'double', 1, '08 09 21 22'],
      ['$lte', 'double', 1e-7, '09 21 22'],
      ['$in', 'double', [0.1, 1e-7, 1e-17], '08 09'],
      ['$in', 'double', [1, 1, 1.0000000000001], '00 01 02 03 04 20'],
      ['$eq', 'double', 9007199254740992, '10'],
      ['$eq', 'int', 0, '08 09 21 22'],
      ['$gt', 'int', 0.5, '00 01 02 03 04 10 19 20'],
      ['$eq', 'bool', true, '00 04 05 08 09 10 13 14 19 20'],
      ['$eq', 'bool', false, '01 02 03 06 07 11 12 15 16 17 18 21 22'],
    ];
    for (const [operator, to, value, expected] of cases) {
      for (const field of ['inputs.n', 'inputs.deep.same']) {
        const literals = [value].flat().map((literal) => ({ $literal: literal }));
        const converted = { $convert: { input: { $getField: field }, to } };
        const $expr = { [operator]: [converted, operator === '$in' ? literals : literals[0]] };
        const body = { project_id: 'p/equal', query: { $expr } };
        const ids = (await idsOf(body)).map((id) => id.slice(3));
        expect(ids.join(' '), JSON.stringify(body.query)).toBe(expected);
        const counted = await service.send('POST', '/calls/query_stats', basic, body);
        expect(counted.body, JSON.stringify(body.query)).toEqual({ count: ids.length });
      }
    }
  });

  it('is used for the calls that match a condition, if they are many', async () => {
    const project_id = 'p/many';
    const inputsOf = (n: number) => ({ n: (n * 7919) % 12_000, half: n % 2, text: n % 3 === 0 ? 'third' : 'other' });
    const startOf = (n: number) => n - (n % 3);
    const calls = Array.from({ length: 12_000 }, (_, n) => ({
      id: `id-${n}`,
      op_name: `op-${n % 8 === 0 ? 'seldom' : 'often'}`,
      started_at: time(startOf(n)),
      ended_at: time(startOf(n) + inputsOf(n).n),
      inputs: inputsOf(n),
      output: { score: n % 5 },
    }));
    for (let start = 0; start < calls.length; start += 4000) await record(project_id, calls.slice(start, start + 4000));
    expect(await indexes.isReady(indexOf('inputs.n')!, project_id)).toBe(true);
    const sort_by: Key[] = [{ field: 'inputs.n', direction: 'desc' }];
    const often = calls.filter(({ op_name }) => op_name === 'op-often');
    const isOften = { op_names: ['op-often'] };
    const expected = inOrder(often, sort_by);
    expect(await idsOf({ project_id, sort_by, filter: isOften, limit: 30, offset: 9000 })).toEqual(
      expected.slice(9000, 9030),
    );
    expect(await idsOf({ project_id, sort_by, limit: 3, offset: 11_990 })).toEqual(
      inOrder(calls, sort_by).slice(11_990, 11_993),
    );
    const isSlow = { $gt: [{ $getField: 'summary.weave.latency_ms' }, { $literal: 3_000_000 }] };
    const slow = calls.filter(({ inputs }) => inputs.n > 3000);
    const byLatency = { sort_by: [{ field: 'summary.weave.latency_ms', direction: 'asc' }], query: { $expr: isSlow } };
    expect(await idsOf({ project_id, ...byLatency, limit: 30, offset: 8980 })).toEqual(
      inOrder(slow, [{ field: 'inputs.n', direction: 'asc' }]).slice(8980, 9010),
    );
    const roots = { sort_by: [{ field: 'op_name', direction: 'desc' }], filter: { trace_roots_only: true } };
    expect(await idsOf({ project_id, ...roots, limit: 5, offset: 1498 })).toEqual(
      inOrder(calls, roots.sort_by as Key[]).slice(1498, 1503),
    );
    const isLater = { $gte: [{ $getField: 'started_at' }, { $literal: Date.parse(time(3000)) / 1000 }] };
    expect(await idsOf({ project_id, sort_by, query: { $expr: isLater }, limit: 30, offset: 8980 })).toEqual(
      inOrder(calls.slice(3000), sort_by).slice(8980),
    );
    const isThird = { $eq: [{ $convert: { input: { $getField: 'inputs.half' }, to: 'int' } }, { $literal: 1 }] };
    const third = calls.filter(({ inputs }) => inputs.half === 1);
    expect(await idsOf({ project_id, sort_by, query: { $expr: isThird }, limit: 30, offset: 700 })).toEqual(
      inOrder(third, sort_by).slice(700, 730),
    );
    const byScore: Key[] = [{ field: 'output.score', direction: 'desc' }, ...sort_by];
    const byStart: Key[] = [{ field: 'started_at', direction: 'desc' }, ...sort_by];
    const byId: Key[] = [{ field: 'id', direction: 'desc' }];
    for (const keys of [byScore, byStart, byId, [...byStart, ...byId]]) {
      const inKeys = inOrder(often, keys);
      for (const offset of [0, 2090, 10_480]) {
        const page = { project_id, sort_by: keys, filter: isOften, limit: 30, offset };
        expect(await idsOf(page), `${JSON.stringify(keys)} from ${offset}`).toEqual(inKeys.slice(offset, offset + 30));
      }
    }
  });

  it('gives way to sorting what a condition finds, if that is less and comes late in the order', async () => {
    const project_id = 'p/late';
    const calls = Array.from({ length: 30_000 }, (_, n) => ({
      id: `id-${n}`,
      op_name: n < 28_000 ? 'early' : 'late',
      started_at: time(n),
      ended_at: time(n + 1),
      inputs: { n: ((n * 7) % 28_000) + (n < 28_000 ? 0 : 28_000) },
      output: { score: n < 28_000 ? 1 : 2 },
    }));
    for (let start = 0; start < calls.length; start += 5000) await record(project_id, calls.slice(start, start + 5000));
    const late = calls.slice(28_000);
    for (const sort_by of [
      [{ field: 'inputs.n', direction: 'asc' }],
      [
        { field: 'output.score', direction: 'asc' },
        { field: 'inputs.n', direction: 'desc' },
      ],
    ] satisfies Key[][]) {
      const expected = inOrder(late, sort_by);
      const filter = { op_names: ['late'] };
      expect(await idsOf({ project_id, sort_by, filter, limit: 30 })).toEqual(expected.slice(0, 30));
      expect(await idsOf({ project_id, sort_by, filter, limit: 30, offset: 1980 })).toEqual(expected.slice(1980));
    }
  });

  it('finds the calls and items with a latency above a number, unless they are too many', async () => {
    const project_id = 'p/slow';
    const calls = [1, 3, 2].map((seconds, index) => ({
      call_id: `id-${index}`,
      call_op_name: 'ask',
      call_trace_id: 't',
      call_started_at: time(0),
      call_ended_at: time(seconds),
    }));
    const others = [
      { ...calls[0], call_id: 'running', call_ended_at: null },
      { ...calls[1], call_id: 'listed', call: { summary: ['A list has no latency'] } },
    ];
    const lines = [...calls, ...others].map((call) => JSON.stringify(call));
    await withStore(service.data, (store) => store.importItems(lines, { projectId: project_id, queueId: 'slow' }));
    const latency = { $getField: 'summary.weave.latency_ms' };
    const slow = (maxCalls: number) =>
      idsInIndex(database, project_id, indexOf(latency.$getField)!, [sql<SqlBool>`latency > 1000`], maxCalls);
    expect((await slow(2))?.sort()).toEqual(['id-1', 'id-2']);
    expect(await slow(1)).toBeUndefined();
    const isSlow = { $expr: { $gt: [latency, { $literal: 1000 }] } };
    expect(await idsOf({ project_id, query: isSlow })).toEqual(['id-1', 'id-2']);
    const { body } = await service.query('slow', { project_id, filter: { latency_above: 1 } });
    expect(body.items.map(({ call_id }: { call_id: string }) => call_id)).toEqual(['id-1', 'id-2', 'listed']);
  });

  it('stays while it is in use, and is not created for what JSON cannot tell', async () => {
    await indexes.create(indexOf('inputs.fifth')!);
    expect(await database.memberIndexes.list()).toHaveLength(4);
    for (const field of [
      'summary.weave.status',
      'inputs',
      'inputs.list.0',
      'inputs.list.length',
      `inputs.o'clock`,
      'op_name',
    ]) {
      expect(indexOf(field), field).toBeUndefined();
    }
  });

  it('is not used for the calls of a project with text that the engine cannot read', async () => {
    const project_id = 'p/escapes';
    const texts = ['\u0000', '\ud800', '\\u0000', '\\ud800', '\u001b[1m', 'x'.repeat(5000)];
    const calls = texts.map((n, index) => ({
      id: `id-${index}`,
      op_name: 'chat',
      started_at: time(index),
      ended_at: time(index + 1),
      inputs: { n, deep: { er: index } },
      output: { score: { n } },
    }));
    await record(project_id, calls);
    const sort_by: Key[] = [{ field: 'inputs.deep.er', direction: 'desc' }];
    expect(await idsOf({ project_id, sort_by })).toEqual(['id-5', 'id-4', 'id-3', 'id-2', 'id-1', 'id-0']);
    const byText: Key[] = [{ field: 'inputs.n', direction: 'asc' }];
    expect(await idsOf({ project_id, sort_by: byText })).toEqual(['id-0', 'id-4', 'id-2', 'id-3', 'id-5', 'id-1']);
    expect(await indexes.isReady(indexOf('inputs.n')!, project_id)).toBe(false);
  });

  it('keeps no call from being recorded, sorted and found whose number is too large or too small', async () => {
    const numbers = ['1e400', '5e-324', '-1e999', '1'.repeat(400), '1e-400', '1e-17', '1.7976931348623157e+308', '-1'];
    const calls = numbers.map((number, index) => ({
      id: `id-${index}`,
      op_name: 'chat',
      started_at: time(index),
      ended_at: time(index),
      inputs: { n: new ExactNumber(number) },
      output: null,
    }));
    const checkCalls = async (project_id: string, order: string, equal: Record<string, string>) => {
      const sort_by: Key[] = [{ field: 'inputs.n', direction: 'asc' }];
      expect(await idsOf({ project_id, sort_by })).toEqual(order.split(' ').map((index) => `id-${index}`));
      for (const [text, expected] of Object.entries(equal)) {
        const $expr = { $in: [{ $getField: 'inputs.n' }, [{ $literal: text }, { $literal: 'none' }]] };
        expect(await idsOf({ project_id, query: { $expr } }), text).toEqual(
          expected.split(' ').map((index) => `id-${index}`),
        );
      }
    };
    const index = indexOf('inputs.n')!;
    const check = async () => {
      await checkCalls('p/out-of-range', '2 7 4 1 5 6 0 3', {
        '-1e999': '2',
        '1e400': '0',
        '1e-400': '4',
        '1e-17': '5',
      });
      await checkCalls('p/in-range', '7 1 5 6', { '5e-324': '1', '1e-17': '5', '1.7976931348623157e+308': '6' });
      expect(await indexes.isReady(index, 'p/out-of-range')).toBe(false);
      expect(await indexes.isReady(index, 'p/in-range')).toBe(true);
    };
    await record('p/out-of-range', calls);
    await record(
      'p/in-range',
      [1, 5, 6, 7].map((place) => calls[place]!),
    );
    await check();
    await database.memberIndexes.drop(index.name);
    await new MemberIndexes(database).create(index);
    await check();
  });
});

describe('the index of a column', async () => {
  const other = await startTestService();
  it('has calls in the same order as without it', async () => {
    const columns = ['ended_at', 'trace_id', 'display_name', 'parent_id'];
    const database = await openDatabase(other.data);
    onEnd(() => database.close());
    const indexes = new MemberIndexes(database);
    for (const field of columns) await indexes.create(indexes.indexFor({ field })!);
    expect(await database.memberIndexes.list()).toHaveLength(4);
    const project_id = 'p/columns';
    const texts = ['b', 'é', ' ', '\u{1f600}', '\uffee', 'x'.repeat(150), `${'x'.repeat(149)}y`, 'B'];
    const calls = texts.map((text, index) => ({
      id: `id-${(index * 3) % texts.length}`,
      op_name: 'ask',
      started_at: time(0),
      ended_at: index === 2 ? undefined : time(index % 3),
      trace_id: text,
      display_name: index === 4 ? undefined : text,
      parent_id: index % 2 === 0 ? undefined : `${index % 4}`,
      inputs: {},
      attributes: {},
      output: null,
      summary: {},
    }));
    const batch = calls.flatMap(({ ended_at, output, summary, ...start }) => [
      { mode: 'start', req: { start: { ...start, project_id } } },
      ...(ended_at ? [{ mode: 'end', req: { end: { project_id, id: start.id, ended_at, output, summary } } }] : []),
    ]);
    expect((await other.send('POST', '/call/upsert_batch', basic, { batch })).status).toBe(200);
    for (const field of columns) {
      for (const direction of ['asc', 'desc'] as const) {
        const sort_by = [{ field, direction }];
        const ids = await idsOf({ project_id, sort_by }, other);
        expect(ids, `${field} ${direction}`).toEqual(inOrder(calls as unknown as Call[], sort_by));
      }
    }
  });
});
