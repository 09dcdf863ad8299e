import { describe, expect, it } from 'vitest';
import { connectClient } from '../support/client.ts';
import { emptyHome, temporaryFolder } from '../support/heddle.ts';
import { startRecordedService } from '../support/recorded-service.ts';

const refunds = {
  name: 'Refunds',
  guidelines: 'Judge the answer, not the question.',
  fields: [
    { name: 'correct', type: 'boolean' },
    { name: 'tone', type: 'choice', choices: ['kind', 'rude'] },
    { name: 'score', type: 'integer', min: 1, max: 5, description: 'Overall quality' },
  ],
};
const fields = [
  { name: 'correct', type: 'boolean' },
  { name: 'tone', choices: ['kind', 'rude'] },
  { name: 'score', type: 'integer', min: 1, max: 5, description: 'Overall quality' },
];

const connect = () => connectClient(emptyHome(temporaryFolder()));

describe('create_queue', () => {
  it('creates a queue that list_queues shows with its guidelines and fields', async () => {
    const { call } = await connect();
    const created = await call('create_queue', refunds);
    expect(created).toMatchObject({ queue_id: expect.any(String), fields, existed: false });
    expect(created.text).toContain(
      `Created the queue: ${created.queue_id}. Fields: correct (boolean); tone (one of ["kind","rude"]); score (integer, 1 to 5): Overall quality`,
    );
    expect((await call('list_queues', { name: 'refunds' })).queues).toEqual([
      {
        id: created.queue_id,
        name: 'Refunds',
        guidelines: refunds.guidelines,
        guidelines_version: expect.stringMatching(/^[0-9a-f]{8}$/),
        fields,
        remaining: 0,
        total: 0,
      },
    ]);
  });

  it('returns the existing queue when it is called again', async () => {
    const { call } = await connect();
    const { queue_id } = await call('create_queue', refunds);
    const again = await call('create_queue', { ...refunds, name: ' Refunds ' });
    expect(again).toMatchObject({ queue_id, fields, existed: true });
    expect(again.text).toContain(`The same queue existed already: ${queue_id}.`);
    expect((await call('list_queues', { name: 'Refunds' })).queues).toHaveLength(1);
  });

  it.each([
    ['guidelines', { ...refunds, guidelines: 'Be strict.' }],
    ['fields', { ...refunds, fields: [{ name: 'correct', type: 'string' }] }],
    ['guidelines and fields', { name: 'Refunds' }],
    ['spelling', { ...refunds, name: 'refunds' }],
  ])('refuses the name of a queue with other %s, stores nothing, and says what to do', async (difference, changed) => {
    const { call } = await connect();
    const { queue_id } = await call('create_queue', refunds);
    const { error } = await call('create_queue', changed);
    expect(error).toMatchObject({
      code: 'conflict',
      message: `Nothing was created: queue ${queue_id} has the name "Refunds" already, with other ${difference}.`,
      hint: `To change that queue, call update_queue with queue_id ${queue_id} (name, guidelines, add_fields). For a second queue, choose another name.`,
    });
    expect((await call('list_queues', { name: 'refunds' })).queues).toHaveLength(1);
    expect((await call('list_objects', { kind: 'field', name: 'correct', versions: true })).objects).toHaveLength(1);
  });

  it('stores who is to judge how often, and distinguishes queues by it', async () => {
    const { call } = await connect();
    const reviewers = { reviewers_per_item: { people: 2, agents: 1 }, assignees: ['ada'] };
    const { queue_id, warnings } = await call('create_queue', { ...refunds, ...reviewers });
    expect(warnings).toBeUndefined();
    expect(await call('create_queue', { ...refunds, ...reviewers })).toMatchObject({ queue_id, existed: true });
    expect((await call('create_queue', refunds)).error).toMatchObject({
      code: 'conflict',
      message: `Nothing was created: queue ${queue_id} has the name "Refunds" already, with other reviewers.`,
    });
    const { queue_id: two } = await call('create_queue', { name: 'Two', reviewers_per_item: 2 });
    await call('add_queue_items', { queue_id: two, call_ids: ['support-0001'] });
    expect((await call('claim_queue_items', { queue_id: two })).items).toHaveLength(1);
  });

  it('warns at a service that does not keep who is to judge', async () => {
    const service = await startRecordedService();
    const { call } = await connectClient(service.environmentOf('ada'));
    const { queue_id, warnings } = await call('create_queue', { name: 'Two', reviewers_per_item: 2 });
    expect(warnings).toEqual([
      'This service keeps neither reviewers_per_item nor assignees: pass reviewers_per_item to claim_queue_items.',
    ]);
    expect(await call('create_queue', { name: 'Two', reviewers_per_item: 2 })).toMatchObject({
      queue_id,
      existed: true,
      warnings,
    });
  });

  it('ignores a queue whose name only contains the name', async () => {
    const { call } = await connect();
    await call('create_queue', { name: 'Refunds of 2026' });
    expect(await call('create_queue', { name: 'Refunds' })).toMatchObject({ existed: false });
  });

  it.each([
    ['choices', { name: 'a', type: 'choice' }, 'is needed for the type choice'],
    ['choices', { name: 'a', type: 'string', choices: ['x'] }, 'fits only the type choice'],
    ['choices', { name: 'a', type: 'choice', choices: ['x', 'x'] }, 'has a value twice'],
    ['min', { name: 'a', type: 'integer', min: 5, max: 1 }, 'must not be greater than max'],
    ['max', { name: 'a', type: 'boolean', max: 1 }, 'fits only the types number and integer'],
    ['min', { name: 'a', type: 'integer', min: 0.5 }, 'must be an integer'],
    ['name', { name: 'is it good?', type: 'boolean' }, 'must be 1 to 128 letters, digits, _ . or -'],
  ])('refuses a field with wrong %s: %j', async (member, field, msg) => {
    const service = await startRecordedService();
    const { call } = await connectClient(service.environmentOf('ada'));
    const { error } = await call('create_queue', { name: 'Q', fields: [field] });
    expect(error.code).toBe('invalid_arguments');
    expect(error.message).toContain(`fields.0.${member}: ${msg}`);
    expect(error.detail).toMatchObject([{ loc: ['arguments', 'fields', 0, member] }]);
    expect(service.requests).toEqual([]);
  });

  it.each(['text', 'string'])('shows a field created as %s as text', async (type) => {
    const { call } = await connect();
    const { fields: created } = await call('create_queue', { name: 'Remarks', fields: [{ name: 'remark', type }] });
    expect(created).toEqual([{ name: 'remark', type: 'text' }]);
    expect((await call('list_queues', { name: 'Remarks' })).text).toContain('remark (text)');
  });

  it('refuses two fields of the same name', async () => {
    const { call } = await connect();
    const { error } = await call('create_queue', {
      name: 'Q',
      fields: [fields[0], { name: 'Correct', type: 'number' }],
    });
    expect(error.message).toContain('fields.1.name: Correct appears twice');
  });

  it('and update_queue refuse a field named note, which stands for notes where judgements are taken back', async () => {
    const { call } = await connect();
    const field = { name: 'note', type: 'text' };
    const fault = '0.name: cannot be note, which stands for the notes of annotators';
    expect((await call('create_queue', { name: 'Q', fields: [field] })).error.message).toContain(fault);
    const { queue_id } = await call('create_queue', refunds);
    expect((await call('update_queue', { queue_id, add_fields: [field] })).error.message).toContain(fault);
  });

  it('makes update_queue_items refuse a judgement that does not fit a field', async () => {
    const { call } = await connect();
    const { queue_id } = await call('create_queue', refunds);
    const change = { item_id: 'none', annotation_state: 'completed', judgements: { score: 6 } };
    const { error } = await call('update_queue_items', { queue_id, items: [change], dry_run: true });
    expect(error.message).toContain('6 does not fit the field score (integer, 1 to 5).');
  });

  it('stores the fields as AnnotationSpec objects, and the queue with their digests', async () => {
    const service = await startRecordedService();
    const { call } = await connectClient(service.environmentOf('ada'));
    const created = await call('create_queue', refunds);
    expect(created).toMatchObject({ queue_id: 'created-1', existed: false });
    const spec = { project_id: 'team/project', builtin_object_class: 'AnnotationSpec' };
    const val = (name: string, field_schema: object, rest = {}) => ({ name, ...rest, field_schema });
    const score = { type: 'integer', minimum: 1, maximum: 5 };
    const objects = service.bodiesOf('/obj/create').map(({ obj }) => obj);
    expect(objects.toSorted((a, b) => (a.object_id < b.object_id ? -1 : 1))).toEqual([
      { ...spec, object_id: 'correct', val: val('correct', { type: 'boolean' }) },
      { ...spec, object_id: 'score', val: val('score', score, { description: 'Overall quality' }) },
      { ...spec, object_id: 'tone', val: val('tone', { type: 'string', enum: ['kind', 'rude'] }) },
    ]);
    const reference = (name: string, letter: string) => `weave:///team/project/object/${name}:${letter.repeat(43)}`;
    expect(service.bodiesOf('/annotation_queues')).toEqual([
      {
        project_id: 'team/project',
        name: 'Refunds',
        description: 'Judge the answer, not the question.',
        scorer_refs: [reference('correct', 'C'), reference('tone', 'T'), reference('score', 'S')],
      },
    ]);
    expect(await call('create_queue', refunds)).toMatchObject({ queue_id: 'created-1', existed: true });
    expect(service.bodiesOf('/annotation_queues')).toHaveLength(1);
  });
});
