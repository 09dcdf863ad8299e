import { describe, expect, it } from 'vitest';
import { advanceClock, bodyOf, refusal, startServiceWithCalls } from '../../support/service-with-calls.ts';

const service = await startServiceWithCalls();

const read = (object_id: string, digest: string) => service.post('/obj/read', { object_id, digest });
const readReferences = (refs: string[]) => service.send('POST', '/refs/read_batch', { refs });
const digestOf = (reference: string) => reference.split(':').at(-1)!;

describe('POST /obj/create', () => {
  it('returns the same digest for the same content', async () => {
    const digests = [
      digestOf(await service.createObject('digests', { text: 'first' })),
      digestOf(await service.createObject('digests', { text: 'second' })),
      digestOf(await service.createObject('digests', { text: 'first' })),
    ];
    expect(digests[0]).toMatch(/^[A-Za-z0-9]{43}$/);
    expect(digests[1]).not.toBe(digests[0]);
    expect(digests[2]).toBe(digests[0]);
  });
});

describe('POST /obj/read', () => {
  it('returns every member of a version', async () => {
    const digest = digestOf(await service.createObject('members', { text: 'only' }));
    const { obj } = bodyOf(await read('members', digest));
    expect(Object.keys(obj).sort()).toEqual([
      'base_object_class',
      'created_at',
      'deleted_at',
      'digest',
      'is_latest',
      'kind',
      'leaf_object_class',
      'object_id',
      'project_id',
      'size_bytes',
      'val',
      'version_index',
      'wb_user_id',
    ]);
    expect(obj).toMatchObject({
      project_id: 'acme/support',
      object_id: 'members',
      digest,
      version_index: 0,
      is_latest: 1,
      kind: 'object',
      base_object_class: null,
      val: { text: 'only' },
      deleted_at: null,
    });
  });

  it('finds a version by its digest, by v0 or v1, and as latest', async () => {
    const first = digestOf(await service.createObject('found', { text: 'first' }));
    const second = digestOf(await service.createObject('found', { text: 'second' }));
    const text = async (version: string) => bodyOf(await read('found', version)).obj.val.text;
    expect(await text(first)).toBe('first');
    expect(await text(second)).toBe('second');
    expect(await text('v0')).toBe('first');
    expect(await text('v1')).toBe('second');
    expect(await text('latest')).toBe('second');
  });

  it.each(['latest', 'v0', 'a'.repeat(43)])(
    'refuses an unknown object at version %s with status 404',
    async (version) => {
      expect(await read('nobody-made-this', version)).toEqual(refusal(404));
    },
  );
});

describe('POST /objs/query', () => {
  /** Creates two evaluations, one of them in two versions, and a field; returns a query in that project. */
  async function createObjects(project_id: string) {
    const dataset = `weave:///${project_id}/object/rows:${'a'.repeat(43)}`;
    for (const members of [{ name: 'A' }, { name: 'B' }, { name: 'A', trials: 3 }]) {
      advanceClock();
      bodyOf(await service.send('POST', `/v2/${project_id}/evaluations`, { dataset, ...members }));
    }
    advanceClock();
    const field = { name: 'helpful', field_schema: { type: 'boolean' } };
    await service.createObject('helpful', field, { project_id, builtin_object_class: 'AnnotationSpec' });
    return async (request: object) => bodyOf(await service.post('/objs/query', { project_id, ...request })).objs;
  }

  const versions = (objects: Record<string, unknown>[]) =>
    objects.map(({ object_id, version_index }) => [object_id, version_index]);

  it('returns every version of the given classes, the oldest first', async () => {
    const query = await createObjects('acme/classes');
    expect(versions(await query({ filter: { base_object_classes: ['Evaluation'] } }))).toEqual([
      ['a', 0],
      ['b', 0],
      ['a', 1],
    ]);
    const fields = await query({ filter: { base_object_classes: ['AnnotationSpec'] } });
    expect(fields).toMatchObject([{ object_id: 'helpful', base_object_class: 'AnnotationSpec', kind: 'object' }]);
  });

  it('takes the class of an object from its _class_name and _bases', async () => {
    const project_id = 'acme/class-names';
    const rows = { rows: [], _type: 'Dataset', _class_name: 'Dataset', _bases: ['Object', 'BaseModel'] };
    await service.createObject('rows', rows, { project_id });
    await service.createObject('plain', { rows: [] }, { project_id });
    const request = { project_id, filter: { base_object_classes: ['Dataset'] } };
    expect(versions(bodyOf(await service.post('/objs/query', request)).objs)).toEqual([['rows', 0]]);
  });

  it('returns only the latest versions with latest_only, and the newest first when sorted so', async () => {
    const query = await createObjects('acme/latest');
    const filter = { base_object_classes: ['Evaluation'], is_op: false, latest_only: true };
    const sort_by = [{ field: 'created_at', direction: 'desc' }];
    expect(versions(await query({ filter, sort_by }))).toEqual([
      ['a', 1],
      ['b', 0],
    ]);
  });

  it('returns an empty val with metadata_only', async () => {
    const query = await createObjects('acme/metadata');
    const filter = { base_object_classes: ['AnnotationSpec'] };
    const [metadata] = await query({ filter, metadata_only: true });
    expect([metadata.object_id, metadata.val]).toEqual(['helpful', {}]);
    const [whole] = await query({ filter });
    expect(whole.val).toMatchObject({ name: 'helpful', field_schema: { type: 'boolean' } });
  });
});

describe('POST /refs/read_batch', () => {
  it('returns the values of references by digest, in their order', async () => {
    const first = await service.createObject('batch', { text: 'first' });
    const second = await service.createObject('batch', { text: 'second' });
    expect(bodyOf(await readReferences([second, first]))).toEqual({ vals: [{ text: 'second' }, { text: 'first' }] });
  });

  it('returns the definition of an annotation field', async () => {
    const field = { name: 'helpful', description: 'Did it help?', field_schema: { type: 'boolean' } };
    const reference = await service.createObject('helpful', field, { builtin_object_class: 'AnnotationSpec' });
    expect(bodyOf(await readReferences([reference])).vals).toMatchObject([field]);
  });

  it('refuses a reference to latest', async () => {
    await service.createObject('latest', { text: 'only' });
    expect(await readReferences(['weave:///acme/support/object/latest:latest'])).toEqual(refusal(400));
  });
});
