import { describe, expect, it } from 'vitest';
import { connectClient } from '../../support/client.ts';
import { emptyHome, temporaryFolder } from '../../support/heddle.ts';
import { connectSdk, hasWeaveSdk } from '../../support/weave-sdk.ts';

const prefix = 'weave:///team/support';
const rows = [
  { q: '1+1', target: 2 },
  { q: '2+2', target: 4 },
];
const rowDigests = ['Xez88HCQnJ0XedLbtxrjUT8d6q7fOokULfthVqzofFc', 'fWxjvljku9bZfvYxNNUoJ5eXrhzvvbhbVG8bbqiHoxE'];
const table = `${prefix}/table/f98daf4815b4ad2b742b311d1b4c97b503997e258b440ff822be0e8e3ad031f1`;
const dataset = `${prefix}/object/sdk-rows:s4sEszBDwkinIIpU5gvNfue6KY9JOkQXuroDCjiUUOA`;

/** Returns an async function whose source text does not depend on how the tests are compiled. */
const withSource = (source: string, run: (...args: never[]) => unknown) =>
  Object.assign(run, { toString: () => source });
const addSource = 'async function add(a, b) { return a + b; }';

/**
 * Saves a dataset. Waits for the references of its rows too: the SDK asks for them meanwhile, and fails long after the
 * test if the service is gone by then.
 */
async function save(dataset: {
  length: number;
  save: () => Promise<{ uri(): string; digest: string }>;
  getRow: (index: number) => { __savedRef: Promise<unknown> };
}) {
  const ref = await dataset.save();
  await Promise.all(Array.from({ length: dataset.length }, (_, index) => dataset.getRow(index).__savedRef));
  return ref;
}

describe.skipIf(!hasWeaveSdk)('the SDK stores in the embedded service', () => {
  it('a dataset, and reads it back with references to its rows', async () => {
    const { weave, client, post } = await connectSdk();
    const create = () => new weave.Dataset({ name: 'sdk-rows', rows: rows.map((row) => ({ ...row })) });
    const saved = create();
    const ref = await save(saved);
    expect(ref.uri()).toBe(dataset);
    expect((await saved.getRow(0).__savedRef).uri()).toBe(`${dataset}/attr/rows/id/${rowDigests[0]}`);
    expect((await save(create())).uri()).toBe(dataset);

    const read = await client.get(ref);
    expect(read).toBeInstanceOf(weave.Dataset);
    expect([read.name, read.length]).toEqual(['sdk-rows', 2]);
    const found = [];
    for await (const { __savedRef, ...row } of read) found.push([row, (await __savedRef).uri()]);
    expect(found).toEqual(rows.map((row, index) => [row, `${dataset}/attr/rows/id/${rowDigests[index]}`]));

    const refs = [
      dataset,
      `${dataset}/attr/rows/id/${rowDigests[1]}`,
      `${dataset}/attr/rows/id/${rowDigests[1]}/key/q`,
    ];
    const val = {
      _type: 'Dataset',
      _class_name: 'Dataset',
      _bases: ['Object', 'BaseModel'],
      name: 'sdk-rows',
      rows: table,
    };
    expect((await post('/refs/read_batch', { refs })).body).toEqual({ vals: [val, rows[1], '2+2'] });
    const { objs } = (await post('/objs/query', { filter: { base_object_classes: ['Dataset'] } })).body;
    expect(objs).toMatchObject([{ object_id: 'sdk-rows', version_index: 0, is_latest: 1, kind: 'object', val }]);
  });

  it('versions of a dataset, which it reads by digest, number and as the latest', async () => {
    const { weave, client } = await connectSdk();
    const first = await save(new weave.Dataset({ id: 'd', name: 'versions', rows: [{ n: 1 }] }));
    const second = await save(new weave.Dataset({ id: 'd', name: 'versions', rows: [{ n: 1 }, { n: 2 }] }));
    expect(first.uri()).not.toBe(second.uri());
    const lengthOf = async (digest: string) =>
      (await client.get(new weave.ObjectRef('team/support', 'versions', digest))).length;
    expect(await Promise.all([first.digest, second.digest, 'v0', 'v1', 'latest'].map(lengthOf))).toEqual([
      1, 2, 1, 2, 2,
    ]);
    const unknown = new weave.ObjectRef('team/support', 'versions', 'v2');
    await expect(client.get(unknown)).rejects.toMatchObject({ status: 404 });
  });

  it('prompts, which it reads back as prompts', async () => {
    const { weave, client, post } = await connectSdk();
    const text = await client.publish(
      new weave.StringPrompt({ name: 'sdk-prompt', content: 'Hello {who}' }),
      'sdk-prompt',
    );
    expect(text.uri()).toBe(`${prefix}/object/sdk-prompt:8wKsQDI9P0Pnzf5MCmaNhXUxiMcMTUAYTpscXSinXoA`);
    const read = await weave.StringPrompt.get(client, text.uri());
    expect(read).toBeInstanceOf(weave.StringPrompt);
    expect([read.name, read.content, read.format({ who: 'Ada' })]).toEqual(['sdk-prompt', 'Hello {who}', 'Hello Ada']);

    const messages = [{ role: 'system', content: 'Answer in {language}.' }];
    const chat = await client.publish(new weave.MessagesPrompt({ name: 'sdk-chat', description: 'é', messages }));
    const readChat = await weave.MessagesPrompt.get(client, chat.uri());
    expect(readChat).toBeInstanceOf(weave.MessagesPrompt);
    expect([readChat.description, readChat.format({ language: 'French' })]).toEqual([
      'é',
      [{ role: 'system', content: 'Answer in French.' }],
    ]);
    const { objs } = (await post('/objs/query', { filter: { base_object_classes: ['Prompt'] } })).body;
    expect(objs.map((obj: Record<string, unknown>) => [obj.object_id, obj.leaf_object_class])).toEqual([
      ['sdk-prompt', 'StringPrompt'],
      ['sdk-chat', 'MessagesPrompt'],
    ]);
  });

  it('plain values, the same content once', async () => {
    const { client, post } = await connectSdk();
    const ref = await client.publish({ a: 1 }, 'plain');
    expect(ref.uri()).toBe(`${prefix}/object/plain:XdhgKMbg1k4iUYb5astpM4ssWXZN95FiEH9cS7NNExA`);
    expect((await client.publish({ a: 1 }, 'plain')).uri()).toBe(ref.uri());
    const values = { text: 'Prüfung 👍', list: [1, 2.5e-7, null, true, { deep: [] }], '': {} };
    expect(await client.get(await client.publish(structuredClone(values), 'values'))).toEqual(values);
    expect(await client.get(await client.publish(['x', { y: 1 }], 'list'))).toEqual(['x', { y: 1 }]);
    const { objs } = (await post('/objs/query', { filter: { latest_only: true }, metadata_only: true })).body;
    expect(objs.map((obj: Record<string, unknown>) => [obj.object_id, obj.version_index])).toEqual([
      ['plain', 0],
      ['values', 0],
      ['list', 0],
    ]);
  });

  it('an op with its source, which another process on the same data returns', async () => {
    const { weave, client, connectAgain } = await connectSdk();
    const add = weave.op(
      withSource(addSource, async (a: number, b: number) => a + b),
      { name: 'add' },
    );
    const ref = await client.publish(add);
    const file = '8CyGe009W6QYKfolLoGBlcvNQYJEAFlJ4Di5hMXwwhI';
    const { post } = await connectAgain();
    const { body } = await post('/objs/query', { filter: { is_op: true } });
    expect(body.objs).toMatchObject([
      {
        object_id: 'add',
        digest: ref.digest,
        kind: 'op',
        base_object_class: null,
        val: { _type: 'CustomWeaveType', weave_type: { type: 'Op' }, files: { 'obj.py': file } },
      },
    ]);
    expect(ref.uri()).toBe(`${prefix}/op/add:${ref.digest}`);
    expect((await post('/file/content', { digest: file })).body).toBe(addSource);
    expect((await post('/refs/read_batch', { refs: [`${ref.uri()}/attr/files/key/obj.py`] })).body.vals).toEqual([
      file,
    ]);
  });

  it('an image within a value, byte for byte', async () => {
    const { weave, client, service, post } = await connectSdk();
    const data = Buffer.from(Array.from({ length: 600_000 }, (_, index) => (index * 7) % 256));
    const ref = await client.publish({ picture: weave.weaveImage({ data }) }, 'picture');
    const { picture } = await client.get(ref);
    expect(picture).toMatchObject({ _type: 'CustomWeaveType', weave_type: { type: 'PIL.Image.Image' } });
    const digest = picture.files['image.png'];
    const response = await fetch(`${service.url}/file/content`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${btoa(`api:${process.env.WANDB_API_KEY}`)}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ project_id: 'team/support', digest }),
    });
    expect(Buffer.from(await response.arrayBuffer()).equals(data)).toBe(true);
    expect((await post('/file/content', { digest: 'unknown' })).status).toBe(404);
  });

  it('an object of a class of its own, with references to what it holds', async () => {
    const { weave, client, post } = await connectSdk();
    class Judge extends weave.WeaveObject {
      constructor(parameters: { name: string; data: unknown; scorer: unknown }) {
        super({ name: parameters.name });
        Object.assign(this, { data: parameters.data, scorer: parameters.scorer });
      }
    }
    class StrictJudge extends Judge {}
    const scorer = weave.op(
      withSource('() => true', () => true),
      { name: 'always' },
    );
    const data = new weave.Dataset({ name: 'sdk-rows', rows: rows.map((row) => ({ ...row })) });
    const ref = await client.publish(new StrictJudge({ name: 'strict', data, scorer }));
    const { obj } = (await post('/obj/read', { object_id: 'strict', digest: ref.digest })).body;
    expect(obj).toMatchObject({
      base_object_class: 'Judge',
      leaf_object_class: 'StrictJudge',
      val: { _bases: ['Judge', 'Object', 'BaseModel'], name: 'strict', data: dataset },
    });
    expect(obj.val.scorer).toMatch(/^weave:\/\/\/team\/support\/op\/always:[A-Za-z0-9]{43}$/);
    // Through the judge, its dataset and the table of that, to a row.
    const refs = [`${ref.uri()}/attr/data/attr/rows/id/${rowDigests[0]}`, `${ref.uri()}/attr/scorer/attr/_type`];
    expect((await post('/refs/read_batch', { refs })).body.vals).toEqual([rows[0], 'CustomWeaveType']);
  });

  it('an evaluation with its dataset and scorers, and the list of evaluations shows it', async () => {
    const { weave, client, service, post } = await connectSdk();
    const data = new weave.Dataset({ name: 'sdk-rows', rows: rows.map((row) => ({ ...row })) });
    const scorer = weave.op(
      withSource('() => ({ ok: true })', () => ({ ok: true })),
      { name: 'ok' },
    );
    const ref = await client.publish(
      new weave.Evaluation({ id: 'sdk-eval', name: 'SDK eval', dataset: data, scorers: [scorer] }),
    );
    const { objs } = (await post('/objs/query', { filter: { base_object_classes: ['Evaluation'] } })).body;
    expect(objs).toMatchObject([
      { digest: ref.digest, val: { dataset, scorers: [expect.stringContaining('/op/ok:')] } },
    ]);
    const list = await fetch(`${service.url}/v2/team/support/evaluations`, {
      headers: { authorization: `Basic ${btoa(`api:${process.env.WANDB_API_KEY}`)}` },
    });
    expect(JSON.parse(await list.text())).toMatchObject({ object_id: ref.objectId, digest: ref.digest, dataset });
  });

  it('a dataset that survives when the service is killed right after it has answered', async () => {
    const { weave, service, connectAgain } = await connectSdk();
    const ref = await save(new weave.Dataset({ name: 'sdk-rows', rows: rows.map((row) => ({ ...row })) }));
    await service.kill();
    const { client } = await connectAgain();
    const read = await client.get(ref);
    expect([read.length, read.getRow(1).q]).toEqual([2, '2+2']);
  });
});

describe.skipIf(!hasWeaveSdk)('the SDK and the tools on one service', () => {
  /** Starts the SDK and a client of heddle on the same service. */
  const connectBoth = async () => {
    const sdk = await connectSdk();
    const { call } = await connectClient(
      emptyHome(temporaryFolder(), {
        HEDDLE_BASE_URL: sdk.service.url,
        HEDDLE_PROJECT: 'team/support',
        HEDDLE_USERNAME: 'api',
        HEDDLE_PASSWORD: process.env.WANDB_API_KEY!,
      }),
    );
    return { ...sdk, call };
  };

  it('let the SDK read a dataset of the tools with its rows, and store it as the same version', async () => {
    const { weave, client, call } = await connectBoth();
    const { dataset_ref } = await call('create_dataset', { name: 'by-heddle', description: 'Sums.', rows });
    const read = await client.get(weave.ObjectRef.fromUri(dataset_ref));
    expect(read).toBeInstanceOf(weave.Dataset);
    expect([read.name, read.description, read.length]).toEqual(['by-heddle', 'Sums.', 2]);
    const found = [];
    for await (const { __savedRef, ...row } of read) found.push([row, (await __savedRef).uri()]);
    expect(found).toEqual(rows.map((row, index) => [row, `${dataset_ref}/attr/rows/id/${rowDigests[index]}`]));
    const same = new weave.Dataset({ name: 'by-heddle', description: 'Sums.', rows: rows.map((row) => ({ ...row })) });
    expect((await save(same)).uri()).toBe(dataset_ref);
    expect(await call('read_object', { ref: `${dataset_ref}/attr/rows/id/${rowDigests[1]}` })).toMatchObject({
      val: rows[1],
    });
  });

  it('let the SDK read a scorer of the tools and the model of a judge', async () => {
    const { weave, client, call } = await connectBoth();
    const judge = { name: 'by-heddle-judge', kind: 'llm_judge', model: 'heddle/echo', prompt: 'Is {output} right?' };
    const { scorer_ref } = await call('create_scorer', judge);
    const read = await client.get(weave.ObjectRef.fromUri(scorer_ref));
    expect(read).toMatchObject({ name: 'by-heddle-judge', scoring_prompt: 'Is {output} right?' });
    const model = await client.get(weave.ObjectRef.fromUri(read.model));
    expect(model).toMatchObject({ llm_model_id: 'heddle/echo' });
  });

  it('let the tools read what the SDK stores', async () => {
    const { weave, client, call } = await connectBoth();
    const ref = await save(new weave.Dataset({ name: 'by-sdk', rows: rows.map((row) => ({ ...row })) }));
    expect(await call('read_object', { ref: ref.uri() })).toMatchObject({ kind: 'dataset', row_count: 2, rows });
    const messages = [{ role: 'system', content: 'Answer in {language}.' }];
    const prompt = await client.publish(new weave.MessagesPrompt({ name: 'sdk-chat', messages }));
    expect(await call('read_object', { ref: prompt.uri() })).toMatchObject({
      kind: 'prompt MessagesPrompt',
      val: { messages },
      variables: ['language'],
    });
    const text = await client.publish(new weave.StringPrompt({ name: 's', content: 'Hello {who}' }), 's');
    expect(await call('read_object', { ref: text.uri() })).toMatchObject({
      val: { content: 'Hello {who}' },
      variables: ['who'],
    });
    const { objects } = await call('list_objects', { kind: 'prompt' });
    expect(objects.map(({ object_id, class: name }: Record<string, string>) => `${object_id} ${name}`).sort()).toEqual([
      's StringPrompt',
      'sdk-chat MessagesPrompt',
    ]);
  });
});
