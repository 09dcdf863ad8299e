import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { basic, execute, startTestService, withStore } from '../../support/embedded-service.ts';

const service = await startTestService();

const helpful = {
  project_id: 'p/q',
  weave_ref: 'weave:///p/q/call/c1',
  feedback_type: 'wandb.annotation.helpful',
  payload: { value: true },
};

const create = (members: object = {}, who = basic) =>
  service.send('POST', '/feedback/create', who, { ...helpful, ...members });

const stored = (where: string) => execute(service.data, `select * from feedback where ${where}`);

describe('createFeedback', () => {
  it('stores every member of the feedback', async () => {
    const { status, body } = await create({ queue_id: 'q1', annotation_ref: 'weave:///p/q/object/a:v0', id: 'chosen' });
    expect([status, body]).toEqual([
      200,
      {
        id: 'chosen',
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        wb_user_id: 'tester',
        payload: { value: true },
      },
    ]);
    expect((await stored("id = 'chosen'")).map((row) => ({ ...row }))).toEqual([
      {
        project_id: 'p/q',
        id: 'chosen',
        weave_ref: 'weave:///p/q/call/c1',
        feedback_type: 'wandb.annotation.helpful',
        payload: '{"value":true}',
        annotation_ref: 'weave:///p/q/object/a:v0',
        queue_id: 'q1',
        created_at: body.created_at,
        wb_user_id: 'tester',
      },
    ]);
  });

  it('creates a new id for feedback without one', async () => {
    const ids = [(await create()).body.id, (await create({ id: null })).body.id];
    expect(ids).toEqual([expect.stringMatching(/^[0-9a-z]{17}$/), expect.stringMatching(/^[0-9a-z]{17}$/)]);
    expect(ids[0]).not.toBe(ids[1]);
  });

  it('returns the stored feedback when the same id and content is sent again, by any account', async () => {
    const ada = await withStore(service.data, (store) => store.addUser('ada'));
    const payload = { value: { b: 1, a: [2] } };
    const first = await create({ id: 'again', payload });
    expect((await create({ id: 'again', payload: { value: { a: [2], b: 1 } }, queue_id: null })).body).toEqual(
      first.body,
    );
    expect((await create({ id: 'again', payload }, `Basic ${btoa(`ada:${ada.password}`)}`)).body).toEqual(first.body);
    expect(await stored("id = 'again'")).toHaveLength(1);
    expect((await create({ id: 'again', project_id: 'p/other' })).status).toBe(200);
  });

  it.each([
    { payload: { value: false } },
    { payload: { value: true, note: 'x' } },
    { weave_ref: 'weave:///p/q/call/c2' },
    { feedback_type: 'wandb.annotation.tone' },
    { queue_id: 'q1' },
    { annotation_ref: 'weave:///p/q/object/a:v0' },
  ])('refuses a stored id with other content: %j', async (members) => {
    expect((await create({ id: 'taken' })).status).toBe(200);
    expect(await create({ id: 'taken', ...members })).toMatchObject({
      status: 409,
      body: { reason: 'Feedback taken exists with other content' },
    });
    expect(await stored("id = 'taken'")).toMatchObject([{ payload: '{"value":true}' }]);
  });

  it('stores an id once when many requests send it at the same time', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => create({ id: 'burst' })));
    for (const { status, body } of answers) expect([status, body]).toEqual([200, answers[0]!.body]);
    expect(await stored("id = 'burst'")).toHaveLength(1);
  });

  it('stores ids once when 4 processes send them at the same time', async () => {
    const file = fileURLToPath(new URL('../../support/feedback-worker.ts', import.meta.url));
    const run = () => promisify(execFile)(process.execPath, ['--import', 'tsx', file, service.data, '50']);
    const outputs = await Promise.all([run(), run(), run(), run()]);
    const [first] = outputs;
    expect(first!.stdout.split('\n')).toHaveLength(51);
    for (const { stdout, stderr } of outputs) expect([stdout, stderr]).toEqual([first!.stdout, '']);
    expect(await stored("id like 'shared-%'")).toHaveLength(50);
  }, 60_000);

  it('refuses a payload that is not an object', async () => {
    expect(await create({ payload: 5 })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'payload'], type: 'record_type' }] },
    });
  });
});
