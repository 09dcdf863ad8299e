import { describe, expect, it } from 'vitest';
import {
  advanceClock,
  bodyOf,
  callIds,
  projectId,
  refusal,
  startServiceWithCalls,
  unknownId,
} from '../../support/service-with-calls.ts';

const service = await startServiceWithCalls();
const toneField = 'weave:///acme/support/scorer/tone:abc123';

const create = (members: object) =>
  service.post('/annotation_queues', { name: 'Triage', description: '', scorer_refs: [], ...members });
const change = (id: string, members: object) =>
  service.send('PUT', `/annotation_queues/${id}`, { project_id: projectId, ...members });
const read = (id: string) => service.send('GET', `/annotation_queues/${id}?project_id=${projectId}`);
const remove = (id: string) => service.send('DELETE', `/annotation_queues/${id}?project_id=${projectId}`);
const counts = (queue_ids: string[]) => service.post('/annotation_queues/stats', { queue_ids });

/** Returns the names of the queues that a request finds. */
async function names(request: object): Promise<string[]> {
  const queues = bodyOf(await service.post('/annotation_queues/query', request));
  return queues.map(({ name }: { name: string }) => name);
}

describe('POST /annotation_queues', () => {
  it('creates a queue with an empty description when the request has none', async () => {
    const created = bodyOf(await create({ description: undefined }));
    expect(created).toEqual({ id: expect.any(String) });
    expect(bodyOf(await read(created.id)).queue.description).toBe('');
  });

  it('creates a queue when wb_user_id is null', async () => {
    expect(bodyOf(await create({ description: 'Read the tone', scorer_refs: [toneField], wb_user_id: null }))).toEqual({
      id: expect.any(String),
    });
  });

  it('creates a queue from a name, a description and scorer references, and returns its id alone', async () => {
    expect(bodyOf(await create({ description: 'Read the tone', scorer_refs: [toneField] }))).toEqual({
      id: expect.any(String),
    });
  });
});

describe('POST /annotation_queues/query', () => {
  it('finds queues by part of their name in another case', async () => {
    for (const name of ['Night Shift Queue', 'Night Shift Queue', 'Day Shift Queue']) await create({ name });
    expect(await names({ name: 'night shift' })).toEqual(['Night Shift Queue', 'Night Shift Queue']);
  });

  it('lists every queue of the project when all optional members are null', async () => {
    const project_id = 'acme/nulls';
    await create({ project_id, name: 'only' });
    expect(await names({ project_id, name: null, sort_by: null, limit: null, offset: null })).toEqual(['only']);
  });

  it.each([
    ['asc', ['first', 'second', 'third']],
    ['desc', ['third', 'second', 'first']],
  ])('sorts by id %s', async (direction, expected) => {
    const project_id = `acme/by-id-${direction}`;
    // Ids begin with the time of their creation.
    for (const name of ['first', 'second', 'third']) {
      advanceClock();
      await create({ project_id, name });
    }
    expect(await names({ project_id, sort_by: [{ field: 'id', direction }] })).toEqual(expected);
  });

  it('ignores an unknown sort field and lists the newest queue first', async () => {
    const project_id = 'acme/unknown-field';
    for (const name of ['b', 'c', 'a']) {
      advanceClock();
      await create({ project_id, name });
    }
    expect(await names({ project_id, sort_by: [{ field: 'nope', direction: 'asc' }] })).toEqual(['a', 'c', 'b']);
  });
});

describe('POST /annotation_queues/stats', () => {
  it('returns a row for each requested id, even for a repeated or unknown one', async () => {
    const queue = await service.createQueue({ calls: callIds });
    const { stats } = bodyOf(await counts([queue, queue, unknownId]));
    const row = { queue_id: queue, total_items: 6, completed_items: 0 };
    expect(stats).toHaveLength(3);
    expect(stats.filter(({ queue_id }: { queue_id: string }) => queue_id === queue)).toEqual([row, row]);
    expect(stats).toContainEqual({ queue_id: unknownId, total_items: 0, completed_items: 0 });
  });

  it('returns no rows for an empty list of ids', async () => {
    expect(bodyOf(await counts([]))).toEqual({ stats: [] });
  });

  it('still counts an item as completed when another annotator has started it since', async () => {
    const queue = await service.createQueue({ calls: callIds });
    bodyOf(await service.move(queue, 'call-0', 'completed'));
    advanceClock();
    bodyOf(await service.move(queue, 'call-0', 'in_progress', 'bob'));
    expect(bodyOf(await counts([queue])).stats).toEqual([{ queue_id: queue, total_items: 6, completed_items: 1 }]);
  });
});

describe('GET /annotation_queues/{queue_id}', () => {
  it('refuses an unknown queue with status 404', async () => {
    expect(await read(unknownId)).toEqual(refusal(404));
  });

  it('returns every member of a queue', async () => {
    const description = 'Read the tone';
    const { id } = bodyOf(await create({ name: 'Shape', description, scorer_refs: [toneField] }));
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)$/);
    expect(bodyOf(await read(id))).toEqual({
      queue: {
        id,
        project_id: 'acme/support',
        name: 'Shape',
        description: 'Read the tone',
        scorer_refs: ['weave:///acme/support/scorer/tone:abc123'],
        created_at: time,
        created_by: 'ada',
        updated_at: time,
        deleted_at: null,
        // Members of the embedded service only.
        reviewers_per_item: null,
        assignees: null,
      },
    });
  });
});

describe('PUT /annotation_queues/{queue_id}', () => {
  it('changes the name and the description, and returns the queue', async () => {
    const { id } = bodyOf(await create({ description: 'Read the tone' }));
    const { queue } = bodyOf(await change(id, { name: 'Renamed', description: 'Read it twice' }));
    expect(queue).toMatchObject({ id, name: 'Renamed', description: 'Read it twice', deleted_at: null });
    expect(bodyOf(await read(id)).queue).toEqual(queue);
  });

  it.each([
    [{ name: 'Other' }, { name: 'Other', description: 'Read the tone', scorer_refs: [toneField] }],
    [{ description: 'Other' }, { name: 'Triage', description: 'Other', scorer_refs: [toneField] }],
    [{ scorer_refs: [] }, { name: 'Triage', description: 'Read the tone', scorer_refs: [] }],
    [
      { name: null, description: 'Other', scorer_refs: null },
      { name: 'Triage', description: 'Other', scorer_refs: [toneField] },
    ],
  ])('changes only what is given: %j', async (members, expected) => {
    const { id } = bodyOf(await create({ description: 'Read the tone', scorer_refs: [toneField] }));
    bodyOf(await change(id, members));
    expect(bodyOf(await read(id)).queue).toMatchObject(expected);
  });
});

describe('DELETE /annotation_queues/{queue_id}', () => {
  it('returns the queue with the time of its deletion', async () => {
    const { id } = bodyOf(await create({ name: 'Retired' }));
    expect(bodyOf(await remove(id)).queue).toMatchObject({ id, name: 'Retired', deleted_at: expect.any(String) });
  });

  it('hides the queue and its items', async () => {
    const queue = await service.createQueue({ name: 'Hidden Queue', calls: callIds });
    expect(await service.items(queue, {}, 'call_id')).toHaveLength(6);
    bodyOf(await remove(queue));
    expect(await read(queue)).toEqual(refusal(404));
    expect(await names({ name: 'hidden queue' })).toEqual([]);
    expect(await service.items(queue, {}, 'call_id')).toEqual([]);
  });
});

describe('deviations, listed in docs/service.md', () => {
  it('gives a queue an id of 17 characters instead of a UUID', async () => {
    expect(bodyOf(await create({})).id).toMatch(/^[0-9a-z]{17}$/);
  });
});
