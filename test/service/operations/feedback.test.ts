import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { basic, execute, startTestService, withStore } from '../../support/embedded-service.ts';

const service = await startTestService();
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

const post = async (path: string, body: object) => {
  const answer = await service.send('POST', path, basic, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body;
};

async function createField(name: string, field_schema: object, project_id = 'p/q'): Promise<string> {
  const obj = { project_id, object_id: name, val: { name, field_schema }, builtin_object_class: 'AnnotationSpec' };
  const { digest } = await post('/obj/create', { obj });
  return `weave:///${project_id}/object/${name}:${digest}`;
}

const helpfulRef = await createField('helpful', { type: 'boolean' });
const queue = { project_id: 'p/q', name: 'queue', scorer_refs: [helpfulRef] };
const { id: queue_id } = await post('/annotation_queues', queue);

/** Feedback of a type of our own, of which only the size is checked. */
const free = {
  project_id: 'p/q',
  weave_ref: 'weave:///p/q/call/c1',
  feedback_type: 'mood',
  payload: { value: true },
};
const helpful = { ...free, feedback_type: 'wandb.annotation.helpful', annotation_ref: helpfulRef };

const create = (members: object = {}, who = basic) =>
  service.send('POST', '/feedback/create', who, { ...free, ...members });

const stored = (where: string) => execute(service.data, `select * from feedback where ${where}`);

const refusal = (reason: string) => ({ status: 400, body: { reason: `Invalid feedback: ${reason}` } });

describe('createFeedback', () => {
  it('stores every member of the feedback', async () => {
    const { status, body } = await create({ ...helpful, queue_id, creator: 'Ada', id: 'chosen' });
    expect([status, body]).toEqual([
      200,
      { id: 'chosen', created_at: time, wb_user_id: 'tester', payload: { value: true } },
    ]);
    expect((await stored("id = 'chosen'")).map((row) => ({ ...row }))).toEqual([
      {
        project_id: 'p/q',
        id: 'chosen',
        weave_ref: 'weave:///p/q/call/c1',
        feedback_type: 'wandb.annotation.helpful',
        payload: '{"value":true}',
        annotation_ref: helpfulRef,
        runnable_ref: null,
        call_ref: null,
        trigger_ref: null,
        queue_id,
        creator: 'Ada',
        created_at: body.created_at,
        wb_user_id: 'tester',
        memory_bytes: 992,
      },
    ]);
  });

  it('accepts null for every optional member, and ignores unknown members and the given author', async () => {
    const nulls = {
      annotation_ref: null,
      runnable_ref: null,
      call_ref: null,
      trigger_ref: null,
      queue_id: null,
      creator: null,
    };
    const { status, body } = await create({ ...nulls, id: null, wb_user_id: 'eve', span_id: 's', colour: 'red' });
    expect([status, body.wb_user_id]).toEqual([200, 'tester']);
  });

  it('creates a new id for feedback without one', async () => {
    const ids = [(await create()).body.id, (await create({ id: null })).body.id];
    expect(ids).toEqual([expect.stringMatching(/^[0-9a-z]{17}$/), expect.stringMatching(/^[0-9a-z]{17}$/)]);
    expect(ids[0]).not.toBe(ids[1]);
  });

  it('returns the stored feedback when the same account sends the same id and content again', async () => {
    const payload = { value: { b: 1, a: [2] } };
    const first = await create({ id: 'again', payload });
    expect((await create({ id: 'again', payload: { value: { a: [2], b: 1 } }, queue_id: null })).body).toEqual(
      first.body,
    );
    expect(await stored("id = 'again'")).toHaveLength(1);
    expect((await create({ id: 'again', project_id: 'p/other' })).status).toBe(200);
  });

  it('stores the same id once per account, with the same content or another', async () => {
    const ada = await withStore(service.data, (store) => store.addUser('ada', 'all'));
    const asAda = `Basic ${btoa(`ada:${ada.password}`)}`;
    expect((await create({ id: 'shared' })).body).toMatchObject({ id: 'shared', wb_user_id: 'tester' });
    expect((await create({ id: 'shared' }, asAda)).body).toMatchObject({ id: 'shared', wb_user_id: 'ada' });
    expect((await create({ id: 'own', payload: { value: 1 } })).status).toBe(200);
    expect((await create({ id: 'own', payload: { value: 2 } }, asAda)).body).toMatchObject({ payload: { value: 2 } });
    expect(await stored("id in ('shared', 'own')")).toHaveLength(4);
  });

  it.each([
    { payload: { value: false } },
    { payload: { value: true, note: 'x' } },
    { weave_ref: 'weave:///p/q/call/c2' },
    { feedback_type: 'tone' },
    { queue_id },
    { feedback_type: 'wandb.annotation.helpful', annotation_ref: helpfulRef },
  ])('refuses a stored id with other content: %j', async (members) => {
    expect((await create({ id: 'taken' })).status).toBe(200);
    expect(await create({ id: 'taken', ...members })).toMatchObject({
      status: 409,
      body: { reason: 'Feedback taken exists with other content' },
    });
    expect(await stored("id = 'taken'")).toMatchObject([{ feedback_type: 'mood', payload: '{"value":true}' }]);
  });

  it.each([
    { runnable_ref: 'weave:///p/q/op/judge:v1' },
    { call_ref: 'weave:///p/q/call/other' },
    { trigger_ref: 'weave:///p/q/call/trigger' },
  ])('refuses the id of a stored score with another reference: %j', async (members) => {
    const score = {
      feedback_type: 'wandb.runnable.judge',
      payload: { output: 1 },
      runnable_ref: 'weave:///p/q/op/judge:v0',
      call_ref: 'weave:///p/q/call/judging',
    };
    expect((await create({ ...score, id: 'score' })).status).toBe(200);
    expect(await create({ ...score, id: 'score', ...members })).toMatchObject({ status: 409 });
  });

  it('stores later feedback with a later time, also in a process whose clock is behind', async () => {
    const other = await startTestService({ data: service.data });
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2030-01-01T00:00:10.000Z') });
    onTestFinished(() => void vi.useRealTimers());
    const members = { weave_ref: 'weave:///p/q/call/skewed', feedback_type: 'mood' };
    const first = await create({ ...members, payload: { value: 'first' } });
    vi.setSystemTime(Date.parse('2030-01-01T00:00:00.000Z'));
    const body = { ...free, ...members, payload: { value: 'second' } };
    const second = await other.send('POST', '/feedback/create', basic, body);
    const elsewhere = await create({ weave_ref: 'weave:///p/q/call/elsewhere' });
    expect([first, second, elsewhere].map((answer) => answer.body.created_at)).toEqual([
      '2030-01-01T00:00:10.000Z',
      '2030-01-01T00:00:10.001Z',
      '2030-01-01T00:00:00.000Z',
    ]);
  });

  it('stores an id once when many requests send it at the same time', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => create({ id: 'burst' })));
    for (const { status, body } of answers) expect([status, body]).toEqual([200, answers[0]!.body]);
    expect(await stored("id = 'burst'")).toHaveLength(1);
  });

  it.each([
    [{ payload: 5 }, 'payload', 'record_type'],
    [{ payload: undefined }, 'payload', 'missing'],
    [{ weave_ref: undefined }, 'weave_ref', 'missing'],
    [{ feedback_type: '' }, 'feedback_type', 'greater_than_equal'],
    [{ project_id: 'p' }, 'project_id', 'string_pattern_mismatch'],
  ])('refuses feedback with the invalid member %j', async (members, member, type) => {
    expect(await create(members)).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', member], type }] } });
  });

  it('accepts a payload of 1 MiB and refuses a larger one, counted in bytes of JSON', async () => {
    const around = Buffer.byteLength('{"text":""}');
    const largest = 'é'.repeat((1024 * 1024 - around - 1) / 2);
    expect(await create({ payload: { text: `${largest}x` } })).toMatchObject({ status: 200 });
    expect(await create({ payload: { text: `${largest}xx` } })).toMatchObject(refusal('the payload is over 1 MiB'));
  });

  it.each([
    [{ annotation_ref: helpfulRef }, 'only annotations have an annotation_ref'],
    [
      { runnable_ref: 'weave:///p/q/op/judge:v0' },
      'only feedback of a runnable has a runnable_ref, call_ref or trigger_ref',
    ],
    [{ call_ref: 'weave:///p/q/call/c' }, 'only feedback of a runnable has a runnable_ref, call_ref or trigger_ref'],
    [
      { ...helpful, trigger_ref: 'weave:///p/q/call/c' },
      'only feedback of a runnable has a runnable_ref, call_ref or trigger_ref',
    ],
    [{ queue_id: 'nowhere' }, 'queue nowhere not found'],
  ])('refuses a member that does not fit the type: %j', async (members, reason) => {
    expect(await create(members)).toMatchObject(refusal(reason));
  });

  it('refuses the id of a queue that is deleted or of another project', async () => {
    const { id } = await post('/annotation_queues', { ...queue, name: 'short-lived' });
    expect((await create({ queue_id: id })).status).toBe(200);
    expect(await create({ queue_id: id, project_id: 'p/other' })).toMatchObject(refusal(`queue ${id} not found`));
    await service.send('DELETE', `/annotation_queues/${id}?project_id=p/q`, basic);
    expect(await create({ queue_id: id })).toMatchObject(refusal(`queue ${id} not found`));
  });
});

describe('createFeedback of notes and reactions', () => {
  it.each([
    ['wandb.note.1', { note: 'x' }, 200],
    ['wandb.note.1', { note: 'x'.repeat(1024), more: 1 }, 200],
    ['wandb.note.1', { note: 'x'.repeat(1025) }, 400],
    ['wandb.note.1', { note: '' }, 400],
    ['wandb.note.1', { note: 5 }, 400],
    ['wandb.note.1', {}, 400],
    ['wandb.reaction.1', { emoji: '👍' }, 200],
    ['wandb.reaction.1', { emoji: '👩🏽‍💻' }, 200],
    ['wandb.reaction.1', { emoji: '👍👎' }, 400],
    ['wandb.reaction.1', { emoji: 'good' }, 400],
    ['wandb.reaction.1', { emoji: '' }, 400],
    ['wandb.reaction.1', {}, 400],
  ])('responds to %s with the payload %j with status %i', async (feedback_type, payload, status) => {
    expect((await create({ feedback_type, payload })).status).toBe(status);
  });

  it('names the member of the payload that does not fit', async () => {
    const { body } = await create({ feedback_type: 'wandb.note.1', payload: { note: '' } });
    expect(body.reason).toMatch(/^Invalid feedback: the payload does not fit wandb.note.1: .* at note$/s);
  });
});

describe('createFeedback of annotations', () => {
  it.each([
    [{ annotation_ref: undefined }, 'an annotation needs annotation_ref'],
    [{ annotation_ref: null }, 'an annotation needs annotation_ref'],
    [{ annotation_ref: 'helpful' }, 'annotation_ref is no reference to an object: helpful'],
    [
      { annotation_ref: helpfulRef.replace('/object/', '/op/') },
      `annotation_ref is no reference to an object: ${helpfulRef.replace('/object/', '/op/')}`,
    ],
    [
      { feedback_type: 'wandb.annotation.tone' },
      'annotation_ref names helpful, which is not the field of wandb.annotation.tone',
    ],
    [
      { feedback_type: 'wandb.annotationx' },
      'annotation_ref names helpful, which is not the field of wandb.annotationx',
    ],
    [{ feedback_type: 'wandb.annotation' }, 'annotation_ref names helpful, which is not the field of wandb.annotation'],
    [{ feedback_type: 'wandb.annotationx', annotation_ref: null }, 'an annotation needs annotation_ref'],
    [{ annotation_ref: 'weave:///p/q/object/helpful:latest' }, 'annotation_ref needs a digest'],
    [{ annotation_ref: 'weave:///p/q/object/helpful:v0' }, 'annotation_ref needs a digest'],
    [
      { annotation_ref: 'weave:///p/q/object/helpful:unknown' },
      'annotation_ref weave:///p/q/object/helpful:unknown not found',
    ],
    [{ project_id: 'p/other' }, 'annotation_ref is of another project'],
  ])('refuses an annotation with %j', async (members, reason) => {
    expect(await create({ ...helpful, ...members })).toMatchObject(refusal(reason));
  });

  it('refuses an object that is not a field', async () => {
    const { digest } = await post('/obj/create', { obj: { project_id: 'p/q', object_id: 'plain', val: { type: 1 } } });
    const annotation_ref = `weave:///p/q/object/plain:${digest}`;
    const feedback_type = 'wandb.annotation.plain';
    expect(await create({ feedback_type, annotation_ref })).toMatchObject(
      refusal('annotation_ref is not an AnnotationSpec'),
    );
  });

  it('refuses an annotation without a value', async () => {
    const { status, body } = await create({ ...helpful, payload: { score: 1 } });
    expect([status, body.reason]).toEqual([
      400,
      expect.stringMatching(/^Invalid feedback: the payload does not fit wandb.annotation.helpful: .* at value$/s),
    ]);
  });

  // The schema of a field, a value, and whether the value fits.
  it.each([
    [{ type: 'boolean' }, false, true],
    [{ type: 'boolean' }, 'true', false],
    [{ type: 'boolean' }, null, false],
    [{ type: 'integer', minimum: 1, maximum: 5 }, 5, true],
    [{ type: 'integer', minimum: 1, maximum: 5 }, 6, false],
    [{ type: 'integer', minimum: 1, maximum: 5 }, 1.5, false],
    [{ type: 'number', minimum: 0 }, 0.5, true],
    [{ type: 'number', minimum: 0 }, -0.5, false],
    [{ type: 'string', enum: ['good', 'bad'] }, 'good', true],
    [{ type: 'string', enum: ['good', 'bad'] }, 'Good', false],
    [{ type: ['string', 'null'] }, null, true],
    [{ type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }, { a: 'x' }, true],
    [{ type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }, {}, false],
    [{}, ['anything'], true],
    // A pattern from outside could take forever.
    [{ type: 'string', pattern: '^(a+)+$' }, `${'a'.repeat(40)}!`, true],
    // A schema that cannot be used fits nothing.
    [{ $ref: '#' }, 1, false],
  ])('checks the value by the schema of the field: %j, %j, %j', async (schema, value, fits) => {
    const annotation_ref = await createField('checked', schema);
    const feedback_type = 'wandb.annotation.checked';
    expect(await create({ feedback_type, annotation_ref, payload: { value } })).toMatchObject(
      fits ? { status: 200 } : refusal('the value does not fit the schema of the field'),
    );
  });

  it('checks the value by the version of the field that the reference names', async () => {
    const older = await createField('versions', { type: 'boolean' });
    const newer = await createField('versions', { type: 'string' });
    const feedback_type = 'wandb.annotation.versions';
    expect(await create({ feedback_type, annotation_ref: older, payload: { value: true } })).toMatchObject({
      status: 200,
    });
    expect((await create({ feedback_type, annotation_ref: newer, payload: { value: true } })).status).toBe(400);
  });
});

describe('createFeedback of scores', () => {
  const op = 'weave:///p/q/op/judge:v0';
  const object = 'weave:///p/q/object/judge:v0';
  const call_ref = 'weave:///p/q/call/judging';
  const score = { feedback_type: 'wandb.runnable.judge', payload: { output: { correct: true } } };

  it.each([
    { runnable_ref: object },
    { runnable_ref: object, call_ref },
    { runnable_ref: op, call_ref },
    { runnable_ref: op, call_ref, trigger_ref: 'weave:///p/q/call/trigger' },
    { runnable_ref: object, payload: { output: null } },
  ])('accepts %j', async (members) => {
    expect(await create({ ...score, ...members })).toMatchObject({ status: 200 });
  });

  it.each([
    [{}, 'feedback of a runnable needs runnable_ref, a reference to an object or an op'],
    [{ call_ref }, 'feedback of a runnable needs runnable_ref, a reference to an object or an op'],
    [{ runnable_ref: call_ref }, 'feedback of a runnable needs runnable_ref, a reference to an object or an op'],
    [{ runnable_ref: 'judge' }, 'feedback of a runnable needs runnable_ref, a reference to an object or an op'],
    [{ runnable_ref: op }, 'feedback of an op needs call_ref'],
    [
      { runnable_ref: 'weave:///p/q/object/tone:v0' },
      'runnable_ref names tone, which is not that of wandb.runnable.judge',
    ],
    [{ runnable_ref: object, annotation_ref: helpfulRef }, 'only annotations have an annotation_ref'],
  ])('refuses %j', async (members, reason) => {
    expect(await create({ ...score, ...members })).toMatchObject(refusal(reason));
  });

  it('refuses a score without an output', async () => {
    const { status, body } = await create({ ...score, runnable_ref: object, payload: { value: 1 } });
    expect([status, body.reason]).toEqual([400, expect.stringContaining('at output')]);
  });
});

describe('createFeedbackBatch', () => {
  const createBatch = (batch: object[]) =>
    service.send('POST', '/feedback/batch/create', basic, { batch: batch.map((members) => ({ ...free, ...members })) });
  const result = (id: string, value: unknown) => ({ id, created_at: time, wb_user_id: 'tester', payload: { value } });

  it('returns the stored feedback in the order of the request', async () => {
    const { status, body } = await createBatch([
      { id: 'batch-b', payload: { value: 1 } },
      { ...helpful, id: 'batch-a' },
      { id: 'batch-c', payload: { value: 3 }, project_id: 'p/other' },
    ]);
    expect([status, body]).toEqual([
      200,
      { res: [result('batch-b', 1), result('batch-a', true), result('batch-c', 3)] },
    ]);
    expect(await stored("id like 'batch-%' order by id")).toMatchObject([
      { id: 'batch-a', project_id: 'p/q', annotation_ref: helpfulRef },
      { id: 'batch-b', project_id: 'p/q' },
      { id: 'batch-c', project_id: 'p/other' },
    ]);
  });

  it('creates an id for each feedback without one', async () => {
    const { body } = await createBatch([{}, {}]);
    expect(new Set(body.res.map(({ id }: { id: string }) => id)).size).toBe(2);
  });

  it('stores an id that the batch repeats once', async () => {
    const { status, body } = await createBatch([{ id: 'twice' }, { id: 'twice' }]);
    expect([status, body.res]).toEqual([200, [result('twice', true), result('twice', true)]]);
    expect(await stored("id = 'twice'")).toHaveLength(1);
  });

  it('returns the same again when the batch is repeated', async () => {
    const batch = [{ id: 'repeated-1' }, { id: 'repeated-2', payload: { value: 2 } }];
    const first = await createBatch(batch);
    expect((await createBatch(batch)).body).toEqual(first.body);
    expect(await stored("id like 'repeated-%'")).toHaveLength(2);
  });

  it.each([
    ['refused', { ...helpful, payload: { value: 'yes' } }, 400],
    ['too long', { feedback_type: 'wandb.note.1', payload: { note: 'x'.repeat(1025) } }, 400],
    ['stored with other content', { id: 'half-1', payload: { value: 'other' } }, 409],
  ])('stores nothing when the last feedback is %s', async (_, members, status) => {
    expect((await createBatch([{ id: 'half-1' }, { id: 'half-2' }, members])).status).toBe(status);
    expect(await stored("id like 'half-%'")).toEqual([]);
  });

  it('locates an invalid member in the batch', async () => {
    expect(await createBatch([{}, { payload: 5 }])).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'batch', 1, 'payload'], type: 'record_type' }] },
    });
  });

  it('accepts 1000 feedbacks, and none, but not 1001', async () => {
    expect((await createBatch([])).body).toEqual({ res: [] });
    const thousand = Array.from({ length: 1000 }, (_, index) => ({ payload: { value: index } }));
    const { body } = await createBatch(thousand);
    expect(body.res.map(({ payload }: { payload: { value: number } }) => payload.value)).toEqual([...thousand.keys()]);
    expect(await createBatch([...thousand, {}])).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'batch'], type: 'less_than_equal' }] },
    });
  });
});

const field = (path: string) => ({ $getField: path });
const literal = (value: unknown) => ({ $literal: value });

describe('queryFeedback and purgeFeedback', () => {
  const project_id = 'p/queried';
  const query = async (members: object = {}): Promise<string[]> => {
    const { result } = await post('/feedback/query', { project_id, ...members });
    return result.map(({ id }: { id: string }) => id);
  };
  const purge = ($expr: object) => service.send('POST', '/feedback/purge', basic, { project_id, query: { $expr } });
  const named = (id: string) => ({ $eq: [field('id'), literal(id)] });

  it('queries by columns and by any other member, sorts, pages, and returns every member', async () => {
    for (const [id, value] of [
      ['a', 1],
      ['b', 2],
      ['c', 3],
    ] as const) {
      const weave_ref = `weave:///${project_id}/call/${id === 'c' ? 'c2' : 'c1'}`;
      expect((await create({ project_id, id, weave_ref, payload: { value } })).status).toBe(200);
    }
    const ofCall = { $eq: [field('weave_ref'), literal(`weave:///${project_id}/call/c1`)] };
    const isLarge = { $gt: [{ $convert: { input: field('payload.value'), to: 'double' } }, literal(1)] };
    const byId = [{ field: 'id', direction: 'desc' }];
    expect((await query()).sort()).toEqual(['a', 'b', 'c']);
    expect(await query({ query: { $expr: ofCall }, sort_by: byId })).toEqual(['b', 'a']);
    expect(await query({ query: { $expr: isLarge }, sort_by: byId })).toEqual(['c', 'b']);
    expect(await query({ query: { $expr: { $and: [ofCall, isLarge] } } })).toEqual(['b']);
    expect(await query({ sort_by: byId, limit: 1, offset: 1 })).toEqual(['b']);
    expect(await query({ query: { $expr: isLarge }, sort_by: byId, limit: 1, offset: 1 })).toEqual(['b']);
    const { result } = await post('/feedback/query', { project_id, query: { $expr: named('a') } });
    expect(result).toEqual([
      {
        project_id,
        id: 'a',
        weave_ref: `weave:///${project_id}/call/c1`,
        feedback_type: 'mood',
        payload: { value: 1 },
        annotation_ref: null,
        runnable_ref: null,
        call_ref: null,
        trigger_ref: null,
        queue_id: null,
        creator: null,
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}$/),
        wb_user_id: 'tester',
      },
    ]);
  });

  it('delete and replace what another account of the project has given, as at the public service', async () => {
    const { password } = await withStore(service.data, (store) => store.addUser('bob', [project_id]));
    const asBob = `Basic ${btoa(`bob:${password}`)}`;
    for (const id of ['kept', 'purged', 'replaced']) expect((await create({ project_id, id })).status).toBe(200);
    const authors = async () => {
      const query = { $expr: { $or: ['kept', 'purged', 'replaced', 'new'].map(named) } };
      const { result } = await post('/feedback/query', { project_id, query });
      return result.map(({ id, wb_user_id }: { id: string; wb_user_id: string }) => `${wb_user_id} ${id}`).sort();
    };
    const purged = { project_id, query: { $expr: named('purged') } };
    expect((await service.send('POST', '/feedback/purge', asBob, purged)).status).toBe(200);
    const replaced = { ...free, project_id, id: 'new', feedback_id: 'replaced' };
    expect((await service.send('POST', '/feedback/replace', asBob, replaced)).status).toBe(200);
    expect(await authors()).toEqual(['bob new', 'tester kept']);
    await post('/feedback/purge', { project_id, query: { $expr: { $or: ['kept', 'new'].map(named) } } });
  });

  it('deletes feedback by its ids only', async () => {
    const unrelated = { $eq: [field('feedback_type'), literal('mood')] };
    for (const refused of [unrelated, { $or: [named('a'), unrelated] }, { $or: [] }]) {
      expect(await purge(refused)).toMatchObject({
        status: 400,
        body: { reason: 'Can only purge by one or more ids' },
      });
    }
    expect((await query()).sort()).toEqual(['a', 'b', 'c']);
    expect(await purge(named('a'))).toMatchObject({ status: 200, body: {} });
    expect(await purge({ $or: [named('b'), named('unknown')] })).toMatchObject({ status: 200, body: {} });
    expect(await query()).toEqual(['c']);
  });
});
