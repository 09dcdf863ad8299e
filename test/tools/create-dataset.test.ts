import { describe, expect, it } from 'vitest';
import { createQueue, judge, startBothServices } from '../support/both-services.ts';
import { connectClient } from '../support/client.ts';
import { emptyHome, temporaryFolder } from '../support/heddle.ts';

const services = await startBothServices();
const prompts = { prompt: 'inputs.prompt', reply: 'output.text' };
let datasets = 0;
/** Returns a name that no other dataset has. */
const newName = (): string => {
  datasets += 1;
  return `Set ${datasets}`;
};

describe.each(services)('create_dataset on $name', (service) => {
  const { ada, bob } = service;
  const rowsOf = async (ref: string) => (await ada.call('read_object', { ref })).rows;

  it('stores the judged items of a queue, with the judgement as the expected value', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-0', 'call-1', 'call-2', 'call-3']);
    await judge(ada, queue_id, ids, [false, true, false, undefined]);
    const name = newName();
    const map = { ...prompts, expected: 'judgement.helpful' };
    const args = { name, from_queue: { queue_id, filter: { field: 'helpful', value: false }, map } };
    const created = await ada.call('create_dataset', args);
    expect(created).toMatchObject({ row_count: 2, columns: ['prompt', 'reply', 'expected'], existed: false });
    expect(created).not.toHaveProperty('warnings');
    expect(created.dataset_ref).toMatch(/^weave:\/\/\/team\/project\/object\/set_\d+:[A-Za-z0-9]{43}$/);
    expect(await rowsOf(created.dataset_ref)).toEqual([
      { prompt: 'prompt 0', reply: 'response 0', expected: false },
      { prompt: 'prompt 2', reply: 'response 2', expected: false },
    ]);
    const again = await bob.call('create_dataset', args);
    expect(again).toMatchObject({ dataset_ref: created.dataset_ref, existed: true });
    expect(again.text).toMatch(/^Existed already: /);
  });

  it('takes the display fields without a map, and shows three rows in a dry run that stores nothing', async () => {
    const ids = ['call-0', 'call-1', 'call-2', 'call-3'];
    const { queue_id } = await createQueue(service, ids);
    const name = newName();
    const tried = await ada.call('create_dataset', { name, from_queue: { queue_id }, dry_run: true });
    expect(tried).toMatchObject({ row_count: 4, dry_run: true });
    expect(tried.rows).toHaveLength(3);
    expect(tried.text).toMatch(/^Dry run: nothing was stored\. There are 4 rows with the columns /);
    expect(tried).not.toHaveProperty('dataset_ref');
    expect((await ada.call('list_objects', { kind: 'dataset', name })).objects).toEqual([]);
  });

  it('says, also in a dry run, which version of a name stays', async () => {
    const name = newName();
    const { dataset_ref } = await ada.call('create_dataset', { name, rows: [{ a: 1 }] });
    const rows = [{ a: 2 }];
    expect(await ada.call('create_dataset', { name, rows, dry_run: true })).toMatchObject({
      previous_version: 0,
      text: expect.stringContaining(
        'There are 1 row with the columns a. The newest version of this name is 0; it stays. The first 1:',
      ),
    });
    const second = await ada.call('create_dataset', { name, rows });
    expect(second).toMatchObject({
      existed: false,
      previous_version: 0,
      text: `Stored: ${second.dataset_ref}, 1 row with the columns a. It is a new version after version 0, which stays.`,
    });
    expect(second.dataset_ref).not.toBe(dataset_ref);
  });

  it('takes the judgement of the annotator whom the filter names, and warns where annotators differ', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-0', 'call-1']);
    await judge(ada, queue_id, ids, [false, true]);
    await judge(bob, queue_id, ids, [true, true]);
    const map = { helpful: 'judgement.helpful' };
    const byAda = { name: newName(), from_queue: { queue_id, filter: { judged_by: service.nameOf('ada') }, map } };
    const { dataset_ref } = await ada.call('create_dataset', byAda);
    expect(await rowsOf(dataset_ref)).toEqual([{ helpful: false }, { helpful: true }]);
    const both = await ada.call('create_dataset', { name: newName(), from_queue: { queue_id, map } });
    expect(await rowsOf(both.dataset_ref)).toEqual([{ helpful: true }, { helpful: true }]);
    expect(both.warnings).toEqual([
      'Annotators differ about helpful in 1 row; the latest counts: call-0.',
      '1 row with the content of another row.',
    ]);
    expect(both.text).toContain(both.warnings[0]);
  });

  it('stores notes in a column', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-0', 'call-1']);
    const items = [{ item_id: ids[0], note: 'Too long.' }];
    await ada.call('update_queue_items', { queue_id, items });
    const args = { name: newName(), from_queue: { queue_id, map: { prompt: 'inputs.prompt', remark: 'note' } } };
    const { dataset_ref, warnings } = await ada.call('create_dataset', args);
    expect(await rowsOf(dataset_ref)).toEqual([{ prompt: 'prompt 0', remark: 'Too long.' }, { prompt: 'prompt 1' }]);
    expect(warnings).toEqual(['1 row without remark: note does not exist in call-1.']);
  });

  it('warns which rows lack a path, and leaves the column out of them', async () => {
    const { queue_id } = await createQueue(service, ['newer', 'call-0']);
    const map = { question: 'inputs.question', reply: 'output.text' };
    const { dataset_ref, warnings } = await ada.call('create_dataset', {
      name: newName(),
      from_queue: { queue_id, map },
    });
    expect(await rowsOf(dataset_ref)).toEqual(
      expect.arrayContaining([{ question: 'Where?', reply: 'Over THERE' }, { reply: 'response 0' }]),
    );
    expect(warnings).toEqual(['1 row without question: inputs.question does not exist in call-0.']);
  });

  it('refuses a path that no row has, and names the nearest', async () => {
    const { queue_id } = await createQueue(service, ['call-0', 'call-1']);
    const create = async (map: object) =>
      (await ada.call('create_dataset', { name: newName(), from_queue: { queue_id, map } })).error;
    expect(await create({ reply: 'outputs.text' })).toMatchObject({
      code: 'invalid_arguments',
      message: 'Nothing was stored: outputs.text exists in no row.',
      hint: expect.stringContaining('The nearest paths are output.text'),
    });
    expect(await create({ reply: 'judgement.helpfull' })).toMatchObject({
      code: 'invalid_arguments',
      message: `Queue ${queue_id} has no field "helpfull".`,
      detail: [expect.objectContaining({ loc: ['arguments', 'from_queue', 'map', 'reply'] })],
      hint: expect.stringContaining('helpful'),
    });
    expect(await create({ reply: 'judgement.helpful' })).toMatchObject({
      message: 'Nothing was stored: judgement.helpful exists in no row.',
    });
  });

  it('refuses a filter that matches nothing, and an unknown queue', async () => {
    const { queue_id } = await createQueue(service, ['call-0']);
    const create = async (from_queue: object) =>
      (await ada.call('create_dataset', { name: newName(), from_queue })).error;
    expect(await create({ queue_id, filter: { annotation_states: ['completed'] } })).toMatchObject({
      code: 'not_found',
      message: 'Nothing was stored: no item of the queue matches the filter.',
    });
    expect(await create({ queue_id: 'none' })).toMatchObject({
      code: 'not_found',
      message: 'Project team/project has no queue with the id "none".',
    });
  });

  it('refuses a name that an object of another class has', async () => {
    await ada.call('create_scorer', { name: 'Taken name', kind: 'json_valid' });
    const { error } = await ada.call('create_dataset', { name: 'taken Name', rows: [{ a: 1 }] });
    expect(error).toMatchObject({
      code: 'invalid_arguments',
      message: 'Nothing was stored: taken_name is the name of an object of the class Scorer.',
    });
  });
});

describe('create_dataset', () => {
  const connect = (more: Record<string, string> = {}) => connectClient(emptyHome(temporaryFolder(), more));
  const ref = 'weave:///demo/support/object/given:latest';

  it('stores rows with different columns', async () => {
    const { call } = await connect();
    const rows = [
      { question: 'a', n: 1 },
      { question: 'b', list: [{ x: null }] },
    ];
    expect(await call('create_dataset', { name: 'Given', description: 'By hand.', rows })).toMatchObject({
      row_count: 2,
      columns: ['question', 'n', 'list'],
      existed: false,
    });
    expect(await call('read_object', { ref })).toMatchObject({ rows, val: { name: 'Given', description: 'By hand.' } });
    const evaluation = await call('create_evaluation', { name: 'Of given', dataset: ref });
    expect(evaluation).toMatchObject({ existed: false });
  });

  it('warns of a column that a judge prompt cannot use', async () => {
    const { call } = await connect();
    const { warnings } = await call('create_dataset', { name: 'Given', rows: [{ output: 'x' }] });
    expect(warnings).toEqual([
      'A judge prompt cannot use the column output: {output} is what the evaluated model answers.',
    ]);
  });

  it('never stores a secret that heddle knows', async () => {
    const secret = 'token-of-the-user-7f3a';
    const { call } = await connect({ HEDDLE_TOKEN: secret });
    const rows = [{ question: `My key is ${secret}`, [secret]: 1 }];
    const created = await call('create_dataset', { name: 'Given', rows, description: `With ${secret}` });
    expect(created.warnings).toEqual(['Secrets in the rows were replaced by [secret].']);
    const stored = await call('read_object', { ref });
    expect(stored.rows).toEqual([{ question: 'My key is [secret]', '[secret]': 1 }]);
    expect(stored.val.description).toBe('With [secret]');
    const other = await connect();
    expect(JSON.stringify(await other.call('list_objects', { kind: 'dataset' }))).not.toContain(secret);
  });

  it.each([
    [{ name: 'Both', rows: [{ a: 1 }], from_queue: { queue_id: 'q' } }, 'needs either rows or from_queue'],
    [{ name: 'None' }, 'needs either rows or from_queue'],
    [{ name: 'No row', rows: [] }, 'rows'],
    [{ name: 'A number', rows: [1] }, 'must be an object'],
    [{ name: 'Wrong:name', rows: [{ a: 1 }] }, 'must be 1 to 128 letters'],
    [{ name: 'No column', from_queue: { queue_id: 'q', map: {} } }, 'needs a column'],
    [{ name: 'Other', from_queue: { queue_id: 'q', filter: { judgedby: 'ada' } } }, 'did you mean judged_by?'],
  ])('refuses %j', async (args, message) => {
    const { call } = await connect();
    expect((await call('create_dataset', args)).error).toMatchObject({
      code: 'invalid_arguments',
      message: expect.stringContaining(message),
    });
  });
});
