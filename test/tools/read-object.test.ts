import { describe, expect, it } from 'vitest';
import { connectClient } from '../support/client.ts';
import { emptyHome, temporaryFolder } from '../support/heddle.ts';
import { projectId, startServiceWithCalls } from '../support/service-with-calls.ts';

const { call } = await connectClient(emptyHome(temporaryFolder()));
const prefix = 'weave:///demo/support/object';
const digest = expect.stringMatching(/^weave:\/\/\/demo\/support\/object\/[\w-]+:[A-Za-z0-9]{43}$/);

describe('read_object', () => {
  it('reads pages of the rows that a dataset contains itself', async () => {
    const first = await call('read_object', { ref: `${prefix}/tickets:latest`, limit: 2 });
    expect(first).toMatchObject({ ref: digest, kind: 'dataset', version_index: 0, is_latest: true, next_offset: 2 });
    expect(first.rows).toHaveLength(2);
    expect(first.row_count).toBeGreaterThan(2);
    expect(first.text).toMatch(/^dataset, version 0, the latest: weave:\S+\n/);
    expect(first.text).toContain(`2 rows of ${first.row_count} from offset 0. More follow: next_offset 2.`);
    const rest = await call('read_object', { ref: first.ref, offset: 2 });
    expect(rest.rows).toHaveLength(first.row_count - 2);
    expect(rest).not.toHaveProperty('next_offset');
    const past = await call('read_object', { ref: first.ref, offset: 500 });
    expect(past.text).toContain(`No rows at offset 500: it has ${first.row_count}.`);
  });

  it('reads pages of the rows of a table', async () => {
    const rows = Array.from({ length: 25 }, (_, n) => ({ n }));
    const { dataset_ref: ref } = await call('create_dataset', { name: 'Numbers', rows });
    const first = await call('read_object', { ref });
    expect(first).toMatchObject({ row_count: 25, rows: rows.slice(0, 20), next_offset: 20, val: { name: 'Numbers' } });
    const rest = await call('read_object', { ref, offset: 20 });
    expect(rest).toMatchObject({ row_count: 25, rows: rows.slice(20), offset: 20 });
    expect(rest).not.toHaveProperty('next_offset');
  });

  it('reads an evaluation with the versions of its dataset and scorers', async () => {
    const { evaluation_ref } = await call('create_evaluation', {
      name: 'Read me',
      dataset: `${prefix}/tickets:latest`,
      scorers: [`${prefix}/brief:latest`],
      trials: 3,
    });
    const read = await call('read_object', { ref: evaluation_ref });
    expect(read).toMatchObject({
      kind: 'evaluation',
      val: { name: 'Read me', dataset: digest, scorers: [digest], trials: 3 },
    });
    expect(read.val).not.toHaveProperty('_class_name');
    expect(read.text).toContain('"trials":3');
  });

  it('reads a prompt with its variables', async () => {
    const [prompt] = (await call('list_objects', { kind: 'prompt' })).objects;
    const read = await call('read_object', { ref: prompt.reference });
    expect(read).toMatchObject({ kind: 'prompt MessagesPrompt', val: { messages: expect.any(Array) } });
    expect(read.variables.length).toBeGreaterThan(0);
    expect(read.text).toContain(`Variables: ${read.variables.join(', ')}.`);
  });

  it('reads a field of a queue', async () => {
    const [field] = (await call('list_objects', { kind: 'field' })).objects;
    expect(await call('read_object', { ref: field.reference })).toMatchObject({
      kind: 'field',
      val: { field_schema: { type: 'boolean' } },
    });
  });

  it('reads a part of an object', async () => {
    const read = await call('read_object', { ref: `${prefix}/tickets:latest/attr/rows/index/0` });
    expect(read).toMatchObject({ val: expect.any(Object) });
    const { error } = await call('read_object', { ref: `${prefix}/tickets:latest/attr/none` });
    expect(error).toMatchObject({ code: 'not_found', message: 'The object exists, but has no such part.' });
  });

  it('names the nearest objects for an unknown object, and the versions for an unknown version', async () => {
    const unknown = await call('read_object', { ref: `${prefix}/ticket:latest` });
    expect(unknown.error).toMatchObject({
      code: 'not_found',
      message: 'Project demo/support has no object ticket.',
      hint: expect.stringMatching(/^The nearest are weave:\/\/\/demo\/support\/object\/tickets:/),
    });
    const version = await call('read_object', { ref: `${prefix}/tickets:v9` });
    expect(version.error).toMatchObject({
      message: 'tickets has no version v9.',
      hint: expect.stringMatching(/^It has 1; the latest is weave:\/\/\/demo\/support\/object\/tickets:\w{43}\.$/),
    });
    const project = await call('read_object', { ref: 'weave:///demo/suport/object/tickets:latest' });
    expect(project.error).toMatchObject({
      message: 'There is no project demo/suport.',
      hint: expect.stringContaining('demo/support'),
    });
  });

  it('names the latest version of an op with a reference to an op', async () => {
    const started = await startServiceWithCalls();
    const { service, passwords } = started;
    const val = { _type: 'CustomWeaveType', weave_type: { type: 'Op' }, files: {} };
    const stored = await started.send('POST', '/obj/create', {
      obj: { project_id: projectId, object_id: 'answer', val },
    });
    const ada = { HEDDLE_BASE_URL: service.running.url, HEDDLE_USERNAME: 'ada', HEDDLE_PASSWORD: passwords.ada };
    const { call: read } = await connectClient(emptyHome(temporaryFolder(), ada));
    const { error } = await read('read_object', { ref: `weave:///${projectId}/object/answer:v9` });
    expect(error.hint).toBe(`It has 1; the latest is weave:///acme/support/op/answer:${stored.body.digest}.`);
  });

  it('takes the name of an object, and names the nearest objects for an unknown one', async () => {
    await call('create_prompt', { name: 'Kind answer', text: 'Answer kindly: {question}' });
    expect(await call('read_object', { ref: 'Kind answer' })).toMatchObject({
      ref: expect.stringMatching(/^weave:\/\/\/demo\/support\/object\/kind_answer:/),
      kind: 'prompt MessagesPrompt',
      variables: ['question'],
      sample_data: true,
    });
    expect(await call('read_object', { ref: 'tickets', limit: 1 })).toMatchObject({ kind: 'dataset', next_offset: 1 });
    expect((await call('read_object', { ref: 'Kind answr' })).error).toMatchObject({
      code: 'not_found',
      message: 'Project demo/support has no object kind_answr.',
      hint: expect.stringMatching(/^The nearest are weave:\/\/\/demo\/support\/object\/kind_answer:/),
    });
  });

  it.each([
    [
      'weave://tickets',
      'ref is no reference like weave:///entity/project/object/name:version.',
      'Call list_objects for references.',
    ],
    ['weave:///demo/support/call/support-0001', 'The reference is to a recorded call.', 'Pass its id to read_call.'],
  ])('refuses %s', async (ref, message, hint) => {
    const detail = [{ loc: ['arguments', 'ref'], msg: `No reference to an object: ${ref}` }];
    expect((await call('read_object', { ref })).error).toMatchObject({
      code: 'invalid_arguments',
      message,
      hint,
      detail,
    });
  });

  it('marks sample data, but not the data of other projects', async () => {
    expect(await call('read_object', { ref: `${prefix}/tickets:latest` })).toMatchObject({ sample_data: true });
    const { dataset_ref: ref } = await call('create_dataset', { name: 'Own', rows: [{ n: 1 }], project_id: 'me/own' });
    expect(await call('read_object', { ref })).not.toHaveProperty('sample_data');
  });

  it('cuts what is too large, and says where the rest begins', async () => {
    const { call: small } = await connectClient(emptyHome(temporaryFolder(), { HEDDLE_MAX_RESULT_CHARS: '2000' }));
    const rows = Array.from({ length: 30 }, (_, n) => ({ n, text: 'x'.repeat(200) }));
    const { dataset_ref: ref } = await small('create_dataset', { name: 'Large', rows });
    const read = await small('read_object', { ref });
    expect(read.rows.length).toBeLessThan(20);
    expect(read).toMatchObject({ row_count: 30, next_offset: read.rows.length });
    const scorer = { name: 'Long', kind: 'llm_judge', model: 'heddle/echo', prompt: `{output} ${'y'.repeat(5000)}` };
    const { scorer_ref } = await small('create_scorer', scorer);
    expect((await small('read_object', { ref: scorer_ref })).val.scoring_prompt).toMatch(/…\[\+\d+ characters\]$/);
  });
});
