import { describe, expect, it } from 'vitest';
import { startBothServices } from '../support/both-services.ts';
import { connectClient } from '../support/client.ts';
import { emptyHome, temporaryFolder } from '../support/heddle.ts';
import { startScriptedModel } from '../support/scripted-model.ts';

const services = await startBothServices();

describe.each(services)('create_scorer on $name', ({ ada, name: service }) => {
  it.each([
    [{ kind: 'equals', expected: 'answer', ignore_case: true }],
    [{ kind: 'contains', expected: 'answer' }],
    [{ kind: 'matches', pattern: '^refund(s|ed)?$' }],
    [{ kind: 'number_within', expected: 'total', tolerance: 0.5 }],
    [{ kind: 'json_valid' }],
  ])('stores %j', async (definition) => {
    const name = `By ${definition.kind}`;
    const created = await ada.call('create_scorer', { name, ...definition, description: 'Right?' });
    expect(created).toMatchObject({ existed: false });
    expect(created.warnings).toEqual(
      service === 'the embedded service'
        ? undefined
        : [
            `Only heddle's own service is known to run scorers that compare without a model; this one may fail with ${name}. An llm_judge runs on both.`,
          ],
    );
    expect(created.scorer_ref).toMatch(/^weave:\/\/\/team\/project\/object\/by_\w+:[A-Za-z0-9]{43}$/);
    expect(created.text).toContain(`Stored: ${created.scorer_ref}.`);
    expect(await ada.call('read_object', { ref: created.scorer_ref })).toMatchObject({
      kind: 'scorer HeddleScorer',
      val: { name, description: 'Right?', ...definition },
    });
    const again = await ada.call('create_scorer', { name, ...definition, description: 'Right?' });
    expect(again).toMatchObject({ scorer_ref: created.scorer_ref, existed: true });
    expect(again.text).toMatch(/^Existed already: /);
    const other = await ada.call('create_scorer', { name, ...definition, description: 'Wrong?' });
    expect(other).toMatchObject({ existed: false, previous_version: 0 });
    expect(other.text).toContain(`Stored: ${other.scorer_ref}. It is a new version after version 0, which stays.`);
  });

  it('stores a judge with its model, in the form of the public service', async () => {
    const prompt = 'Is {output} a good answer to {question}? Reply as in {{"score": true}}.';
    const definition = { name: 'Good answer', kind: 'llm_judge', model: 'heddle/echo', prompt };
    const scale = { type: 'integer', min: 1, max: 5 };
    const { scorer_ref } = await ada.call('create_scorer', { ...definition, scale });
    const read = await ada.call('read_object', { ref: scorer_ref });
    const content =
      'Judge what the user sends. Reply with one JSON object with two members: "reasoning", one or two sentences, and "score", an integer from 1 to 5.';
    expect(read).toMatchObject({
      kind: 'scorer LLMAsAJudgeScorer',
      val: {
        name: 'Good answer',
        scoring_prompt: prompt,
        model: {
          ref: expect.stringMatching(/^weave:\/\/\/team\/project\/object\/good_answer-model:/),
          llm_model_id: 'heddle/echo',
          default_params: { messages_template: [{ role: 'system', content }], response_format: 'json_object' },
        },
        reply_schema: {
          type: 'object',
          properties: { reasoning: { type: 'string' }, score: { type: 'integer', minimum: 1, maximum: 5 } },
          required: ['score'],
        },
      },
    });
    expect(await ada.call('create_scorer', { ...definition, scale })).toMatchObject({ scorer_ref, existed: true });
    const other = await ada.call('create_scorer', {
      ...definition,
      scale: { type: 'choice', choices: ['good', 'bad'] },
    });
    expect(other.scorer_ref).not.toBe(scorer_ref);
    expect((await ada.call('read_object', { ref: other.scorer_ref })).val.reply_schema.properties.score).toEqual({
      type: 'string',
      enum: ['good', 'bad'],
    });
  });
});

describe('create_scorer', () => {
  const connect = (more: Record<string, string> = {}) => connectClient(emptyHome(temporaryFolder(), more));
  const judge = { name: 'J', kind: 'llm_judge', model: 'heddle/echo', prompt: '{output}' };

  it('stores nothing with a model that inference does not list and that does not reply', async () => {
    const { call } = await connect();
    const { error } = await call('create_scorer', { ...judge, model: 'heddle/ecco' });
    expect(error).toMatchObject({
      code: 'not_found',
      message: expect.stringMatching(
        /^Nothing was stored\. Inference does not list the model heddle\/ecco\. The nearest models are heddle\/echo\. Asked for a short reply, heddle\/ecco failed: .*heddle\/ecco does not exist here/,
      ),
      hint: 'Use a model that is listed, or ask the user for the exact name.',
    });
    expect((await call('list_objects', { kind: 'scorer', name: 'J' })).objects).toEqual([]);
    expect(await call('create_scorer', judge)).not.toHaveProperty('warnings');
  });

  it('warns of a model that replies although inference does not list it', async () => {
    const model = await startScriptedModel(() => 'yes');
    const { call } = await connect({ HEDDLE_MODEL_PROVIDER_URL: model.url });
    expect((await call('create_scorer', { ...judge, model: 'judg' })).warnings).toEqual([
      'Inference does not list the model judg. The nearest models are judge, small, heddle/echo.',
    ]);
    expect(model.asked).toMatchObject([{ model: 'judg' }]);
  });

  it('never stores a secret that heddle knows', async () => {
    const secret = 'token-of-the-user-7f3a';
    const { call } = await connect({ HEDDLE_TOKEN: secret });
    const { scorer_ref, warnings } = await call('create_scorer', { ...judge, prompt: `${secret}: {output}` });
    expect(warnings).toContain('Secrets in the definition were replaced by [secret].');
    expect((await call('read_object', { ref: scorer_ref })).val.scoring_prompt).toBe('[secret]: {output}');
  });

  it('is accepted by create_evaluation', async () => {
    const { call } = await connect();
    const { scorer_ref } = await call('create_scorer', judge);
    const other = await call('create_scorer', { name: 'Valid', kind: 'json_valid' });
    const created = await call('create_evaluation', {
      name: 'E',
      dataset: 'weave:///demo/support/object/tickets:latest',
      scorers: [scorer_ref, other.scorer_ref],
    });
    const { val } = await call('read_object', { ref: created.evaluation_ref });
    expect(val.scorers).toEqual([scorer_ref, other.scorer_ref]);
  });

  it.each([
    [{ name: 'S', kind: 'equals' }, 'expected: is needed for the kind equals'],
    [{ name: 'S', kind: 'json_valid', expected: 'a' }, 'expected: does not belong to the kind json_valid'],
    [{ name: 'S', kind: 'number_within', expected: 'a' }, 'tolerance: is needed for the kind number_within'],
    [{ name: 'S', kind: 'matches', pattern: '(open' }, 'pattern: missing closing ): `(open`'],
    [{ name: 'S', kind: 'matches', pattern: 'a'.repeat(1001) }, 'pattern: the pattern has 1001 characters'],
    [{ ...judge, prompt: 'Is it good?' }, 'prompt: must contain {output}'],
    [{ ...judge, prompt: '{output} {"score": 1}' }, 'prompt: {"score": 1} is no name of a column'],
    [{ ...judge, prompt: '{output} {a.b}' }, 'prompt: {a.b} is no name of a column'],
    [{ ...judge, prompt: '{output} {' }, 'prompt: has a lone {; write {{ for a brace'],
    [{ ...judge, scale: { type: 'integer', min: 1 } }, 'scale.max: belongs to the types number and integer'],
    [{ ...judge, scale: { type: 'integer', min: 5, max: 1 } }, 'scale.min: must be less than max'],
    [{ ...judge, scale: { type: 'choice' } }, 'scale.choices: belongs to the type choice, which needs it'],
    [{ ...judge, scale: { type: 'boolean', max: 1 } }, 'scale.max: belongs to the types number and integer'],
    [{ name: 'S', kind: 'rouge' }, 'kind'],
  ])('refuses %j', async (args, message) => {
    const { call } = await connect();
    expect((await call('create_scorer', args)).error).toMatchObject({
      code: 'invalid_arguments',
      message: expect.stringContaining(message),
    });
  });
});
