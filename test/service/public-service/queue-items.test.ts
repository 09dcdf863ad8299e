import { describe, expect, it } from 'vitest';
import {
  advanceClock,
  bodyOf,
  callIds,
  invalidAt,
  refusal,
  startServiceWithCalls,
  unknownId,
} from '../../support/service-with-calls.ts';

const service = await startServiceWithCalls();
const byStart = [{ field: 'call_started_at', direction: 'asc' }];

const add = (queue: string, call_ids: string[]) =>
  service.post(`/annotation_queues/${queue}/items`, { call_ids, display_fields: ['inputs.prompt'] });

/** Returns the calls of the items that a request finds, in their order. */
async function calls(queue: string, request: object): Promise<unknown[]> {
  return (await service.items(queue, request, 'call_id')).map(({ call_id }) => call_id);
}

describe('POST /annotation_queues/{queue_id}/items', () => {
  // The calls that the queue has, those that are added, and the counts in the response.
  it.each([
    ['adds recorded calls', [], ['call-0', 'call-1'], 2, 0],
    ['counts calls that the queue has as duplicates', ['call-0', 'call-1'], ['call-0', 'call-1', 'call-2'], 1, 2],
    ['skips an unknown call silently', [], ['call-3', 'missing'], 1, 0],
    ['adds only the calls that the queue lacks', ['call-3'], ['call-3', 'call-4', 'call-5'], 2, 1],
    ['adds a new call once when it is named twice, and counts no duplicate', [], ['call-0', 'call-0'], 1, 0],
  ])('%s', async (_, before, call_ids, added_count, duplicates) => {
    const queue = await service.createQueue({ calls: before });
    expect(bodyOf(await add(queue, call_ids))).toEqual({ added_count, duplicates });
    expect(await calls(queue, {})).toHaveLength(before.length + added_count);
  });
});

describe('POST /annotation_queues/{queue_id}/items/query', () => {
  it('numbers the items in the requested order', async () => {
    const queue = await service.createQueue({ calls: ['call-2', 'call-5', 'call-0', 'call-1', 'call-4', 'call-3'] });
    const request = { sort_by: byStart, include_position: true };
    expect(await service.items(queue, request, 'call_id', 'position_in_queue')).toEqual([
      { call_id: 'call-0', position_in_queue: 1 },
      { call_id: 'call-1', position_in_queue: 2 },
      { call_id: 'call-2', position_in_queue: 3 },
      { call_id: 'call-3', position_in_queue: 4 },
      { call_id: 'call-4', position_in_queue: 5 },
      { call_id: 'call-5', position_in_queue: 6 },
    ]);
  });

  it('returns every member of an item, with an empty annotator before anyone has worked on it', async () => {
    const display_fields = ['inputs.prompt', 'output.text'];
    const queue = await service.createQueue({ calls: ['call-0'], display_fields });
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z?$/);
    expect(bodyOf(await service.queryItems(queue, { filter: { call_id: 'call-0' } }))).toEqual({
      items: [
        {
          id: expect.any(String),
          project_id: 'acme/support',
          queue_id: queue,
          call_id: 'call-0',
          call_started_at: time,
          call_ended_at: time,
          call_op_name: 'plan',
          call_trace_id: 'trace-0',
          display_fields: ['inputs.prompt', 'output.text'],
          added_by: 'ada',
          annotation_state: 'unstarted',
          annotator_user_id: '',
          created_at: time,
          created_by: 'ada',
          updated_at: time,
          deleted_at: null,
          position_in_queue: null,
        },
      ],
    });
  });

  it('ignores an unknown sort field and lists the oldest item first', async () => {
    const queue = await service.createQueue();
    for (const call of ['call-2', 'call-0', 'call-1']) {
      advanceClock();
      bodyOf(await add(queue, [call]));
    }
    const sort_by = [{ field: 'annotation_state', direction: 'asc' }];
    expect(await calls(queue, { sort_by })).toEqual(['call-2', 'call-0', 'call-1']);
  });

  it('ignores an unknown member of the filter', async () => {
    const queue = await service.createQueue({ calls: callIds });
    expect(await calls(queue, { filter: { annotator: 'x' } })).toHaveLength(6);
  });

  it('returns every item when all optional members are null', async () => {
    const queue = await service.createQueue({ calls: callIds });
    const filter = {
      id: null,
      call_id: null,
      call_op_name: null,
      call_trace_id: null,
      added_by: null,
      annotation_states: null,
    };
    const request = { filter, sort_by: null, limit: null, offset: null, include_position: false };
    expect(await calls(queue, request)).toHaveLength(6);
  });

  it('returns no items for an unknown queue', async () => {
    expect(bodyOf(await service.queryItems(unknownId))).toEqual({ items: [] });
  });

  it('refuses a sort direction in upper case', async () => {
    const sort_by = [{ field: 'created_at', direction: 'DESC' }];
    expect(await service.queryItems(unknownId, { sort_by })).toMatchObject(
      invalidAt('body', 'sort_by', 0, 'direction'),
    );
  });

  it('refuses null for include_position', async () => {
    expect(await service.queryItems(unknownId, { include_position: null })).toMatchObject(
      invalidAt('body', 'include_position'),
    );
  });

  it('refuses a filter by a state that does not exist', async () => {
    expect(await service.queryItems(unknownId, { filter: { annotation_states: ['done'] } })).toMatchObject(
      invalidAt('body', 'filter', 'annotation_states', 0),
    );
  });

  it('filters by the shown state, after numbering the items', async () => {
    const queue = await service.createQueue({ calls: callIds });
    bodyOf(await service.move(queue, 'call-0', 'completed'));
    bodyOf(await service.move(queue, 'call-1', 'skipped'));
    const request = { filter: { annotation_states: ['skipped'] }, sort_by: byStart, include_position: true };
    expect(await service.items(queue, request, 'call_id', 'annotation_state', 'position_in_queue')).toEqual([
      { call_id: 'call-1', annotation_state: 'skipped', position_in_queue: 2 },
    ]);
  });
});

describe('deviations, listed in docs/service.md', () => {
  it('counts position_in_queue over the whole queue under a filter by call', async () => {
    const queue = await service.createQueue({ calls: callIds });
    const request = { filter: { call_id: 'call-4' }, sort_by: byStart, include_position: true };
    expect(await service.items(queue, request, 'call_id', 'position_in_queue')).toEqual([
      { call_id: 'call-4', position_in_queue: 5 },
    ]);
  });

  it('counts position_in_queue over the whole queue on the second page under a filter by operation', async () => {
    const queue = await service.createQueue({ calls: callIds });
    const page = { limit: 2, offset: 1 };
    const request = { filter: { call_op_name: 'chat' }, sort_by: byStart, include_position: true, ...page };
    expect(await service.items(queue, request, 'call_id', 'position_in_queue')).toEqual([
      { call_id: 'call-3', position_in_queue: 4 },
      { call_id: 'call-5', position_in_queue: 6 },
    ]);
  });

  it('gives an item an id of 17 characters instead of a UUID', async () => {
    const queue = await service.createQueue({ calls: ['call-0'] });
    expect((await service.item(queue, 'call-0')).id).toMatch(/^[0-9a-z]{17}$/);
  });

  it('writes the times of items to the precision that they have', async () => {
    const queue = await service.createQueue({ calls: ['call-0'] });
    expect(await service.item(queue, 'call-0')).toMatchObject({
      call_started_at: '2026-01-01T00:00:00.000',
      call_ended_at: '2026-01-01T00:00:00.000',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+$/),
      updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+$/),
    });
  });

  it('refuses to add calls to a queue that does not exist', async () => {
    expect(await add(unknownId, ['call-0'])).toEqual(refusal(404));
  });
});
