import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { caseCount } from '../../support/cases.ts';
import { basic, startTestService } from '../../support/embedded-service.ts';
import { tally } from '../../support/tally.ts';

const service = await startTestService();
const dataset = 'weave:///p/q/object/rows:latest';

describe('createEvaluation', () => {
  it('returns the same digest for the same content, and the next version for other content or for earlier content', async () => {
    const first = await service.evaluate('p/q', { name: 'My Eval/<One>', dataset });
    expect(first.status).toBe(200);
    expect(first.body).toEqual({
      // Computing digests differently would create a new version of every stored definition.
      digest: 'jNtcXzrUL3FohOvKpMW8yV7iBNquZAgHEEvc0zEjXHo',
      object_id: 'my_eval_one',
      version_index: 0,
      evaluation_ref: 'weave:///p/q/object/my_eval_one:jNtcXzrUL3FohOvKpMW8yV7iBNquZAgHEEvc0zEjXHo',
    });
    const explicit = { description: null, scorers: null, trials: 1, evaluation_name: null, colour: 'red' };
    for (const eval_attributes of [{}, null]) {
      const again = await service.evaluate('p/q', { dataset, ...explicit, eval_attributes, name: 'My Eval/<One>' });
      expect(again.body).toEqual(first.body);
    }

    const second = await service.evaluate('p/q', { name: 'My Eval/<One>', dataset, description: 'x' });
    expect(second.body).toMatchObject({ object_id: 'my_eval_one', version_index: 1 });
    expect(second.body.digest).not.toBe(first.body.digest);
    // The first content becomes the newest version.
    expect((await service.evaluate('p/q', { name: 'My Eval/<One>', dataset })).body.version_index).toBe(1);
    expect((await service.evaluate('p/other', { name: 'My Eval/<One>', dataset })).body).toMatchObject({
      version_index: 0,
      evaluation_ref: expect.stringMatching(/^weave:\/\/\/p\/other\/object\/my_eval_one:/),
    });
  });

  it('gives different content a different digest, whichever member differs', async () => {
    const runs = caseCount(60);
    const reference = fc.constantFrom('x:///a', 'x:///b', 'x:///c');
    const text = fc.constantFrom('', 'x', 'y', 'null', '1');
    const definition = fc.record({
      dataset: reference,
      description: fc.option(text),
      scorers: fc.array(reference, { maxLength: 2 }),
      trials: fc.constantFrom(0, 1, 2, 10),
      evaluation_name: fc.option(text),
      eval_attributes: fc.dictionary(text, fc.oneof(text, fc.constantFrom(0, 1, null, true, [], {})), { maxKeys: 2 }),
    });
    const digests = new Map<string, string>();
    const contents = new Map<string, object>();
    await fc.assert(
      fc.asyncProperty(definition, fc.nat({ max: 5 }), definition, async (first, at, second) => {
        // Two definitions that differ in one member at most.
        const member = Object.keys(first)[at] as keyof typeof first;
        for (const content of [first, { ...first, [member]: second[member] }]) {
          const { body } = await service.evaluate('p/digests', { name: 'e', ...content });
          const { eval_attributes } = content;
          const sorted = Object.entries(eval_attributes).sort(([a], [b]) => (a < b ? -1 : 1));
          const key = JSON.stringify({ ...content, eval_attributes: sorted });
          expect(body.digest).toBe(digests.get(key) ?? body.digest);
          expect(contents.get(body.digest) ?? content).toEqual(content);
          digests.set(key, body.digest);
          contents.set(body.digest, content);
        }
      }),
      { numRuns: runs },
    );
    tally('property runs', runs);
    const { body } = await service.send('GET', '/v2/p/digests/evaluations', basic);
    const listed = body
      .trimEnd()
      .split('\n')
      .map((line: string) => JSON.parse(line));
    expect(listed).toHaveLength(contents.size);
    for (const { digest, dataset, scorers, trials, evaluation_name, description } of listed) {
      expect(contents.get(digest)).toMatchObject({ dataset, scorers, trials, evaluation_name, description });
    }
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

  it.each([
    ['Prüfung Eins', 'prüfung_eins'],
    ['検査/<1>', '検査_1'],
    ['é'.repeat(128), 'é'.repeat(128)],
  ])('accepts the name %s in any script', async (name, object_id) => {
    const { status, body } = await service.evaluate('p/q', { name, dataset });
    expect([status, body]).toMatchObject([200, { object_id, version_index: 0 }]);
    expect(body.evaluation_ref).toBe(`weave:///p/q/object/${object_id}:${body.digest}`);
  });

  it.each(['a b$', '<>', 'x'.repeat(129), 'a:b', 'a\n', '👍'])(
    'refuses the name %j, which cannot become an object id',
    async (name) => {
      expect(await service.evaluate('p/q', { name, dataset })).toMatchObject({
        status: 422,
        body: { detail: [{ loc: ['body', 'name'], type: 'value_error' }] },
      });
    },
  );

  it.each([
    { dataset: 'weave:///p/q/object/rows' },
    { dataset: 'rows' },
    { dataset: '' },
    { dataset, scorers: ['weave://x', 'judge'] },
    { dataset, trials: 0 },
    { dataset, trials: -1 },
  ])('stores the text of references and the number of trials as they are: %j', async (members) => {
    expect((await service.evaluate('p/text', { name: 'refs', ...members })).status).toBe(200);
    const { body } = await service.send('GET', '/v2/p/text/evaluations', basic);
    expect(JSON.parse(body.trimEnd().split('\n').at(-1))).toMatchObject(members);
  });

  it.each([
    [{}, 'dataset', 'missing'],
    [{ dataset: null }, 'dataset', 'string_type'],
    [{ dataset, trials: 1.5 }, 'trials', 'int_type'],
    [{ dataset, trials: null }, 'trials', 'number_type'],
    [{ dataset, scorers: 'x' }, 'scorers', 'array_type'],
    [{ dataset, eval_attributes: [] }, 'eval_attributes', 'record_type'],
  ])('refuses the definition %j', async (members, member, type) => {
    expect(await service.evaluate('p/q', { name: 'refs', ...members })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', member], type }] },
    });
  });
});
