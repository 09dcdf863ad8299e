import { describe, expect, it } from 'vitest';
import { startTestService } from '../../support/embedded-service.ts';

const service = await startTestService();
const dataset = 'weave:///p/q/object/rows:latest';

describe('createEvaluation', () => {
  it('returns the same version for the same content and the next one for other content', async () => {
    const first = await service.evaluate('p/q', { name: 'My Eval/<One>', dataset });
    expect(first.status).toBe(200);
    expect(first.body).toEqual({
      // Computing digests differently would create a new version of every stored definition.
      digest: 'LvFtI4kYmTupX3hPfVMJp6taUfwchL5HeDFzmKDSDrA',
      object_id: 'my_eval_one',
      version_index: 0,
      evaluation_ref: 'weave:///p/q/object/my_eval_one:LvFtI4kYmTupX3hPfVMJp6taUfwchL5HeDFzmKDSDrA',
    });
    const explicit = { description: null, scorers: null, trials: 1, evaluation_name: null, eval_attributes: {} };
    expect((await service.evaluate('p/q', { dataset, ...explicit, name: 'My Eval/<One>' })).body).toEqual(first.body);

    const second = await service.evaluate('p/q', { name: 'My Eval/<One>', dataset, description: 'x' });
    expect(second.body).toMatchObject({ object_id: 'my_eval_one', version_index: 1 });
    expect(second.body.digest).not.toBe(first.body.digest);
    expect((await service.evaluate('p/q', { name: 'My Eval/<One>', dataset })).body.version_index).toBe(0);
    expect((await service.evaluate('p/other', { name: 'My Eval/<One>', dataset })).body).toMatchObject({
      version_index: 0,
      evaluation_ref: expect.stringMatching(/^weave:\/\/\/p\/other\/object\/my_eval_one:/),
    });
  });

  it('ignores the order of attributes at any depth, but not the order of scorers', async () => {
    const create = async (members: object) =>
      (await service.evaluate('p/q', { name: 'order', dataset, ...members })).body.version_index;
    expect(await create({ eval_attributes: { a: 1, b: [{ c: 1, d: 2 }] } })).toBe(0);
    expect(await create({ eval_attributes: { b: [{ d: 2, c: 1 }], a: 1 } })).toBe(0);
    expect(await create({ eval_attributes: { b: [{ d: 2, c: 2 }], a: 1 } })).toBe(1);
    expect(await create({ scorers: ['x:///a', 'x:///b'] })).toBe(2);
    expect(await create({ scorers: ['x:///b', 'x:///a'] })).toBe(3);
  });

  it.each(['a b$', '<>', 'é', 'x'.repeat(129), 'a:b', 'a\n'])(
    'refuses the name %j, which cannot become an object id',
    async (name) => {
      expect(await service.evaluate('p/q', { name, dataset })).toMatchObject({
        status: 422,
        body: { detail: [{ loc: ['body', 'name'], type: 'value_error' }] },
      });
    },
  );

  it.each([
    [{ dataset: 'weave:///p/q/object/rows' }, 400, { reason: 'Invalid URI: weave:///p/q/object/rows' }],
    [{ dataset, scorers: ['weave://x'] }, 400, { reason: 'Invalid URI: weave://x' }],
    [{ dataset: 'other://x' }, 200, { version_index: 0 }],
    [{ dataset: 'rows' }, 422, { detail: [{ loc: ['body', 'dataset'], type: 'string_pattern_mismatch' }] }],
    [{ dataset, trials: 0 }, 422, { detail: [{ loc: ['body', 'trials'], type: 'greater_than_equal' }] }],
    [{ dataset, trial: 1 }, 422, { detail: [{ loc: ['body', 'trial'], type: 'extra_forbidden' }] }],
  ])('responds to the definition %j with status %i', async (members, status, body) => {
    expect(await service.evaluate('p/q', { name: 'refs', ...members })).toMatchObject({ status, body });
  });
});
