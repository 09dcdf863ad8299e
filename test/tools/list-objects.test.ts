import { describe, expect, it } from 'vitest';
import { connectClient } from '../support/client.ts';
import { sendResponse, startFakeService } from '../support/fake-service.ts';
import { emptyHome, temporaryFolder } from '../support/heddle.ts';
import { startScriptedModel } from '../support/scripted-model.ts';

describe('list_objects', () => {
  it('lists references that create_evaluation accepts, and models that run_inference accepts', async () => {
    const { call } = await connectClient(emptyHome(temporaryFolder()));
    const { objects } = await call('list_objects', { kind: 'dataset' });
    expect(objects).toMatchObject([{ object_id: 'tickets', version_index: 0 }]);
    const created = await call('create_evaluation', { name: 'From the list', dataset: objects[0].reference });
    expect(created.version_index).toBe(0);
    expect((await call('list_objects', { kind: 'evaluation' })).objects).toMatchObject([
      { object_id: 'from_the_list', reference: created.evaluation_ref },
    ]);

    const [model] = (await call('list_objects', { kind: 'model' })).objects;
    expect(model).toMatchObject({ id: 'heddle/echo' });
    const messages = [{ role: 'user', content: 'Hi' }];
    expect(await call('run_inference', { model: model.id, messages })).toMatchObject({
      response: { choices: [{ finish_reason: 'stop' }] },
    });
  });

  it("lists the embedded service's own model beside those of a model provider, on the last page", async () => {
    const { url } = await startScriptedModel(() => '');
    const { call } = await connectClient(emptyHome(temporaryFolder(), { HEDDLE_MODEL_PROVIDER_URL: url }));
    const list = async (args: object): Promise<string[]> =>
      (await call('list_objects', { kind: 'model', ...args })).objects.map(({ id }: { id: string }) => id);
    expect(await list({})).toEqual(['judge', 'small', 'heddle/echo']);
    expect(await list({ limit: 2 })).toEqual(['judge', 'small']);
    expect(await list({ limit: 2, offset: 2 })).toEqual(['heddle/echo']);
  });

  it('says how many objects it shows, or that there are none', async () => {
    const { call } = await connectClient(emptyHome(temporaryFolder()));
    const { text } = await call('list_objects', { kind: 'scorer' });
    expect(text).toMatch(/^2 scorers from offset 0\. This is the last page\.\n/);
    expect(text).toContain('weave:///demo/support/object/names_label:');
    expect((await call('list_objects', { kind: 'scorer', offset: 5 })).text).toMatch(
      /^No scorers at offset 5: 2 match\.\n/,
    );
    expect((await call('list_objects', { kind: 'scorer', project_id: 'demo/suport' })).error).toMatchObject({
      code: 'not_found',
      hint: 'The nearest projects are demo/support. Pass one of them as project_id.',
    });
    expect((await call('list_objects', { kind: 'model', offset: 1 })).text).toMatch(
      /^No models at offset 1: 1 match\.\nNow: /,
    );
  });

  it('shows what a service says of its models, members of its own last', async () => {
    const service = await startFakeService();
    const data = [1, 2].map((n) => ({
      id: `m${n}`,
      created_at: `2026-01-0${n}`,
      owned_by: `o${n}`,
      description: `d${n}`,
    }));
    service.respond = (request) => sendResponse(request, 200, { data });
    const { call } = await connectClient(emptyHome(temporaryFolder(), service.environment));
    expect((await call('list_objects', { kind: 'model' })).text).toContain(
      '\nid\tdescription\tcreated_at\towned_by\nm1\td1\t2026-01-01\to1\n',
    );
  });

  it('returns next_offset while more objects follow', async () => {
    const { call } = await connectClient(emptyHome(temporaryFolder()));
    const first = await call('list_objects', { kind: 'scorer', limit: 1 });
    expect(first).toMatchObject({ offset: 0, next_offset: 1 });
    const last = await call('list_objects', { kind: 'scorer', limit: 1, offset: 1 });
    const names = [...first.objects, ...last.objects].map(({ object_id }) => object_id);
    expect(names.sort()).toEqual(['brief', 'names_label']);
    expect(last.next_offset).toBeUndefined();
  });

  it('asks for the latest versions, the newest first, without their contents', async () => {
    const service = await startFakeService();
    const { call } = await connectClient(emptyHome(temporaryFolder(), service.environment));
    await call('list_objects', { kind: 'scorer', limit: 5, offset: 10 });
    await call('list_objects', { kind: 'op' });
    expect(service.requests.map(({ path, body }) => [path, JSON.parse(body)])).toEqual([
      [
        '/objs/query',
        {
          project_id: 'team/project',
          filter: { is_op: false, base_object_classes: ['Scorer'], latest_only: true },
          sort_by: [{ field: 'created_at', direction: 'desc' }],
          metadata_only: true,
          limit: 6,
          offset: 10,
        },
      ],
      ['/objs/query', expect.objectContaining({ filter: { is_op: true, latest_only: true }, limit: 1000 })],
    ]);
  });

  it('keeps the latest of the versions that an older service lists, some of them without a name', async () => {
    const service = await startFakeService();
    const version = (object_id: string, version_index: number) => ({
      object_id,
      version_index,
      digest: `${object_id}${version_index}`,
      name: null,
    });
    service.respond = (request) => {
      if (request.path === '/objs/query') return sendResponse(request, 404, { detail: 'Not Found' });
      const versions = [version('a', 0), version('b', 0), version('a', 1), version('c', 0)];
      sendResponse(request, 200, versions.map((line) => `${JSON.stringify(line)}\n`).join(''), {
        'content-type': 'application/x-ndjson',
      });
    };
    const { call } = await connectClient(emptyHome(temporaryFolder(), service.environment));
    const first = await call('list_objects', { kind: 'evaluation', limit: 2 });
    expect(first.objects.map(({ reference }: { reference: string }) => reference)).toEqual([
      'weave:///team/project/object/c:c0',
      'weave:///team/project/object/a:a1',
    ]);
    expect(first.next_offset).toBe(2);
    expect((await call('list_objects', { kind: 'evaluation', offset: 2 })).objects).toMatchObject([{ object_id: 'b' }]);
    expect((await call('list_objects', { kind: 'op' })).error).toMatchObject({ code: 'unsupported' });
  });

  it('finds objects by a part of their name, and the versions of one', async () => {
    const { call } = await connectClient(emptyHome(temporaryFolder()));
    for (const n of [1, 2, 3]) await call('create_dataset', { name: 'Refund questions', rows: [{ n }] });
    await call('create_dataset', { name: 'Refund answers', rows: [{ n: 1 }] });
    const namesOf = ({ objects }: { objects: { object_id: string; version_index: number }[] }) =>
      objects.map(({ object_id, version_index }) => `${object_id} ${version_index}`);
    expect(namesOf(await call('list_objects', { kind: 'dataset', name: 'Refund Q' }))).toEqual(['refund_questions 2']);
    expect(namesOf(await call('list_objects', { kind: 'dataset', name: 'refund', limit: 1 }))).toEqual([
      'refund_answers 0',
    ]);
    for (const name of ['refund_questions', 'Refund questions']) {
      expect(namesOf(await call('list_objects', { kind: 'dataset', name, versions: true })).sort()).toEqual([
        'refund_questions 0',
        'refund_questions 1',
        'refund_questions 2',
      ]);
    }
    expect((await call('list_objects', { kind: 'dataset', name: 'none' })).objects).toEqual([]);
    expect((await call('list_objects', { kind: 'dataset', versions: true })).error).toMatchObject({
      code: 'invalid_arguments',
      message: expect.stringContaining('versions: needs the name of a stored object'),
    });
  });

  it('lists stored models as a kind of their own, and scorers with their class', async () => {
    const { call } = await connectClient(emptyHome(temporaryFolder()));
    await call('create_scorer', { name: 'Judge', kind: 'llm_judge', model: 'heddle/echo', prompt: '{output}' });
    await call('create_scorer', { name: 'Valid', kind: 'json_valid' });
    const classes = async (kind: string, name?: string) =>
      (await call('list_objects', { kind, name })).objects.map((one: { object_id: string; class?: string }) => [
        one.object_id,
        one.class,
      ]);
    const models = await call('list_objects', { kind: 'stored_model' });
    expect(models).toMatchObject({ objects: [], left_out: 1 });
    expect(models.text).toContain(
      'No stored_models match. 1 model that runs and judges stored left out; a part of its name finds one.',
    );
    expect(await classes('stored_model', 'judge')).toEqual([['judge-model', 'LLMStructuredCompletionModel']]);
    expect(await classes('scorer', 'judge')).toEqual([['judge', 'LLMAsAJudgeScorer']]);
    expect(await classes('scorer', 'valid')).toEqual([['valid', 'HeddleScorer']]);
    expect((await call('list_objects', { kind: 'model', name: 'ECHO' })).objects).toMatchObject([
      { id: 'heddle/echo' },
    ]);
    expect((await call('list_objects', { kind: 'model', name: 'none' })).objects).toEqual([]);
    expect((await call('list_objects', { kind: 'field' })).objects).toMatchObject([{ object_id: 'helpful' }]);
  });
});
