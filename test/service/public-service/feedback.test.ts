import { describe, expect, it } from 'vitest';
import { execute } from '../../support/embedded-service.ts';
import { bodyOf, projectId, refusal, startServiceWithCalls, unknownId } from '../../support/service-with-calls.ts';

const service = await startServiceWithCalls();
const weave_ref = 'weave:///acme/support/call/call-0';
const scorerObject = `weave:///acme/support/object/tone:${'a'.repeat(43)}`;
const scorerOp = `weave:///acme/support/op/tone:${'a'.repeat(43)}`;

const note = { weave_ref, feedback_type: 'wandb.note.1', payload: { note: 'hm' } };

const create = (members: object) => service.post('/feedback/create', { ...note, ...members });
const createBatch = (batch: object[]) => service.send('POST', '/feedback/batch/create', { batch });

/** Stores the field `name` with boolean values and returns the reference to it. */
const createField = (name: string) =>
  service.createObject(name, { name, field_schema: { type: 'boolean' } }, { builtin_object_class: 'AnnotationSpec' });

describe('POST /feedback/create', () => {
  it('stores a note when every optional member is null', async () => {
    const members = {
      id: null,
      creator: null,
      annotation_ref: null,
      runnable_ref: null,
      call_ref: null,
      trigger_ref: null,
      wb_user_id: null,
    };
    expect(bodyOf(await create(members))).toEqual({
      id: expect.any(String),
      created_at: expect.any(String),
      wb_user_id: 'ada',
      payload: expect.any(Object),
    });
  });

  it('accepts a note of 1024 characters', async () => {
    expect(await create({ payload: { note: 'x'.repeat(1024) } })).toMatchObject({ status: 200 });
  });

  it.each([
    ['longer than 1024 characters', 'x'.repeat(1025)],
    ['without characters', ''],
  ])('refuses a note %s', async (_, text) => {
    expect(await create({ payload: { note: text } })).toEqual(refusal(400));
  });

  it.each(['👍', '👩🏽‍💻'])('accepts the one emoji %s as a reaction', async (emoji) => {
    expect(await create({ feedback_type: 'wandb.reaction.1', payload: { emoji } })).toMatchObject({ status: 200 });
  });

  it('refuses a reaction of two emojis', async () => {
    const payload = { emoji: '👍👎' };
    expect(await create({ feedback_type: 'wandb.reaction.1', payload })).toEqual(refusal(400));
  });

  it('accepts a payload just below 1 MiB', async () => {
    const payload = { text: 'x'.repeat(1024 * 1024 - 100) };
    expect(await create({ feedback_type: 'custom', payload })).toMatchObject({ status: 200 });
  });

  it('refuses a payload beyond 1 MiB', async () => {
    const payload = { text: 'x'.repeat(1024 * 1024) };
    expect(await create({ feedback_type: 'custom', payload })).toEqual(refusal(400));
  });
});

describe('POST /feedback/create of an annotation', () => {
  const annotate = (value: unknown, members: object = {}) =>
    create({ feedback_type: 'wandb.annotation.helpful', payload: { value }, ...members });

  it('refuses an annotation without annotation_ref', async () => {
    expect(await annotate(true)).toEqual(refusal(400));
  });

  it('accepts a value that fits the schema of the field', async () => {
    const annotation_ref = await createField('helpful');
    expect(await annotate(true, { annotation_ref })).toMatchObject({ status: 200, body: { wb_user_id: 'ada' } });
  });

  it('refuses a value that does not fit the schema of the field', async () => {
    const annotation_ref = await createField('helpful');
    expect(await annotate('not a boolean', { annotation_ref })).toEqual(refusal(400));
  });

  it('refuses a field with another name than the annotation', async () => {
    const annotation_ref = await createField('friendly');
    expect(await annotate(true, { annotation_ref })).toEqual(refusal(400));
  });

  it('refuses a field of another project', async () => {
    const members = { builtin_object_class: 'AnnotationSpec', project_id: 'acme/other' };
    const field = { name: 'helpful', field_schema: { type: 'boolean' } };
    const annotation_ref = await service.createObject('helpful', field, members);
    expect(await annotate(true, { annotation_ref })).toEqual(refusal(400));
  });

  it('refuses a field that does not exist', async () => {
    const annotation_ref = `weave:///acme/support/object/helpful:${'a'.repeat(43)}`;
    expect(await annotate(true, { annotation_ref })).toEqual(refusal(400));
  });

  it('accepts the id of a queue that exists', async () => {
    const annotation_ref = await createField('helpful');
    const queue_id = await service.createQueue();
    expect(await annotate(true, { annotation_ref, queue_id })).toMatchObject({ status: 200 });
  });

  it('refuses the id of an unknown queue', async () => {
    const annotation_ref = await createField('helpful');
    expect(await annotate(true, { annotation_ref, queue_id: unknownId })).toEqual(refusal(400));
  });
});

describe('POST /feedback/create of a scorer', () => {
  const score = { feedback_type: 'wandb.runnable.tone', payload: { output: { friendly: true } } };

  it('refuses a score without runnable_ref', async () => {
    expect(await create(score)).toEqual(refusal(400));
  });

  it('refuses a score without an output', async () => {
    expect(await create({ ...score, runnable_ref: scorerObject, payload: {} })).toEqual(refusal(400));
  });

  it('refuses the score of an op without call_ref', async () => {
    expect(await create({ ...score, runnable_ref: scorerOp })).toEqual(refusal(400));
  });

  it('accepts the score of an op with call_ref', async () => {
    const call_ref = 'weave:///acme/support/call/call-1';
    expect(await create({ ...score, runnable_ref: scorerOp, call_ref })).toMatchObject({ status: 200 });
  });

  it('accepts the score of an object with runnable_ref', async () => {
    expect(await create({ ...score, runnable_ref: scorerObject })).toMatchObject({ status: 200 });
  });
});

describe('POST /feedback/batch/create', () => {
  const withId = (id: string, members: object = {}) => ({ project_id: projectId, ...note, id, ...members });
  const stored = (prefix: string) =>
    execute(service.data, `select id from feedback where id like '${prefix}-%' order by id`);

  it('stores a batch and returns the results in its order', async () => {
    expect(bodyOf(await createBatch([withId('batch-b'), withId('batch-a'), withId('batch-c')]))).toEqual({
      res: ['batch-b', 'batch-a', 'batch-c'].map((id) => ({
        id,
        created_at: expect.any(String),
        wb_user_id: 'ada',
        payload: expect.any(Object),
      })),
    });
    expect((await stored('batch')).map(({ id }) => id)).toEqual(['batch-a', 'batch-b', 'batch-c']);
  });

  it('stores nothing when one member of the batch is refused', async () => {
    const tooLong = { payload: { note: 'x'.repeat(1025) } };
    const batch = [withId('refused-a'), withId('refused-b', tooLong), withId('refused-c')];
    expect(await createBatch(batch)).toEqual(refusal(400));
    expect(await stored('refused')).toEqual([]);
  });
});

describe('POST /feedback/query', () => {
  const ofCall = (members: object) => {
    const reference = { $literal: 'weave:///acme/support/call/call-5' };
    return service.post('/feedback/query', {
      query: { $expr: { $eq: [{ $getField: 'weave_ref' }, reference] } },
      sort_by: [{ field: 'created_at', direction: 'asc' }],
      ...members,
    });
  };

  it('returns the members that fields names, counts, and refuses unknown ones', async () => {
    await create({ ...note, weave_ref: 'weave:///acme/support/call/call-5', id: 'n1', creator: 'Ada' });
    const membersOf = async (request: object) => Object.keys(bodyOf(await ofCall(request)).result[0]).sort();
    expect(await membersOf({ fields: ['creator', 'payload'] })).toEqual(['creator', 'payload']);
    expect(bodyOf(await ofCall({ fields: ['count(*)'] })).result).toEqual([{ 'count(*)': 1 }]);
    expect(await ofCall({ fields: ['no_such_member'] })).toEqual(refusal(400));
    const $not = [{ $eq: [{ $getField: 'queue_id' }, { $literal: 'q' }] }];
    expect(await membersOf({ fields: ['wb_user_id'], query: { $expr: { $not } } })).toEqual(['wb_user_id']);
    expect(await membersOf({})).toHaveLength(13);
  });
});
