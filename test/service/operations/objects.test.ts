import { describe, expect, it } from 'vitest';
import { type Answer, basic, execute, longText, startTestService, withStore } from '../../support/embedded-service.ts';

const service = await startTestService({ sample: true });

async function list(path: string): Promise<Record<string, unknown>[]> {
  const { status, headers, body } = await service.send('GET', `/v2/${path}`, basic);
  expect([status, headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
  return body
    .split('\n')
    .slice(0, -1)
    .map((line: string) => JSON.parse(line));
}

const post = (path: string, body: object) => service.send('POST', path, basic, { project_id: 'p/q', ...body });

function bodyOf({ status, body }: Answer) {
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
}

/** Stores a version of an object of p/q, unless the members name another project, and returns its digest. */
async function create(object_id: string, val: unknown, members: object = {}): Promise<string> {
  return bodyOf(await post('/obj/create', { obj: { project_id: 'p/q', object_id, val, ...members } })).digest;
}

const read = async (object_id: string, digest: string, project_id = 'p/q') =>
  bodyOf(await post('/obj/read', { project_id, object_id, digest })).obj;

describe('listObjects', () => {
  it('lists the dataset and the scorers of the sample project', async () => {
    const version = {
      digest: expect.stringMatching(/^[A-Za-z0-9]{43}$/),
      version_index: 0,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    };
    expect(await list('demo/support/datasets')).toEqual([
      { ...version, object_id: 'tickets', name: 'tickets', description: null },
    ]);
    const scorers = await list('demo/support/scorers');
    expect(scorers.sort((a, b) => (String(a.object_id) < String(b.object_id) ? -1 : 1))).toEqual([
      {
        ...version,
        object_id: 'brief',
        name: 'brief',
        description: 'Is the answer one line of 300 characters at most?',
      },
      {
        ...version,
        object_id: 'names_label',
        name: 'names_label',
        description: 'Does the answer name the label of the ticket?',
      },
    ]);
    expect(await list('demo/support/evaluations')).toEqual([]);
    expect(await list('nobody/nothing/datasets')).toEqual([]);
  });

  it('lists every version, the oldest first, in pages', async () => {
    const dataset = 'weave:///p/q/object/d:latest';
    const create = async (name: string, description: string) =>
      (await service.evaluate('p/q', { name, dataset, description })).body;
    await create('B Eval', 'first');
    const second = await create('B Eval', 'second');
    for (const name of ['a', 'c', 'd']) await create(name, 'only');
    await execute(
      service.data,
      `update objects set created_at = '2026-01-0' || case when object_id in ('a', 'd') then 2 else 1 end
      where project_id = 'p/q'`,
    );
    const versions = async (search: string) =>
      (await list(`p/q/evaluations${search}`)).map(({ object_id, version_index }) => `${object_id} ${version_index}`);
    expect(await versions('')).toEqual(['b_eval 0', 'b_eval 1', 'c 0', 'a 0', 'd 0']);
    expect(await versions('?limit=2&offset=1')).toEqual(['b_eval 1', 'c 0']);
    expect(await versions('?offset=4')).toEqual(['d 0']);
    expect(await versions('?limit=0')).toEqual([]);
    expect(await versions('?page=2&limit=1')).toEqual(['b_eval 0']);
    expect((await list('p/q/evaluations?offset=1&limit=1'))[0]).toEqual({
      object_id: 'b_eval',
      digest: second.digest,
      version_index: 1,
      created_at: '2026-01-01',
      name: 'B Eval',
      description: 'second',
      dataset,
      scorers: [],
      trials: 1,
      evaluation_name: null,
      evaluate_op: null,
      predict_and_score_op: null,
      summarize_op: null,
    });
  });

  it('lists the versions of each kind when kinds share a name', async () => {
    await withStore(service.data, async (store) => {
      await store.putObject('scorer', 'p/shared', 'both', { name: 5, description: 'a scorer' });
      await store.putObject('dataset', 'p/shared', 'both', [{ name: 'row' }]);
    });
    expect(await list('p/shared/scorers')).toMatchObject([
      { object_id: 'both', version_index: 0, name: 'both', description: 'a scorer' },
    ]);
    expect(await list('p/shared/datasets')).toMatchObject([{ object_id: 'both', version_index: 1, description: null }]);
  });

  it.each([
    ['limit=-1', ['query', 'limit'], 'greater_than_equal'],
    ['limit=many', ['query', 'limit'], 'number_type'],
    ['limit=', ['query', 'limit'], 'number_type'],
    ['offset=%20', ['query', 'offset'], 'number_type'],
    ['limit=0x10', ['query', 'limit'], 'number_type'],
    ['limit=1e1', ['query', 'limit'], 'number_type'],
    ['offset=1.5', ['query', 'offset'], 'int_type'],
  ])('refuses the query parameters ?%s', async (search, loc, type) => {
    expect(await service.send('GET', `/v2/p/q/scorers?${search}`, basic)).toMatchObject({
      status: 422,
      body: { detail: [{ loc, type }] },
    });
  });
});

describe('createObject', () => {
  it('returns the same digest for the same content, and one version of it', async () => {
    const first = await create('versions', { b: 1, a: [2] });
    expect(first).toMatch(/^[A-Za-z0-9]{43}$/);
    expect(await create('versions', { a: [2], b: 1 })).toBe(first);
    const second = await create('versions', { a: [2], b: 2 });
    expect(second).not.toBe(first);
    expect(await create('versions', { b: 1, a: [2] })).toBe(first);
    expect([(await read('versions', first)).version_index, (await read('versions', second)).version_index]).toEqual([
      1, 0,
    ]);
    expect((await read('versions', 'latest')).digest).toBe(first);
  });

  it('gives content the digest of the public service', async () => {
    expect(await create('public', { a: 1 })).toBe('XdhgKMbg1k4iUYb5astpM4ssWXZN95FiEH9cS7NNExA');
    const marks = { _type: 'StringPrompt', _class_name: 'StringPrompt', _bases: ['Prompt', 'Object', 'BaseModel'] };
    expect(await create('public', { ...marks, name: 'sdk-prompt', content: 'Hello {who}' })).toBe(
      '8wKsQDI9P0Pnzf5MCmaNhXUxiMcMTUAYTpscXSinXoA',
    );
    // An object with a class has the same digest whether the SDK or the service marks it.
    const rows = { rows: [] };
    const marked = { ...rows, _type: 'Dataset', _class_name: 'Dataset', _bases: ['Object', 'BaseModel'] };
    expect(await create('public', rows, { builtin_object_class: 'Dataset' })).toBe(await create('public', marked));
  });

  it.each([null, 5, 'text', [1, { a: 2 }]])('stores the value %j', async (val) => {
    const digest = await create('any', val);
    expect(await read('any', digest)).toMatchObject({ val, kind: 'object', base_object_class: null });
  });

  it('takes the class and the kind of an object from the members with which the SDK marks them', async () => {
    const marks = (leaf: string, ...bases: string[]) => ({ _type: leaf, _class_name: leaf, _bases: bases });
    const classesOf = async (object_id: string, val: object) => {
      const {
        kind,
        base_object_class,
        leaf_object_class,
        val: stored,
      } = await read(object_id, await create(object_id, val));
      expect(stored).toEqual(val);
      return [kind, base_object_class, leaf_object_class];
    };
    expect(await classesOf('ds', { ...marks('Dataset', 'Object', 'BaseModel'), rows: 'weave:///p/q/table/x' })).toEqual(
      ['object', 'Dataset', 'Dataset'],
    );
    const judge = marks('Judge', 'LLMScorer', 'Scorer', 'Object', 'BaseModel');
    expect(await classesOf('judge', judge)).toEqual(['object', 'Scorer', 'Judge']);
    expect(await classesOf('loose', marks('Loose'))).toEqual(['object', 'Loose', 'Loose']);
    const op = { _type: 'CustomWeaveType', weave_type: { type: 'Op' }, files: { 'obj.py': 'x' } };
    expect(await classesOf('op', op)).toEqual(['op', null, null]);
    const image = { _type: 'CustomWeaveType', weave_type: { type: 'PIL.Image' } };
    expect(await classesOf('image', image)).toEqual(['object', null, null]);
  });

  it('stores a field of annotation queues, with its defaults and its class', async () => {
    const val = { name: 'helpful', description: 'Did it help?', field_schema: { type: 'boolean' } };
    const digest = await create('helpful', val, { builtin_object_class: 'AnnotationSpec' });
    expect(await read('helpful', digest)).toMatchObject({
      base_object_class: 'AnnotationSpec',
      leaf_object_class: 'AnnotationSpec',
      val: {
        ...val,
        unique_among_creators: false,
        op_scope: null,
        _type: 'AnnotationSpec',
        _class_name: 'AnnotationSpec',
        _bases: ['Object', 'BaseModel'],
      },
    });
    const [listed] = (await withStore(service.data, (store) => store.list('p/q')))[0]!.objects.filter(
      ({ object_id }) => object_id === 'helpful',
    );
    expect(listed).toMatchObject({ kind: 'field', versions: [{ digest }] });
  });

  it('stores a model that evaluations can call, with its class', async () => {
    const val = { name: 'Short answers', llm_model_id: 'echo', default_params: { temperature: 0 } };
    const digest = await create('short', val, { builtin_object_class: 'LLMStructuredCompletionModel' });
    expect(await read('short', digest)).toMatchObject({
      base_object_class: 'Model',
      leaf_object_class: 'LLMStructuredCompletionModel',
      val: { ...val, _bases: ['Model', 'Object', 'BaseModel'] },
    });
  });

  it.each([
    ['LLMAsAJudgeScorer', { name: 'Fair', model: { llm_model_id: 'judge' }, scoring_prompt: '{output}' }],
    ['HeddleScorer', { name: 'Names it', kind: 'contains', expected: 'harbour' }],
  ])('stores a scorer of the class %s as a scorer', async (builtin_object_class, val) => {
    const digest = await create('scorer', val, { builtin_object_class });
    expect(await read('scorer', digest)).toMatchObject({
      base_object_class: 'Scorer',
      leaf_object_class: builtin_object_class,
      val: { ...val, _class_name: builtin_object_class, _bases: ['Scorer', 'Object', 'BaseModel'] },
    });
  });

  it.each([
    [null, 'AnnotationSpec'],
    [{ field_schema: 'boolean' }, 'AnnotationSpec'],
    [{ field_schema: { type: 'flag' } }, 'AnnotationSpec'],
    [{ field_schema: { type: 'integer', minimum: '1' } }, 'AnnotationSpec'],
    [{ name: 5 }, 'AnnotationSpec'],
    [{ name: 'No model of inference' }, 'LLMStructuredCompletionModel'],
    [{ scoring_prompt: '{output}' }, 'LLMAsAJudgeScorer'],
    ['text', 'Dataset'],
  ])('refuses the value %j for the class %s', async (val, builtin_object_class) => {
    const { status, body } = await post('/obj/create', {
      obj: { project_id: 'p/q', object_id: 'wrong', val, builtin_object_class },
    });
    expect([status, body.reason]).toEqual([
      400,
      expect.stringMatching(new RegExp(`^Invalid ${builtin_object_class}: `)),
    ]);
  });

  it.each(['', 'a b', 'a/b', 'a:b', 'x'.repeat(129)])('refuses the name %j', async (object_id) => {
    expect(await post('/obj/create', { obj: { project_id: 'p/q', object_id, val: {} } })).toMatchObject({
      status: 403,
      body: { reason: `Invalid object name: ${object_id}` },
    });
  });

  it('accepts a name in another script, and ignores unknown members', async () => {
    const digest = await create(
      'Prüfung_検査',
      { a: 1 },
      { wb_user_id: 'eve', colour: 'red', set_base_object_class: null },
    );
    expect(await read('Prüfung_検査', digest)).toMatchObject({ val: { a: 1 }, wb_user_id: 'tester' });
    expect(
      bodyOf(await post('/refs/read_batch', { refs: [`weave:///p/q/object/Prüfung_検査:${digest}`] })).vals,
    ).toEqual([{ a: 1 }]);
  });

  it.each([
    [{ obj: { project_id: 'p/q', object_id: 'x' } }, ['body', 'obj', 'val'], 'missing'],
    [{ obj: { project_id: 'p', object_id: 'x', val: 1 } }, ['body', 'obj', 'project_id'], 'string_pattern_mismatch'],
    [{}, ['body', 'obj'], 'missing'],
  ])('refuses the invalid body %j', async (body, loc, type) => {
    expect(await post('/obj/create', body)).toMatchObject({ status: 422, body: { detail: [{ loc, type }] } });
  });
});

describe('putObject', () => {
  it.each([
    [
      'prompt',
      'Prompt',
      'MessagesPrompt',
      [{ role: 'system', content: 'You greet {name}.' }],
      'WjWYfZXQ1fDHVgU3HHBlGXsFGkWRkQiDY5CtUt3Jcco',
    ],
    ['dataset', 'Dataset', 'Dataset', [{ question: 'Why?' }], '1Os2U0Oxssw59tKwMmRsCwv09yErzbbDGZSlUhFbSqw'],
    [
      'scorer',
      'Scorer',
      'Scorer',
      { name: 'judge', description: 'Is it right?' },
      'l8mRZOVbNJzklmmlXyRARGyp1GhRYqDLPGJjFTavFsI',
    ],
  ] as const)(
    'stores a %s with its class, and finds version 0 for the same content',
    async (kind, base, leaf, value, digest) => {
      await withStore(service.data, async (store) => {
        for (let time = 0; time < 2; time += 1) {
          const version = await store.putObject(kind, 'p/put', kind, value);
          // Computing digests differently would create a new version of every stored definition.
          expect(version).toMatchObject({ digest, version_index: 0 });
        }
      });
      expect(await read(kind, 'latest', 'p/put')).toMatchObject({
        digest,
        base_object_class: base,
        leaf_object_class: leaf,
        val: { _class_name: leaf },
      });
    },
  );
});

describe('readObject', () => {
  it('returns every member of a version, which is named by its digest, vN or latest', async () => {
    const first = await create('read', { text: 'é' });
    const second = await create('read', { text: 'second' });
    const version = {
      project_id: 'p/q',
      object_id: 'read',
      digest: first,
      version_index: 0,
      is_latest: 0,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      deleted_at: null,
      kind: 'object',
      base_object_class: null,
      leaf_object_class: null,
      val: { text: 'é' },
      wb_user_id: 'tester',
      size_bytes: 13,
    };
    for (const digest of [first, 'v0']) expect(await read('read', digest)).toEqual(version);
    for (const digest of [second, 'v1', 'latest'])
      expect(await read('read', digest)).toMatchObject({ digest: second, is_latest: 1, val: { text: 'second' } });
  });

  it.each([
    ['read', 'v7'],
    ['read', 'unknown'],
    ['nothing', 'latest'],
  ])('responds with 404 for %s:%s', async (object_id, digest) => {
    expect(await post('/obj/read', { object_id, digest })).toMatchObject({
      status: 404,
      body: { reason: `Object ${object_id}:${digest} not found` },
    });
  });

  it('responds with 404 for an object of another project', async () => {
    await create('mine', 1);
    expect(await post('/obj/read', { project_id: 'p/other', object_id: 'mine', digest: 'v0' })).toMatchObject({
      status: 404,
    });
  });

  it("adds the SDK's class members to the dataset of the sample project", async () => {
    const { val } = await read('tickets', 'latest', 'demo/support');
    expect(val).toMatchObject({ _type: 'Dataset', _class_name: 'Dataset', _bases: ['Object', 'BaseModel'] });
    expect(val.rows).toBeTruthy();
  });
});

describe('queryObjects', () => {
  const project_id = 'p/queried';
  const op = { _type: 'CustomWeaveType', weave_type: { type: 'Op' } };
  const judge = { _class_name: 'Judge', _bases: ['Scorer', 'Object', 'BaseModel'] };

  /** Returns the versions that a query finds, as `object_id version_index`. */
  const query = async (members: object) =>
    bodyOf(await post('/objs/query', { project_id, ...members })).objs.map(
      ({ object_id, version_index }: { object_id: string; version_index: number }) => `${object_id} ${version_index}`,
    );

  it('finds versions by class, name, kind and whether they are the latest', async () => {
    for (const [object_id, val] of [
      ['b', judge],
      ['b', { ...judge, model: 'm' }],
      ['a', { ...judge, _class_name: 'Other' }],
      ['score', op],
      ['plain', 1],
    ] as const) {
      await create(object_id, val, { project_id });
    }
    // Different times for each, in the order of creation.
    await execute(
      service.data,
      `update objects set created_at = '2026-01-0' ||
        case object_id when 'b' then 1 + version_index when 'a' then 3 when 'score' then 4 else 5 end
      where project_id = 'p/queried'`,
    );
    expect(await query({})).toEqual(['b 0', 'b 1', 'a 0', 'score 0', 'plain 0']);
    expect(await query({ filter: { base_object_classes: ['Scorer'] } })).toEqual(['b 0', 'b 1', 'a 0']);
    expect(await query({ filter: { leaf_object_classes: ['Other', 'x'] } })).toEqual(['a 0']);
    expect(await query({ filter: { object_ids: ['b', 'plain'] } })).toEqual(['b 0', 'b 1', 'plain 0']);
    expect(await query({ filter: { is_op: true } })).toEqual(['score 0']);
    expect(await query({ filter: { is_op: false, latest_only: true } })).toEqual(['b 1', 'a 0', 'plain 0']);
    expect(await query({ filter: { base_object_classes: [], object_ids: null, is_op: null } })).toHaveLength(5);
    expect(await query({ project_id: 'p/nobody' })).toEqual([]);
  });

  it('sorts and pages versions, and ignores sort fields that it does not know', async () => {
    const by = (field: string, direction: string) => ({ sort_by: [{ field, direction }] });
    expect(await query(by('created_at', 'desc'))).toEqual(['plain 0', 'score 0', 'a 0', 'b 1', 'b 0']);
    expect(await query(by('object_id', 'asc'))).toEqual(['a 0', 'b 0', 'b 1', 'plain 0', 'score 0']);
    expect(await query(by('colour', 'desc'))).toEqual(['b 0', 'b 1', 'a 0', 'score 0', 'plain 0']);
    expect(await query({ limit: 2, offset: 1 })).toEqual(['b 1', 'a 0']);
    expect(await query({ ...by('created_at', 'desc'), limit: 1, filter: { latest_only: true } })).toEqual(['plain 0']);
    expect(await query({ limit: 0 })).toEqual([]);
  });

  it('refuses versions whose content is too large together, and lists them without it', async () => {
    for (const name of ['a', 'b', 'c']) await create(name, 'short', { project_id: 'p/large' });
    await execute(
      service.data,
      `update objects set content = '"' || ${longText(45_000_000)} || '"', memory_bytes = 180000000 where project_id = 'p/large'`,
    );
    const reason =
      'The request needs more than 512 MiB of memory: ask for fewer versions at once, or for metadata_only';
    expect(await post('/objs/query', { project_id: 'p/large' })).toMatchObject({ status: 413, body: { reason } });
    expect(await query({ project_id: 'p/large', metadata_only: true })).toHaveLength(3);
    expect(await query({ project_id: 'p/large', limit: 1 })).toHaveLength(1);
  });

  it('leaves the content out when only metadata is asked for', async () => {
    const [first] = bodyOf(await post('/objs/query', { project_id, limit: 1 })).objs;
    expect(first).toMatchObject({
      val: judge,
      is_latest: 0,
      size_bytes: expect.any(Number),
      wb_user_id: 'tester',
      created_at: '2026-01-01',
    });
    const [metadata] = bodyOf(await post('/objs/query', { project_id, limit: 1, metadata_only: true })).objs;
    expect(metadata).toEqual({ ...first, val: {}, size_bytes: null });
  });
});

describe('deleteObject', () => {
  const remove = (body: object) => post('/obj/delete', body);

  it('deletes the named versions, by digest, number or latest, and leaves the others', async () => {
    const digests = [await create('short-lived', 0), await create('short-lived', 1), await create('short-lived', 2)];
    expect(bodyOf(await remove({ object_id: 'short-lived', digests: ['v0', 'latest', digests[2]] }))).toEqual({
      num_deleted: 2,
    });
    expect(await post('/obj/read', { object_id: 'short-lived', digest: digests[2]! })).toMatchObject({ status: 404 });
    expect(await read('short-lived', 'latest')).toMatchObject({ digest: digests[1], version_index: 1, val: 1 });
    const reference = `weave:///p/q/object/short-lived:${digests[0]}`;
    expect((await post('/refs/read_batch', { refs: [reference] })).status).toBe(404);
  });

  it('leaves the same content of another project and of another object', async () => {
    const digest = await create('twin', 'the same');
    await create('other-twin', 'the same');
    await create('twin', 'the same', { project_id: 'p/other' });
    expect(bodyOf(await remove({ object_id: 'twin', digests: [digest] }))).toEqual({ num_deleted: 1 });
    expect(await read('other-twin', digest)).toMatchObject({ val: 'the same' });
    expect(await read('twin', digest, 'p/other')).toMatchObject({ val: 'the same' });
  });

  it('deletes every version when no digests are given, after which the same content is stored again', async () => {
    await create('temporary', 'a');
    await create('temporary', 'b');
    expect(bodyOf(await remove({ object_id: 'temporary' }))).toEqual({ num_deleted: 2 });
    expect(bodyOf(await post('/objs/query', { filter: { object_ids: ['temporary'] } })).objs).toEqual([]);
    expect(await remove({ object_id: 'temporary' })).toMatchObject({
      status: 404,
      body: { reason: 'Object temporary not found' },
    });
    await create('temporary', 'b');
    expect(await read('temporary', 'latest')).toMatchObject({ version_index: 0, val: 'b' });
  });

  it('deletes nothing if one of the versions is unknown, or there are more than 100', async () => {
    await create('kept', 1);
    const digests = ['v0', 'v7'];
    expect(await remove({ object_id: 'kept', digests })).toMatchObject({
      status: 404,
      body: { reason: 'Object kept:v7 not found' },
    });
    expect(await remove({ object_id: 'kept', digests: Array.from({ length: 101 }, () => 'v0') })).toMatchObject({
      status: 422,
    });
    expect(await read('kept', 'v0')).toMatchObject({ val: 1 });
  });
});

describe('readReferences', () => {
  const readAll = (refs: string[]) => post('/refs/read_batch', { refs });

  it('returns the values of objects and their parts, in the order of the request', async () => {
    const val = { rows: [{ question: 'Why?' }, { question: 'How?' }], 'a/b': { 'c d': 1 }, none: null };
    const object = `weave:///p/q/object/parts:${await create('parts', val)}`;
    const refs = [
      `${object}/attr/rows/index/1/key/question`,
      object,
      `${object}/attr/rows/index/0`,
      `${object}/key/a%2Fb/key/c%20d`,
      `${object}/attr/none`,
    ];
    expect(bodyOf(await readAll(refs)).vals).toEqual(['How?', val, { question: 'Why?' }, 1, null]);
    expect(bodyOf(await readAll([object, object])).vals).toEqual([val, val]);
    expect(bodyOf(await readAll([])).vals).toEqual([]);
  });

  it('returns null for parts that do not exist', async () => {
    const object = `weave:///p/q/object/short:${await create('short', { rows: [1] })}`;
    const refs = [
      `${object}/attr/rows/index/1`,
      `${object}/attr/rows/index/0/attr/deeper`,
      `${object}/attr/constructor`,
      `${object}/attr/__proto__`,
    ];
    expect(bodyOf(await readAll(refs)).vals).toEqual([null, null, null, null]);
  });

  it.each(['weave:///p/q/object/nothing:unknown', 'weave:///p/other/object/short:unknown/attr/rows'])(
    'refuses a batch with %s, an object that does not exist',
    async (ref) => {
      expect(await readAll([ref])).toMatchObject({ status: 404, body: { reason: `Ref not found: ${ref}` } });
    },
  );

  it('reads a row of the dataset of the sample project', async () => {
    const { digest } = await read('tickets', 'latest', 'demo/support');
    const [row] = bodyOf(await readAll([`weave:///demo/support/object/tickets:${digest}/attr/rows/index/0`])).vals;
    expect(row).toMatchObject({ question: expect.any(String) });
  });

  it.each([
    ['weave:///p/q/object/parts:latest', 'Refs need a digest, not latest: weave:///p/q/object/parts:latest'],
    ['weave:///p/q/object/parts:v0/attr/rows', 'Refs need a digest, not v0: weave:///p/q/object/parts:v0/attr/rows'],
    ['weave:///p/q/call/c', 'Invalid ref: weave:///p/q/call/c'],
    ['weave:///p/q/object/parts', 'Invalid ref: weave:///p/q/object/parts'],
    ['weave:///p/q/object/parts:x/attr', 'Invalid ref: weave:///p/q/object/parts:x/attr'],
    ['weave:///p/q/object/parts:x/row/1', 'Invalid ref: weave:///p/q/object/parts:x/row/1'],
    ['parts', 'Invalid ref: parts'],
  ])('refuses %s', async (ref, reason) => {
    expect(await readAll(['weave:///p/q/object/nothing:unknown', ref])).toMatchObject({
      status: 400,
      body: { reason },
    });
  });

  it('refuses more than 1000 references', async () => {
    const known = `weave:///p/q/object/short:${await create('short', { rows: [1] })}`;
    const refs = Array.from({ length: 1000 }, () => known);
    expect(bodyOf(await readAll(refs)).vals).toHaveLength(1000);
    expect(await readAll([...refs, refs[0]!])).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'refs'], type: 'less_than_equal' }] },
    });
  });
});
