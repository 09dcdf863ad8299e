import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { normalizeTimestamp } from '../../../src/core/timestamps.ts';
import {
  basic,
  execute,
  onPostgres,
  startTestService,
  storedIn,
  temporaryData,
  withStore,
} from '../../support/embedded-service.ts';
import { emptyHome, run, temporaryFolder } from '../../support/heddle.ts';
import { hasReviewItems, reviewItems } from '../../support/review-items.ts';

const good = {
  call_id: 'c1',
  call_op_name: 'op',
  call_trace_id: 't',
  call_started_at: '2025-04-07T23:39:02.1239+09:00',
};
const target = { projectId: 'p/q', queueId: 'imported', addedBy: 'me' };

describe('importItems', () => {
  it('names invalid lines by number and loads nothing if there are any', async () => {
    const data = await temporaryData();
    const lines = [
      JSON.stringify(good),
      '',
      '{',
      JSON.stringify({ ...good, call_id: 'c2', call_started_at: '2025-02-30T00:00:00Z' }),
      JSON.stringify({ ...good, call_id: undefined, colour: 'red' }),
      JSON.stringify({ ...good, call_id: 'c3', annotation_state: 'done' }),
      '[]',
    ];
    await withStore(data, async (store) => {
      await expect(store.importItems(lines, target)).rejects.toMatchObject({
        code: 'invalid_arguments',
        message: expect.stringMatching(
          /^5 invalid lines, nothing was loaded: line 3: is not JSON; line 4: call_started_at: /,
        ),
        detail: [
          { loc: ['line', 3], type: 'json_invalid' },
          { loc: ['line', 4, 'call_started_at'], msg: 'must be an ISO 8601 date and time' },
          { loc: ['line', 5, 'call_id'], type: 'missing' },
          { loc: ['line', 5, 'colour'], type: 'extra_forbidden' },
          { loc: ['line', 6, 'annotation_state'], type: 'enum' },
          { loc: ['line', 7] },
        ],
      });
      expect(await store.list()).toEqual([]);
      const many = Array.from({ length: 50 }, () => '{');
      await expect(store.importItems(many, target)).rejects.toThrow(
        /^50 invalid lines.*line 20: is not JSON; and 30 more$/,
      );
      await expect(store.importItems([], { ...target, projectId: 'p' })).rejects.toMatchObject({
        code: 'invalid_arguments',
      });
    });
  });

  it.runIf(onPostgres)('tells PostgreSQL how many calls and items it holds then', async () => {
    const data = await temporaryData();
    const lines = Array.from({ length: 1_100 }, (_, n) => JSON.stringify({ ...good, call_id: `c${n}` }));
    await withStore(data, (store) => store.importItems(lines, target));
    const known = `select relname, reltuples, reloptions from pg_class where relname in ('calls', 'queue_items') order by 1`;
    const reloptions = ['autovacuum_analyze_threshold=500', 'autovacuum_analyze_scale_factor=0.005'];
    expect(await execute(data, known)).toEqual([
      { relname: 'calls', reltuples: 1100, reloptions },
      { relname: 'queue_items', reltuples: 1100, reloptions },
    ]);
  });

  it('does not change a call that is already in the queue, and accepts the same call in another queue', async () => {
    const data = await temporaryData();
    const other = { ...good, call_op_name: 'changed', annotation_state: 'completed' };
    await withStore(data, async (store) => {
      const add = (queueId: string, ...items: object[]) =>
        store.importItems(
          items.map((item) => JSON.stringify(item)),
          { ...target, queueId },
        );
      expect(await add('a', good, good)).toEqual({ added: 1, duplicates: 1, lacksFields: true, otherQueues: [] });
      expect(await add('a', other)).toEqual({ added: 0, duplicates: 1, lacksFields: true });
      expect(await add('b', good)).toEqual({ added: 1, duplicates: 0, lacksFields: true, otherQueues: ['a'] });
      const [{ queues } = { queues: [] }] = await store.list('p/q');
      expect(queues).toEqual([
        { id: 'a', name: 'a', items: 1, states: { unstarted: 1 } },
        { id: 'b', name: 'b', items: 1, states: { unstarted: 1 } },
      ]);
      expect(await store.integrityCheck()).toEqual([]);
    });
    const service = await startTestService({ data });
    const { body } = await service.query('a', { project_id: 'p/q' });
    expect(body.items).toMatchObject([
      { call_op_name: 'op', call_started_at: '2025-04-07T14:39:02.123900', added_by: 'me', created_by: 'me' },
    ]);
  });

  it('gives an item what is recorded of its call, whatever its line says', async () => {
    const service = await startTestService();
    const ended = { ...good, call_ended_at: '2025-04-07T14:39:05Z' };
    const changed = {
      ...good,
      call_op_name: 'changed',
      call_trace_id: 'other',
      call_started_at: '2026-01-01T00:00:00Z',
    };
    const add = (queueId: string, item: object) =>
      withStore(service.data, (store) => store.importItems([JSON.stringify(item)], { ...target, queueId }));
    const itemIn = async (queue: string) => (await service.query(queue, { project_id: 'p/q' })).body.items[0];
    await add('a', ended);
    await add('b', changed);
    const recorded = {
      call_op_name: 'op',
      call_trace_id: 't',
      call_started_at: '2025-04-07T14:39:02.123900',
      call_ended_at: '2025-04-07T14:39:05.000',
    };
    expect(await itemIn('b')).toMatchObject(recorded);
    // An import brings a deleted call back.
    await service.send('POST', '/calls/delete', basic, { project_id: 'p/q', call_ids: ['c1'] });
    expect(await itemIn('a')).toMatchObject(recorded);
    await add('c', changed);
    const { call_id: _, ...other } = { ...changed, call_started_at: '2026-01-01T00:00:00.000', call_ended_at: null };
    for (const queue of ['a', 'b', 'c']) expect(await itemIn(queue)).toMatchObject(other);
  });
});

describe('importItems into a deleted queue', () => {
  it('restores the queue, so that its items can be listed', async () => {
    const data = await temporaryData();
    const add = (call_id: string) =>
      withStore(data, (store) => store.importItems([JSON.stringify({ ...good, call_id })], target));
    await add('before');
    const service = await startTestService({ data });
    await service.send('DELETE', '/annotation_queues/imported?project_id=p/q', basic);
    expect((await service.query('imported', { project_id: 'p/q' })).body.items).toEqual([]);
    expect(await add('after')).toEqual({ added: 1, duplicates: 0, lacksFields: true });
    expect((await service.query('imported', { project_id: 'p/q' })).body.items).toMatchObject([
      { call_id: 'before' },
      { call_id: 'after' },
    ]);
    expect((await service.send('GET', '/annotation_queues/imported?project_id=p/q', basic)).body.queue).toMatchObject({
      name: 'imported',
      deleted_at: null,
    });
  });
});

describe('normalizeTimestamp', () => {
  it.each([
    ['2025-04-07T23:39:02+09:00', '2025-04-07T14:39:02.000000Z'],
    ['2025-06-17T10:07:59-07:00', '2025-06-17T17:07:59.000000Z'],
    ['2025-06-17T10:07:59', '2025-06-17T10:07:59.000000Z'],
    ['2025-06-17 10:07', '2025-06-17T10:07:00.000000Z'],
    ['2025-06-17T10:07:59,5+0530', '2025-06-17T04:37:59.500000Z'],
    ['2024-02-29T23:59:59.999999999z', '2024-02-29T23:59:59.999999Z'],
    ['0099-01-01T00:00:00Z', '0099-01-01T00:00:00.000000Z'],
    ['2025-11-22T20:01:27.310194Z', '2025-11-22T20:01:27.310194Z'],
    ['2025-11-30T20:01:27.310Z', '2025-11-30T20:01:27.310000Z'],
    ['2024-02-29T20:01:27.310Z', '2024-02-29T20:01:27.310000Z'],
    ['2025-12-31T20:01:27.310Z', '2025-12-31T20:01:27.310000Z'],
    ['2025-02-29T20:01:27.310Z', undefined],
    ['2025-02-30T20:01:27.310Z', undefined],
    ['2025-04-31T20:01:27.310Z', undefined],
    ['2025-02-29T00:00:00Z', undefined],
    ['2025-13-01T00:00:00Z', undefined],
    ['2025-01-01T24:00:00Z', undefined],
    ['2025-01-01T00:00:00+25:00', undefined],
    ['0000-01-01T00:00:00+14:00', undefined],
    ['2025-01-01', undefined],
    ['yesterday', undefined],
    ['2025-01-01T00:00:00Z ', undefined],
  ])('converts %s to %s', (text, utc) => expect(normalizeTimestamp(text)).toBe(utc));
});

describe('heddle service import', () => {
  it.skipIf(!hasReviewItems)(
    'loads real items once, and then counts all of them as duplicates (skipped without ../shared/data)',
    async () => {
      const data = await temporaryData();
      const environment = emptyHome(temporaryFolder(), storedIn(data));
      const args = ['service', 'import', reviewItems, '--project', 'demo/review', '--queue', 'reviewItems'];
      expect(await run(args, environment)).toMatchObject({ code: 0, stdout: '2142 added, 0 duplicates\n' });

      const service = await startTestService({ data });
      const read = async () => (await service.query('reviewItems', { project_id: 'demo/review' })).body.items;
      const before = await read();
      expect(before).toHaveLength(2142);
      const expected: string[] = [];
      for await (const line of createInterface(createReadStream(reviewItems))) expected.push(JSON.parse(line).call_id);
      expect(before.map((item: { call_id: string }) => item.call_id)).toEqual(expected);

      expect(await run(args, environment)).toMatchObject({ code: 0, stdout: '0 added, 2142 duplicates\n' });
      expect(await read()).toEqual(before);

      const paged: string[] = [];
      for (let offset = 0; ; offset += 100) {
        const { body } = await service.query('reviewItems', {
          project_id: 'demo/review',
          filter: { annotation_states: ['unstarted'] },
          sort_by: [{ field: 'call_started_at', direction: 'desc' }],
          limit: 100,
          offset,
        });
        if (body.items.length === 0) break;
        paged.push(...body.items.map((item: { id: string }) => item.id));
      }
      const unstarted = before.filter((item: { annotation_state: string }) => item.annotation_state === 'unstarted');
      expect(paged).toHaveLength(unstarted.length);
      expect(new Set(paged).size).toBe(unstarted.length);
    },
  );
});
