import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { callFields } from '../../../src/service/query/call-fields.ts';
import { planCalls } from '../../../src/service/query/calls-plan.ts';
import { ComparedRecord, compileCondition } from '../../../src/service/query/condition.ts';
import { MemoryPool, RequestBudget } from '../../../src/service/request-budget.ts';
import { openDatabase } from '../../../src/service/storage/open-database.ts';
import { caseCount } from '../../support/cases.ts';
import { basic, startTestService, withStore } from '../../support/embedded-service.ts';

const service = await startTestService();

const calls = [
  { id: 'a', op: 'chat', day: 1, ended: true, inputs: { n: 2, text: 'Hello World', flag: true, list: ['x'] } },
  { id: 'b', op: 'plan', day: 2, ended: true, inputs: { n: '10', text: 'goodbye', flag: false, deep: { er: 'yes' } } },
  { id: 'c', op: 'chat', day: 3, ended: false, inputs: { n: 2.5, text: null, flag: 'true' } },
  { id: 'd', op: 'plan', day: 4, ended: false, inputs: {} },
];
const lines = calls.map(({ id, op, day, ended, inputs }) =>
  JSON.stringify({
    call_id: id,
    call_op_name: op,
    call_trace_id: 't',
    call_started_at: `2026-01-0${day}T00:00:00Z`,
    ...(ended && { call_ended_at: `2026-01-0${day}T00:00:30Z` }),
    call: { inputs },
  }),
);
await withStore(service.data, (store) => store.importItems(lines, { projectId: 'p/q', queueId: 'q' }));

/** Calls of which the service derives the status and the name for display, with digits as ids. */
const derived = [
  { exception: 'Failed' },
  { exception: '' },
  { call_ended_at: null },
  { summary: { usage: { m: 2 } } },
  { summary: { status_counts: { success: 3, error: 1 } } },
  { summary: { status_counts: { success: 3, error: 0 }, usage: { m: '10' } } },
  { summary: ['a list'] },
  { display_name: 'chat' },
  { call_op_name: 'weave:///p/d/op/chat:0123456789abcdef', exception: 'chat' },
].map(({ call_op_name = 'plan', call_ended_at = '2026-01-01T00:00:30Z', ...call }, id) =>
  JSON.stringify({
    call_id: String(id),
    call_op_name,
    call_trace_id: 't',
    call_started_at: `2026-01-01T00:00:0${id}Z`,
    ...(call_ended_at && { call_ended_at }),
    call,
  }),
);
await withStore(service.data, (store) => store.importItems(derived, { projectId: 'p/d', queueId: 'd' }));

const send = ($expr: unknown, project_id = 'p/q') =>
  service.send('POST', '/calls/stream_query', basic, { project_id, query: { $expr } });

/** Returns the ids of the calls that meet a condition. */
async function matching($expr: unknown, project_id = 'p/q'): Promise<string> {
  const { status, body } = await send($expr, project_id);
  expect(status, JSON.stringify(body)).toBe(200);
  return (body as string)
    .split('\n')
    .slice(0, -1)
    .map((text) => JSON.parse(text).id)
    .join('');
}

const get = (path: string) => ({ $getField: path });
const is = (value: unknown) => ({ $literal: value });
const convert = (path: string, to: string) => ({ $convert: { input: get(path), to } });
const contains = (input: unknown, text: string, members: object = {}) => ({
  $contains: { input, substr: is(text), ...members },
});
const isChat = { $eq: [get('op_name'), is('chat')] };

describe('compileCondition', () => {
  it.each([
    ['$eq of strings', isChat, 'ac'],
    ['$eq of numbers', { $eq: [convert('inputs.n', 'double'), is(2)] }, 'a'],
    ['$eq of a number in a string', { $eq: [convert('inputs.n', 'double'), is(10)] }, 'b'],
    ['$eq of a number and a string', { $eq: [convert('inputs.n', 'string'), is('2.5')] }, 'c'],
    ['$eq of a number in JSON and a string', { $eq: [get('inputs.n'), is('2.0')] }, ''],
    ['$in of a number in JSON and strings', { $in: [get('inputs.n'), [is('2.0'), is('2.5')]] }, 'c'],
    ['$gte of a number in JSON and a string, as text', { $gte: [get('inputs.n'), is('2.0')] }, 'c'],
    ['$eq of a boolean and a string', { $eq: [get('inputs.flag'), is('true')] }, 'ac'],
    ['$eq of null, which missing members equal', { $eq: [get('ended_at'), is(null)] }, 'cd'],
    ['$eq of a nested member', { $eq: [get('inputs.deep.er'), is('yes')] }, 'b'],
    ['$eq of an element of a list', { $eq: [get('inputs.list.0'), is('x')] }, 'a'],
    ['$eq of two members', { $eq: [get('op_name'), get('op_name')] }, 'abcd'],
    ['$convert of an inherited member', { $eq: [convert('inputs.constructor', 'exists'), is(false)] }, 'abcd'],
    ['$gt of numbers', { $gt: [convert('inputs.n', 'double'), is(2)] }, 'bc'],
    ['$lt of numbers', { $lt: [convert('inputs.n', 'double'), is(2.5)] }, 'a'],
    ['$lte of numbers', { $lte: [convert('inputs.n', 'double'), is(2.5)] }, 'ac'],
    ['$lt of a missing member', { $lt: [convert('inputs.nothing', 'double'), is(0)] }, ''],
    ['$lt of a time in seconds', { $lt: [get('started_at'), is(Date.UTC(2026, 0, 2) / 1000)] }, 'a'],
    ['$lte of a time in seconds', { $lte: [get('started_at'), is(Date.UTC(2026, 0, 2) / 1000)] }, 'ab'],
    ['$lt of a time that is missing', { $lt: [get('ended_at'), is('2030-01-01T00:00:00Z')] }, 'ab'],
    ['$gt of strings', { $gt: [get('inputs.text'), is('Hello')] }, 'ab'],
    ['$gte of numbers', { $gte: [convert('inputs.n', 'double'), is(2.5)] }, 'bc'],
    ['$gte of a missing member', { $gte: [convert('inputs.nothing', 'double'), is(0)] }, ''],
    ['$gt of a time in seconds', { $gt: [get('started_at'), is(Date.UTC(2026, 0, 2) / 1000)] }, 'cd'],
    ['$gte of a time in seconds', { $gte: [get('started_at'), is(Date.UTC(2026, 0, 2) / 1000)] }, 'bcd'],
    ['$gte of a time in ISO 8601', { $gte: [get('started_at'), is('2026-01-03T00:00:00Z')] }, 'cd'],
    ['$gt of a time that is missing', { $gt: [get('ended_at'), is(0)] }, 'ab'],
    ['$in of strings', { $in: [get('id'), [is('a'), is('d'), is('x')]] }, 'ad'],
    ['$in of numbers', { $in: [convert('inputs.n', 'double'), [is(10), is(2.5)]] }, 'bc'],
    ['$in of an empty list', { $in: [get('id'), []] }, ''],
    ['$contains', contains(get('inputs.text'), 'World'), 'a'],
    ['$contains in another case', contains(get('inputs.text'), 'world'), ''],
    ['$contains with any case', contains(get('inputs.text'), 'O W', { case_insensitive: true }), 'a'],
    ['$contains with wildcards of SQL', contains(get('inputs.text'), '%'), ''],
    ['$contains in the JSON of an object', contains(get('inputs'), '"er":"yes"'), 'b'],
    ['$contains of nothing', contains(get('inputs.nothing'), ''), 'abcd'],
    ['$convert to double', { $gt: [convert('inputs.n', 'double'), is(2.4)] }, 'bc'],
    ['$convert to int', { $eq: [convert('inputs.n', 'int'), is(2)] }, 'ac'],
    ['$convert to string', { $eq: [convert('inputs.list', 'string'), is('["x"]')] }, 'a'],
    ['$convert to bool', { $eq: [convert('inputs.flag', 'bool'), is(true)] }, 'ac'],
    ['$convert to exists', { $eq: [convert('inputs.text', 'exists'), is(true)] }, 'ab'],
    ['$and', { $and: [isChat, { $gt: [convert('inputs.n', 'double'), is(2)] }] }, 'c'],
    ['$and of nothing', { $and: [] }, 'abcd'],
    ['$or', { $or: [{ $eq: [get('id'), is('d')] }, { $eq: [get('id'), is('a')] }] }, 'ad'],
    ['$or of nothing', { $or: [] }, ''],
    ['$not', { $not: [isChat] }, 'bd'],
    ['$not of $not', { $not: [{ $not: [isChat] }] }, 'ac'],
    [
      '$not of a time that is missing or before',
      { $not: [{ $gte: [get('ended_at'), is('2026-01-02T00:00:00Z')] }] },
      'acd',
    ],
    ['$not of a time of start', { $not: [{ $gt: [get('started_at'), is('2026-01-02T00:00:00Z')] }] }, 'ab'],
    ['$not of null', { $not: [{ $eq: [get('ended_at'), is(null)] }] }, 'ab'],
    ['$not of $not of null', { $not: [{ $not: [{ $eq: [get('display_name'), is(null)] }] }] }, 'abcd'],
    ['$literal', is(true), 'abcd'],
    ['a member that is true', get('inputs.flag'), 'a'],
  ])('finds calls with %s', async (_, expression, ids) => {
    expect(await matching(expression)).toBe(ids);
  });

  it.each([
    ['the status success', { $eq: [get('summary.weave.status'), is('success')] }, '1357'],
    ['the status error', { $eq: [get('summary.weave.status'), is('error')] }, '08'],
    ['the status running', { $eq: [get('summary.weave.status'), is('running')] }, '2'],
    ['the status of an error below', { $eq: [get('summary.weave.status'), is('descendant_error')] }, '4'],
    ['one of two statuses', { $in: [get('summary.weave.status'), [is('success'), is('running')]] }, '12357'],
    ['another status', { $not: [{ $eq: [get('summary.weave.status'), is('success')] }] }, '02468'],
    ['a name for display', { $eq: [get('summary.weave.trace_name'), is('chat')] }, '8'],
    ['one of some names', { $in: [get('summary.weave.trace_name'), [is('chat'), is('plan')]] }, '0123458'],
    ['part of a name', contains(get('summary.weave.trace_name'), 'HA', { case_insensitive: true }), '8'],
    ['part of a reference, which is no name', contains(get('summary.weave.trace_name'), '0123'), ''],
    ['a number', { $gte: [convert('summary.usage.m', 'int'), is(2)] }, '35'],
  ])('finds and counts calls with %s in their summary', async (_, $expr, ids) => {
    expect(await matching($expr, 'p/d')).toBe(ids);
    const counted = await service.send('POST', '/calls/query_stats', basic, { project_id: 'p/d', query: { $expr } });
    expect(counted.body).toEqual({ count: ids.length });
  });

  it.each([
    ['an unknown operator', { $regex: [get('id'), is('a')] }, 'unknown operator $regex'],
    ['no operator', {}, 'an operand is an object with one member'],
    ['two operators', { $and: [], $or: [] }, 'an operand is an object with one member'],
    ['an operand that is no object', { $eq: ['id', is('a')] }, 'an operand is an object with one member'],
    ['an operand that is null', { $not: [null] }, 'an operand is an object with one member'],
    ['$eq of one operand', { $eq: [is(1)] }, 'expected a list of 2'],
    ['$gt of three operands', { $gt: [is(1), is(2), is(3)] }, 'expected a list of 2'],
    ['$not of two operands', { $not: [is(true), is(true)] }, 'expected a list of 1'],
    ['$and without a list', { $and: isChat }, 'expected a list'],
    ['$in without a list', { $in: [get('id'), is('a')] }, 'expected a list'],
    ['$in of one operand', { $in: [get('id')] }, '$in takes an operand and a list'],
    ['$contains without a text', { $contains: { input: get('id') } }, 'an operand is an object with one member'],
    ['$contains of null', { $contains: null }, 'an operand is an object with one member'],
    ['$getField of a number', { $getField: 5 }, '$getField takes the path of a member'],
    ['$getField of an empty path', { $getField: '' }, '$getField takes the path of a member'],
    ['$convert to an unknown type', convert('id', 'date'), '$convert to "date"'],
    ['$convert to an inherited name', convert('id', 'toString'), '$convert to "toString"'],
    ['$convert to __proto__', convert('id', '__proto__'), '$convert to "__proto__"'],
    ['$convert to an object', { $convert: { input: get('id'), to: { toString: 1 } } }, '$convert to {"toString":1}'],
    ['an unknown operator that is never reached', { $or: [is(true), { $ne: [] }] }, 'unknown operator $ne'],
  ])('refuses %s', async (_, expression, reason) => {
    expect(await send(expression)).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'query', '$expr'], msg: `Invalid query: ${reason}`, type: 'value_error' }] },
    });
  });

  it.each([
    ['a number', { $eq: [get('inputs.n'), is(2)] }, 'double'],
    ['a number on the left', { $gt: [is(2), get('output.score')] }, 'double'],
    ['one of several numbers', { $in: [get('inputs.n'), [is('a'), is(2)]] }, 'double'],
    ['a boolean', { $eq: [get('inputs.flag'), is(true)] }, 'bool'],
    ['null', { $eq: [get('inputs.text'), is(null)] }, 'exists'],
    ['the name of the operation and a number', { $lte: [get('op_name'), is(2)] }, 'double'],
  ])('refuses to compare a member with %s without $convert', async (_, expression, type) => {
    expect(await send(expression)).toMatchObject({
      status: 400,
      body: { reason: expect.stringMatching(new RegExp(`^No common type between .*${type}`)) },
    });
  });

  it.each(['nonsense', 'constructor', 'feedback', 'feedback.[]', ''])('refuses the field %j', async (path) => {
    expect((await send({ $eq: [get(path), is('a')] })).status).toBe(path === '' ? 422 : 403);
  });

  it('accepts 1000 operands and refuses 1001', async () => {
    const either = (count: number) => ({ $or: Array.from({ length: count - 1 }, () => is(true)) });
    expect(await matching(either(1000))).toBe('abcd');
    expect(await send(either(1001))).toMatchObject({
      status: 422,
      body: { detail: [{ msg: 'Invalid query: more than 1000 operands' }] },
    });
  });

  it('refuses an invalid condition when calls are counted', async () => {
    const body = { project_id: 'p/q', query: { $expr: { $ne: [] } } };
    expect(await service.send('POST', '/calls/query_stats', basic, body)).toMatchObject({ status: 422 });
  });
});

const anyField = fc
  .constantFrom(
    'id',
    'op_name',
    'started_at',
    'ended_at',
    'exception',
    'inputs',
    'inputs.n',
    'inputs.text',
    'inputs.deep.er',
    'summary.weave.status',
    'summary.weave.trace_name',
    'summary.usage.m',
  )
  .chain((path) => fc.constantFrom(get(path), convert(path, 'double'), convert(path, 'string')));
const anyLiteral = fc
  .constantFrom(
    'a',
    'chat',
    'plan',
    'success',
    'running',
    '',
    'o',
    'Hello',
    '%',
    2,
    2.5,
    '10',
    true,
    null,
    '2026-01-02T00:00:00Z',
    1767312000,
  )
  .map(is);
const anyOperand = fc.oneof({ weight: 3, arbitrary: anyField }, { weight: 1, arbitrary: anyLiteral });
const anyCondition = fc.letrec<{ condition: object }>((tie) => ({
  condition: fc.oneof(
    { maxDepth: 3 },
    fc
      .tuple(fc.constantFrom('$eq', '$gt', '$gte', '$lt', '$lte'), anyOperand, anyLiteral)
      .map(([operator, left, right]) => ({ [operator]: [left, right] })),
    fc.tuple(anyOperand, fc.array(anyLiteral, { maxLength: 3 })).map((operands) => ({ $in: operands })),
    fc
      .tuple(anyOperand, anyLiteral, fc.boolean())
      .map(([input, substr, case_insensitive]) => ({ $contains: { input, substr, case_insensitive } })),
    fc.array(tie('condition'), { maxLength: 3 }).map((operands) => ({ $and: operands })),
    fc.array(tie('condition'), { maxLength: 3 }).map((operands) => ({ $or: operands })),
    tie('condition').map((operand) => ({ $not: [operand] })),
  ),
})).condition;

describe('what the database narrows a condition to', () => {
  it('is what JavaScript accepts, for calls that are found and for calls that are counted', async () => {
    const projects = new Map<string, Record<string, unknown>[]>();
    for (const project_id of ['p/q', 'p/d']) {
      const { body } = await service.send('POST', '/calls/stream_query', basic, { project_id });
      const texts = (body as string).trim().split('\n');
      projects.set(
        project_id,
        texts.map((text) => JSON.parse(text)),
      );
    }
    await fc.assert(
      fc.asyncProperty(anyCondition, fc.constantFrom(...projects.keys()), async ($expr, project_id) => {
        const { status } = await send($expr, project_id);
        // Some comparisons are refused.
        if (status === 400) return;
        const { accepts } = compileCondition($expr, callFields);
        const expected = projects
          .get(project_id)!
          .filter((record) => accepts(new ComparedRecord(record)))
          .map(({ id }) => id);
        expect(await matching($expr, project_id)).toBe(expected.join(''));
        const counted = { project_id, query: { $expr } };
        const { count } = (await service.send('POST', '/calls/query_stats', basic, counted)).body;
        expect(count).toBe(expected.length);
      }),
      { numRuns: caseCount(400) },
    );
  });

  it.each([
    ['running', ['project_id', 'ended_at']],
    ['error', ['project_id', 'exception']],
    ['success', ['project_id', 'ended_at', undefined]],
  ])('is a column that tells which calls may have the status %j', async (status, columns) => {
    const database = await openDatabase(service.data);
    const query = { $expr: { $eq: [get('summary.weave.status'), is(status)] } };
    const budget = new RequestBudget(new MemoryPool(), 'ada');
    const { parts } = planCalls(database, { project_id: 'p/q', query }, { budget });
    await database.close();
    expect(parts.map(({ about }) => about?.column)).toEqual(columns);
  });
});

/** Texts that JSON escapes, that a pattern of a database could take for a wildcard, or whose case a database does not know. */
const texts: Record<string, string> = {
  a: 'say "hi" to C:\\temp',
  b: '100% of_all',
  c: 'line one\nline two\t\u0001',
  d: '\u212aelvin \u0130stanbul STRASSE',
  e: 'Kelvin istanbul straße ÄÖÜ',
  f: '😀 emoji \ud83d half',
  g: '100x of all',
  h: 'nline',
};
const searchable = Object.entries(texts).map(([id, text], index) =>
  JSON.stringify({
    call_id: id,
    call_op_name: 'op',
    call_trace_id: 't',
    call_started_at: `2026-01-01T00:00:0${index}Z`,
    call: { inputs: { text }, output: text },
  }),
);
const first = JSON.parse(searchable[0]!);
const withoutOutput = JSON.stringify({ ...first, call_id: 'none', call: {} });
const withNull = JSON.stringify({ ...first, call_id: 'null', call: { output: null } });
const withFloat = withNull.replaceAll('null', '{"n":1.0}').replace('"{"n":1.0}"', '"float"');
await withStore(service.data, (store) =>
  store.importItems([...searchable, withoutOutput, withNull, withFloat], { projectId: 'p/texts', queueId: 'q' }),
);

/** Of every four calls, the third has the text `nline` in its JSON only. */
const many = Array.from({ length: 400 }, (_, index) =>
  JSON.stringify({
    ...first,
    call_id: String(index),
    call_started_at: new Date(1_767_225_600_000 + index * 1000).toISOString(),
    call: { output: [{ text: 'nline' }, 'nline', 'line one\nline two', 'C:\\ nline'][index % 4] },
  }),
);
await withStore(service.data, (store) => store.importItems(many, { projectId: 'p/many', queueId: 'many' }));

describe('a search for text in values', () => {
  it.each([
    ['"hi"', 'a', 'a'],
    ['C:\\t', 'a', 'a'],
    ['100%', 'b', 'b'],
    ['f_a', 'b', 'b'],
    ['one\nline', 'c', 'c'],
    ['\u0001', 'c', 'c'],
    ['kelvin', '', 'de'],
    ['Kelvin', 'e', 'de'],
    ['\u212aelvin', 'd', 'de'],
    ['istanbul', 'e', 'e'],
    ['i\u0307stanbul', '', 'd'],
    ['strasse', '', 'd'],
    ['straße', 'e', 'e'],
    ['äöü', '', 'e'],
    ['😀 e', 'f', 'f'],
    ['nline', 'h', 'h'],
    ['_', 'b', 'b'],
    ['%', 'b', 'b'],
  ])('finds %j in the calls %j, or in %j when case is ignored', async (text, exact, folded) => {
    const idsOf = async (input: unknown, members: object = {}) => {
      const body = { project_id: 'p/texts', columns: ['id'], query: { $expr: contains(input, text, members) } };
      const answer = await service.send('POST', '/calls/stream_query', basic, body);
      expect(answer.status).toBe(200);
      const count = await service.send('POST', '/calls/query_stats', basic, body);
      const ids = [...(answer.body as string).matchAll(/"id":"(\w+)"/g)].map(([, id]) => id);
      expect(count.body.count).toBe(ids.length);
      return ids.join('');
    };
    const ignoring = { case_insensitive: true };
    expect([await idsOf(get('output')), await idsOf(get('output'), ignoring)]).toEqual([exact, folded]);
    expect([await idsOf(get('inputs.text')), await idsOf(get('inputs.text'), ignoring)]).toEqual([exact, folded]);
  });

  it('finds an object by its JSON, and text by equality and negation', async () => {
    const idsOf = async ($expr: unknown) => {
      const body = { project_id: 'p/texts', query: { $expr } };
      return (await service.send('POST', '/calls/query_stats', basic, body)).body.count;
    };
    expect(await idsOf(contains(get('inputs'), '{"text":"nline"}'))).toBe(1);
    expect(await idsOf(contains(get('inputs'), '{}'))).toBe(3);
    expect(await idsOf({ $eq: [get('inputs.text'), is('100% of_all')] })).toBe(1);
    expect(await idsOf({ $eq: [get('output'), is('line one\nline two\t\u0001')] })).toBe(1);
    expect(await idsOf(contains(get('output'), '{"n":1.0}'))).toBe(1);
    expect(await idsOf(contains(get('output'), 'null'))).toBe(0);
    expect(await idsOf(contains(get('output'), ' {'))).toBe(0);
    expect(await idsOf({ $not: [contains(get('output'), 'nline')] })).toBe(10);
  });

  it.each([
    [0, ['0', '1', '3']],
    [150, ['200', '201', '203']],
    [299, ['399']],
    [300, []],
  ])('skips %i calls with the text, whether their JSON tells or not', async (offset, ids) => {
    const query = { $expr: contains(get('output'), 'nline') };
    const body = { project_id: 'p/many', columns: ['id'], query, offset, limit: 3 };
    const answer = await service.send('POST', '/calls/stream_query', basic, body);
    expect([...(answer.body as string).matchAll(/"id":"(\d+)"/g)].map(([, id]) => id)).toEqual(ids);
    const count = await service.send('POST', '/calls/query_stats', basic, { project_id: 'p/many', query });
    expect(count.body.count).toBe(300);
  });
});
