import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { parsePartReference } from '../../../src/contract/references.ts';
import { countFoundCalls, findCalls } from '../../../src/service/query/find-calls.ts';
import { MemoryPool, RequestBudget } from '../../../src/service/request-budget.ts';
import { readResults } from '../../../src/service/runs/query-results.ts';
import type { Database } from '../../../src/service/storage/database.ts';
import { openDatabase } from '../../../src/service/storage/open-database.ts';
import { createPartReader } from '../../../src/service/storage/read-part.ts';
import { basic, onPostgres, startTestService, withStore } from '../../support/embedded-service.ts';
import { onEnd } from '../../support/on-end.ts';

const service = await startTestService();
const other = await withStore(service.data, (store) => store.addUser('other', ['other/project']));
const othersBasic = `Basic ${Buffer.from(`other:${other.password}`).toString('base64')}`;
const database = await openDatabase(service.data);
onEnd(() => database.close());

const project_id = 'p/q';
const post = (path: string, body: object | string) => service.send('POST', path, basic, body);

/** JSON of 3 MB that takes 60 MB in memory. */
const manyObjects = `[${Array(990_000).fill('{}').join(',')}]`;

async function store(object_id: string, val: string): Promise<string> {
  const { body } = await post(
    '/obj/create',
    `{"obj":{"project_id":"${project_id}","object_id":"${object_id}","val":${val}}}`,
  );
  return `weave:///${project_id}/object/${object_id}:${body.digest}`;
}

async function record(id: string, inputs: string, more = ''): Promise<void> {
  const key = `"project_id":"${project_id}","id":"${id}","trace_id":"t","started_at":"2026-01-01T00:00:00Z"`;
  const { status } = await post(
    '/call/start',
    `{"start":{${key},"op_name":"op","attributes":{},"inputs":${inputs}${more}}}`,
  );
  expect(status).toBe(200);
}

const texts = JSON.stringify({
  list: Array.from({ length: 60_000 }, (_, index) => `value ${index} ${'y'.repeat(40)}`),
});
const objects = [await store('a', texts), await store('b', texts.replace('{', '{"z":1,'))];
for (const name of ['c', 'd', 'e', 'f', 'g', 'h', 'i', 'j']) await store(name, `{"${name}":${manyObjects}}`);
await record('long', `{"text":"${'x'.repeat(3_000_000)}"}`);
await record('many', `{"list":${manyObjects}}`);
await record('run', '{"self":"weave:///p/q/object/e:1"}', ',"op_name":"Evaluation.evaluate"');
await record('trial', '{"example":{"a":1}}', ',"parent_id":"run","op_name":"Evaluation.predict_and_score"');
for (let child = 0; child < 9; child += 1)
  await record(`child-${child}`, `{"list":${manyObjects}}`, ',"parent_id":"trial"');
const almostMiB = `[${Array(340_000).fill('{}').join(',')}]`;
for (let number = 0; number < 26; number += 1) {
  const members = `"weave_ref":"weave:///p/q/call/long","feedback_type":"mood","payload":{"list":${almostMiB}}`;
  expect((await post('/feedback/create', `{"project_id":"${project_id}",${members}}`)).status).toBe(200);
}

const get = (path: string) => ({ $getField: path });
const many = <T>(count: number, entry: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => entry(at));
const contains = (at: number) => ({
  $contains: { input: get('inputs'), substr: { $literal: `é${at}` }, case_insensitive: true },
});
const equalsText = (at: number) => ({
  $eq: [{ $convert: { input: get('inputs'), to: 'string' } }, { $literal: `v${at}` }],
});
const repetitive = `${'x'.repeat(150_000)}y${'x'.repeat(150_000)}`;
const conditions: [string, Record<string, unknown>][] = [
  ['330 searches without case', { $or: many(330, contains) }],
  ['240 conversions to text', { $or: many(240, equalsText) }],
  ['a list of 900 values', { $in: [get('inputs.list'), many(900, (at) => ({ $literal: `v${at}` }))] }],
  ['a long text that is almost there', { $contains: { input: get('inputs.text'), substr: { $literal: repetitive } } }],
  ['a short text', { $contains: { input: get('inputs.text'), substr: { $literal: 'y' } } }],
];
const twentyKeys = many(20, () => ({ field: 'inputs.list', direction: 'asc' as const }));

const filter = { call_ids: ['long', 'many'] };
/** The requests of one account, each with the status of its response. */
const requests: { name: string; path: string; body: object; status: number }[] = [
  ...conditions.map(([name, $expr]) => {
    const isRefused = ['330 searches without case', '240 conversions to text'].includes(name);
    const body = { filter, query: { $expr }, columns: ['id'] };
    return { name, path: '/calls/stream_query', body, status: isRefused ? 413 : 200 };
  }),
  { name: 'twenty sort keys', path: '/calls/stream_query', body: { filter, sort_by: twentyKeys }, status: 200 },
  {
    name: 'calls and their feedback',
    path: '/calls/stream_query',
    body: { filter, include_feedback: true },
    status: 413,
  },
  { name: 'feedback without a limit', path: '/feedback/query', body: {}, status: 413 },
  { name: 'objects without a limit', path: '/objs/query', body: {}, status: 413 },
  {
    name: 'a trial with large calls',
    path: `/v2/${project_id}/eval_results/query`,
    body: { evaluation_run_ids: ['run'] },
    status: 413,
  },
  {
    name: 'references that alternate',
    path: '/refs/read_batch',
    body: { refs: many(1000, (at) => `${objects[at % 2]}/attr/list/index/${at}`) },
    status: 200,
  },
];

/** Sends requests of one account, and requests of another one until they are answered. Returns the statuses of the former. */
async function statusesOf(list: readonly { path: string; body: object }[]): Promise<number[]> {
  return statusesDuring(() => list.map(({ path, body }) => post(path, { project_id, ...body })));
}

async function statusesDuring(send: () => Promise<{ status: number }>[]): Promise<number[]> {
  let isDone = false;
  const attack = Promise.all(send()).finally(() => {
    isDone = true;
  });
  do {
    expect((await fetch(`${service.running.url}/health`)).status).toBe(200);
    const queues = { project_id: 'other/project' };
    const { status } = await service.send('POST', '/annotation_queues/query', othersBasic, queues);
    expect(status).toBe(200);
    await setTimeout(5);
  } while (!isDone);
  return (await attack).map(({ status }) => status);
}

describe('the service answers another account while one', () => {
  it.each(requests)('sends $name', async ({ status, ...request }) => {
    expect(await statusesOf([request])).toEqual([status]);
  });

  it('asks for eight lists at once', async () => {
    const list = { path: '/calls/stream_query', body: { filter } };
    expect(await statusesOf(many(8, () => list))).toEqual([200, 200, 200, 200, 200, 200, 200, 200]);
  });
});

describe('the service also answers another account while one', () => {
  it('lists evaluations that are large in memory', async () => {
    const evaluation = { name: 'large', dataset: 'weave:///p/q/object/d:x' };
    for (const description of ['first', 'second']) {
      const body = JSON.stringify({ ...evaluation, description, eval_attributes: {} });
      const large = body.replace('"eval_attributes":{}', `"eval_attributes":{"list":${almostMiB}}`);
      expect((await post(`/v2/${project_id}/evaluations`, large)).status).toBe(200);
    }
    const list = () => [service.send('GET', `/v2/${project_id}/evaluations`, basic)];
    expect(await statusesDuring(list)).toEqual([200]);
  });

  it('asks for objects thirty times at once', async () => {
    const query = { path: '/objs/query', body: { filter: { object_ids: ['a'] } } };
    expect(new Set(await statusesOf(many(30, () => query)))).toEqual(new Set([200]));
  });

  // On PostgreSQL, what takes time here is the same.
  it.skipIf(onPostgres)('sends twenty-four bodies of 2.7 MB at once', { timeout: 300_000 }, async () => {
    const list = `[${Array(900_000).fill('{}').join(',')}]`;
    const body = (at: number) =>
      `{"obj":{"project_id":"${project_id}","object_id":"sent","val":{"at":${at},"list":${list}}}}`;
    const statuses = await statusesDuring(() => many(24, (at) => post('/obj/create', body(at))));
    for (const status of statuses) expect([200, 503]).toContain(status);
    expect(statuses).toContain(200);
  });
});

/** Most units of work between two turns, of several steps and of one. */
const maxUnitsPerTurn = 20_000_000;
const maxUnitsPerStep = 1_000_000_000;

/** Returns a budget that notes the steps of each turn. */
function notedBudget() {
  const turns: number[][] = [[]];
  const pause = async (): Promise<void> => {
    turns.push([]);
  };
  class NotedBudget extends RequestBudget {
    override async parse(bytes: number): Promise<void> {
      await super.parse(bytes);
      turns.at(-1)!.push(bytes);
    }
    override async scan(bytes: number, scans: number): Promise<void> {
      await super.scan(bytes, scans);
      turns.at(-1)!.push((bytes / 4) * scans);
    }
  }
  return { turns, budget: new NotedBudget(new MemoryPool(4_000_000_000), 'noted', pause) };
}

const work: [string, (budget: RequestBudget) => Promise<unknown>][] = [
  ...conditions.map(([name, $expr]): [string, (budget: RequestBudget) => Promise<unknown>] => [
    name,
    (budget) =>
      countFoundCalls(database, { project_id, filter, query: { $expr } }, Number.MAX_SAFE_INTEGER, { budget }),
  ]),
  ['twenty sort keys', (budget) => findCalls(database, { project_id, filter, sort_by: twentyKeys }, { budget }).next()],
  [
    'filters and sort keys of results',
    (budget) => {
      const filters = many(50, () => ({ query: { $expr: { $eq: [get('inputs.a'), { $literal: 1 }] as unknown[] } } }));
      const sort_by = many(20, () => ({ field: 'inputs.a', direction: 'asc' as const }));
      const request = { evaluation_run_ids: ['run'], filters, sort_by };
      return readResults(database, project_id, request, () => true, budget);
    },
  ],
];

describe('the work between two turns', () => {
  it.each(work)('is limited for %s', async (_, run) => {
    const { turns, budget } = notedBudget();
    await run(budget).catch((error) => expect(error).toMatchObject({ status: 413 }));
    expect(turns.flat().length).toBeGreaterThan(0);
    for (const steps of turns) {
      const units = steps.reduce((sum, step) => sum + step, 0);
      expect(units).toBeLessThanOrEqual(steps.length > 1 ? maxUnitsPerTurn : maxUnitsPerStep);
    }
  });
});

describe('a reader of parts', () => {
  it('reads each object once for a thousand references that alternate between two', async () => {
    let reads = 0;
    const counted: Database = {
      ...database,
      read: (run) => {
        reads += 1;
        return database.read(run);
      },
    };
    const { budget } = notedBudget();
    const read = createPartReader(counted, () => true, budget);
    for (let at = 0; at < 1000; at += 1) {
      const reference = parsePartReference(`${objects[at % 2]}/attr/list/index/${at}`)!;
      expect(await read(reference)).toBe(`value ${at} ${'y'.repeat(40)}`);
    }
    expect(reads).toBe(2);
  });
});
