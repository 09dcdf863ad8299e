import { describe, expect, it } from 'vitest';
import { advanceClock, bodyOf, startServiceWithCalls } from '../../support/service-with-calls.ts';

const service = await startServiceWithCalls();
const dataset = `weave:///acme/support/object/rows:${'a'.repeat(43)}`;

const create = (members: object, project = 'acme/support') =>
  service.send('POST', `/v2/${project}/evaluations`, { dataset, ...members });
const list = async (project: string) => bodyOf(await service.send('GET', `/v2/${project}/evaluations`));

describe('POST /v2/{entity}/{project}/evaluations', () => {
  it('creates an evaluation from a name and a dataset', async () => {
    const created = bodyOf(await create({ name: 'My Eval' }));
    expect(created).toEqual({
      digest: expect.stringMatching(/^[A-Za-z0-9]{43}$/),
      object_id: 'my_eval',
      version_index: 0,
      evaluation_ref: expect.stringMatching(/^weave:\/\/\/acme\/support\/object\/my_eval:[A-Za-z0-9]{43}$/),
    });
    expect(created.evaluation_ref).toBe(`weave:///acme/support/object/my_eval:${created.digest}`);
  });

  it('treats null as absent, and uses 1 trial by default', async () => {
    const least = bodyOf(await create({ name: 'Nulls' }));
    const nulls = { description: null, scorers: null, evaluation_name: null, eval_attributes: null };
    expect(least.version_index).toBe(0);
    expect(bodyOf(await create({ name: 'Nulls', trials: 1, ...nulls }))).toEqual(least);
  });

  it('adds a version for other content under the same name', async () => {
    bodyOf(await create({ name: 'Versions' }));
    expect(bodyOf(await create({ name: 'Versions', trials: 3 })).version_index).toBe(1);
  });

  it('makes content that is sent again the newest version', async () => {
    const first = bodyOf(await create({ name: 'Again' }));
    bodyOf(await create({ name: 'Again', trials: 3 }));
    expect(first.version_index).toBe(0);
    expect(bodyOf(await create({ name: 'Again' }))).toEqual({ ...first, version_index: 1 });
  });

  it('accepts 0 trials', async () => {
    expect(await create({ name: 'zero', trials: 0 })).toMatchObject({ status: 200 });
  });

  it('accepts a dataset that is not a reference', async () => {
    expect(await create({ name: 'plain', dataset: 'rows' })).toMatchObject({ status: 200 });
  });

  it.each([
    ['A/B <x> Test', 'a_b_x_test'],
    ['Prüfung', 'prüfung'],
  ])('derives the object id from the name %s', async (name, object_id) => {
    const { digest, ...created } = bodyOf(await create({ name }));
    expect(created).toEqual({
      object_id,
      version_index: 0,
      evaluation_ref: `weave:///acme/support/object/${object_id}:${digest}`,
    });
  });
});

describe('GET /v2/{entity}/{project}/evaluations', () => {
  it('lists every version, the oldest first', async () => {
    for (const members of [{ name: 'B' }, { name: 'A' }, { name: 'B', trials: 3 }]) {
      advanceClock();
      bodyOf(await create(members, 'acme/versions'));
    }
    const versions = (await list('acme/versions')).map((version: Record<string, unknown>) => [
      version.object_id,
      version.version_index,
    ]);
    expect(versions).toEqual([
      ['b', 0],
      ['a', 0],
      ['b', 1],
    ]);
  });

  it('returns 13 members of each version', async () => {
    const { digest } = bodyOf(await create({ name: 'Members' }, 'acme/members'));
    const [evaluation] = await list('acme/members');
    expect(Object.keys(evaluation).sort()).toEqual([
      'created_at',
      'dataset',
      'description',
      'digest',
      'evaluate_op',
      'evaluation_name',
      'name',
      'object_id',
      'predict_and_score_op',
      'scorers',
      'summarize_op',
      'trials',
      'version_index',
    ]);
    expect(evaluation).toMatchObject({ digest, object_id: 'members', version_index: 0, name: 'Members', dataset });
  });
});
