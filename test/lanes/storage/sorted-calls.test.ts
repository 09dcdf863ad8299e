import { expect, it } from 'vitest';
import { openDatabase } from '../../../src/service/storage/open-database.ts';
import { basic, startTestService } from '../../support/embedded-service.ts';
import { onEnd } from '../../support/on-end.ts';

const service = await startTestService();
const project_id = 'p/sorted';
const startOf = (n: number) => ({
  project_id,
  id: `c${n}`,
  op_name: 'op',
  started_at: '2026-01-01T00:00:00Z',
  attributes: {},
  inputs: { n: (n * 7919) % 20_001, kind: n % 5000 === 7 ? 'rare' : 'common' },
});

it('creates an index when more than 20,000 calls are sorted by a member or compared with a text, and keeps it up', async () => {
  const batch = Array.from({ length: 20_001 }, (_, n) => ({ mode: 'start', req: { start: startOf(n) } }));
  expect((await service.send('POST', '/call/upsert_batch', basic, { batch })).status).toBe(200);
  const database = await openDatabase(service.data);
  onEnd(() => database.close());
  const largest = async (): Promise<number[]> => {
    const body = { project_id, sort_by: [{ field: 'inputs.n', direction: 'desc' }], limit: 2, columns: ['inputs'] };
    const { body: lines } = await service.send('POST', '/calls/stream_query', basic, body);
    return (lines as string)
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).inputs.n);
  };
  expect(await database.memberIndexes.list()).toEqual([]);
  expect(await largest()).toEqual([20_000, 19_999]);
  expect(await database.memberIndexes.list()).toEqual([expect.stringMatching(/^calls_sorted_\w{43}$/)]);
  const start = { ...startOf(0), id: 'later', inputs: { n: 20_000.5 } };
  expect((await service.send('POST', '/call/start', basic, { start })).status).toBe(200);
  expect(await largest()).toEqual([20_000.5, 20_000]);

  const equalTo = (kind: string, ...others: object[]) => {
    const isOfKind = { $eq: [{ $getField: 'inputs.kind' }, { $literal: kind }] };
    return { project_id, query: { $expr: { $and: [isOfKind, ...others] } } };
  };
  const count = async (body: object) => (await service.send('POST', '/calls/query_stats', basic, body)).body;
  // Few calls have this start, so that each is read.
  const isLater = { $gt: [{ $getField: 'started_at' }, { $literal: Date.parse(start.started_at) / 1000 }] };
  expect(await count(equalTo('rare', isLater))).toEqual({ count: 0 });
  expect(await database.memberIndexes.list()).toHaveLength(1);
  expect(await count(equalTo('rare'))).toEqual({ count: 4 });
  expect(await database.memberIndexes.list()).toHaveLength(2);
  expect(await count(equalTo('common'))).toEqual({ count: 19_997 });
  const page = { ...equalTo('rare'), sort_by: [{ field: 'started_at', direction: 'desc' }], columns: ['id'] };
  const { body: lines } = await service.send('POST', '/calls/stream_query', basic, page);
  expect((lines as string).match(/(?<="id":")\w+/g)).toEqual(['c10007', 'c15007', 'c5007', 'c7']);
});
