import { describe, expect, it } from 'vitest';
import { startTestService } from '../../support/embedded-service.ts';
import { EvaluationSetup } from '../../support/evaluation-setup.ts';
import { startScriptedModel } from '../../support/scripted-model.ts';

async function start() {
  const model = await startScriptedModel(({ model: name }) => (name === 'judge' ? '{"score":1}' : 'fine'));
  const service = await startTestService({ modelProvider: { url: model.url } });
  const setup = new EvaluationSetup(service);
  /** Sends the request that starts a run of an evaluation. */
  const send = async (rows: Record<string, unknown>[], scorers: string[], prompt = 'Hi') =>
    setup.send('/evaluations/evaluate_model', {
      evaluation_ref: await setup.evaluation(await setup.dataset(rows), scorers),
      model_ref: await setup.model(prompt),
    });
  return { model, setup, send };
}

const rows = [{ question: 'a' }, { question: 'b', answer: 'B' }];

describe('a run of an evaluation', () => {
  it.each([
    [
      '{qestion} {answer}',
      /^No row of the dataset fills the placeholder \{qestion\} of weave:.*:\w+; its columns: answer, question$/,
    ],
    ['{question} {', /^Lone \{ in a message of weave:.*: write \{\{ for a literal brace$/],
  ])('is refused with status 400 for the prompt %j before anything is sent', async (prompt, reason) => {
    const { send, model } = await start();
    const { status, body } = await send(rows, [], prompt);
    expect([status, body.reason]).toEqual([400, expect.stringMatching(reason)]);
    expect(model.asked).toEqual([]);
  });

  it.each([
    [
      'prompt',
      { scoring_prompt: 'Judge {s}.' },
      /fills the placeholder \{s\} of weave:.*judge:\w+; its columns: answer, question/,
    ],
    ['column map', { scoring_prompt: '{s}', column_map: { s: 'none' } }, /placeholder \{s\} \(column none\) of weave:/],
    [
      'messages of the model',
      {
        model: { llm_model_id: 'judge', default_params: { messages_template: [{ role: 'system', content: '{s}' }] } },
        scoring_prompt: 'Good?',
      },
      /fills the placeholder \{s\} of weave:/,
    ],
  ])('is refused for a judge whose %s names a column that no row has', async (_, judge, reason) => {
    const { send, setup, model } = await start();
    const { status, body } = await send(rows, [await setup.judge('judge', judge)]);
    expect([status, body.reason]).toEqual([400, expect.stringMatching(reason)]);
    expect(model.asked).toEqual([]);
  });

  it('names the nearest columns of many', async () => {
    const { send } = await start();
    const row = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`column_${n}`, n]));
    const { body } = await send([row], [], '{colum_217}');
    expect(body.reason).toContain(' column_217, ');
    expect(body.reason).toMatch(/ and 280 more$/);
  });

  it('asks nothing about the rows that lack a column, and no judge about theirs', async () => {
    const { setup, model } = await start();
    const judge = await setup.judge('judge', { scoring_prompt: '{output} {a}', column_map: { a: 'answer' } });
    const dataset = await setup.dataset([...rows, { answer: 'C' }]);
    const id = await setup.start(await setup.evaluation(dataset, [judge]), await setup.model('{question}'));
    await setup.ended(id);
    const { rows: results } = await setup.results([id]);
    const trials = results.map(
      ({ evaluations }: { evaluations: { trials: unknown[] }[] }) => evaluations[0]!.trials[0],
    );
    expect(trials).toMatchObject([
      {
        model_output: 'fine',
        scores: {},
        scorer_errors: { judge: 'Missing template variable a; known variables: inputs, output, question' },
      },
      { model_output: 'fine', scores: { judge: { score: 1 } } },
      { model_output: null, error: 'Missing template variable question; known variables: answer' },
    ]);
    expect(model.asked.map(({ messages }) => messages[0]!.content).sort()).toEqual(['a', 'b', 'fine B']);
  });

  it('starts without knowing the columns of a dataset that is too large to be read first', async () => {
    const { send, model } = await start();
    const { status } = await send([{ question: 'x'.repeat(9 * 1024 * 1024) }], [], '{none}');
    expect(status).toBe(200);
    expect(model.asked).toEqual([]);
  });
});
