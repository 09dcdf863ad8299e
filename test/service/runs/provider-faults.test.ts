import { describe, expect, it } from 'vitest';
import type { RunnerLimits } from '../../../src/service/runs/evaluation-runner.ts';
import { startTestService } from '../../support/embedded-service.ts';
import { EvaluationSetup } from '../../support/evaluation-setup.ts';
import { freePort } from '../../support/free-port.ts';
import { completion, type Script, startScriptedModel } from '../../support/scripted-model.ts';

const key = 'secret-key-of-the-provider';

/** Runs one row per name through a scripted model; returns the trials by name, and the requests that arrived. */
async function run(
  script: Script,
  names: string[],
  scorers: (setup: EvaluationSetup) => Promise<string[]> = async () => [],
  evaluation: RunnerLimits = {},
) {
  const model = await startScriptedModel(script);
  const service = await startTestService({ modelProvider: { url: model.url, key }, evaluation });
  const setup = new EvaluationSetup(service);
  const dataset = await setup.dataset(names.map((question) => ({ question })));
  const reference = await setup.evaluation(dataset, await scorers(setup));
  const id = await setup.start(reference, await setup.model('{question}'));
  const status = await setup.ended(id);
  const asked = (name: string) => model.asked.filter(({ messages }) => messages[0]!.content === name).length;
  return { status, trials: await setup.trials(id), asked, setup, id };
}

const failure = (error: string) => ({ model_output: null, scores: {}, error });

describe('predictions of an evaluation', () => {
  it('are requested again after 429, 500 and an interrupted reply, and not counted as failures', async () => {
    const { trials, asked, status } = await run(
      ({ messages }, response, repeats) => {
        const name = messages[0]!.content;
        if (repeats === 0 && name === 'busy') response.writeHead(429, { 'retry-after': '1' }).end();
        else if (repeats < 2 && name === 'failing') response.writeHead(500).end();
        else if (repeats === 0 && name === 'broken') {
          response.writeHead(200, { 'content-length': 1000 }).write('{"choices":', () => response.destroy());
        } else return `${name} done`;
        return undefined;
      },
      ['busy', 'failing', 'broken', 'fine'],
    );
    for (const name of ['busy', 'failing', 'broken', 'fine']) {
      expect(trials[name]).toMatchObject({ model_output: `${name} done`, error: null });
    }
    expect(['busy', 'failing', 'broken', 'fine'].map(asked)).toEqual([2, 3, 2, 1]);
    expect(status.code).toBe('complete');
  });

  it('end the run once the first ten have failed alike, and no reply has come', async () => {
    const names = Array.from({ length: 40 }, (_, n) => `row ${n}`);
    const refuse: Script = (_, response) => void response.writeHead(401).end('{"error":"No key"}');
    const { status, trials } = await run(refuse, names);
    const { length } = Object.keys(trials);
    expect(length).toBeGreaterThanOrEqual(10);
    expect(length).toBeLessThanOrEqual(17);
    expect(status).toMatchObject({
      code: 'failed',
      error: `Stopped because each of the first ${length} of 40 predictions failed with: The model provider responded with status 401: No key`,
    });
    const late = await run((request, response, repeats) => {
      const name = request.messages[0]!.content;
      return name === 'row 3' ? 'Hello' : refuse(request, response, repeats);
    }, names);
    expect(Object.keys(late.trials)).toHaveLength(40);
  });

  it('are recorded as errors of their rows when they fail, with the reason and without the key', async () => {
    const { trials, asked, setup, id } = await run(
      ({ messages }, response) => {
        const name = messages[0]!.content;
        if (name === 'down') response.writeHead(503).end('<html>down</html>');
        else if (name === 'refused')
          response.writeHead(400).end(JSON.stringify({ error: { message: `Bad key ${key}` } }));
        else if (name === 'cut') response.writeHead(200, { 'content-length': 1000 }).write('{');
        else if (name === 'text') response.end('Hello');
        else if (name === 'empty') response.end('{"choices":[]}');
        else if (name === 'late') response.writeHead(429, { 'retry-after': '3600' }).end();
        else return 'fine';
        if (name === 'cut') response.destroy();
        return undefined;
      },
      ['down', 'refused', 'cut', 'text', 'empty', 'late', 'fine'],
    );
    expect(trials).toMatchObject({
      down: failure('The model provider responded with status 503.'),
      refused: failure('The model provider responded with status 400: Bad key [secret]'),
      cut: failure(
        expect.stringMatching(/^The model provider (broke off its reply|cannot be reached)/) as unknown as string,
      ),
      text: failure('The reply of the model provider is not JSON.'),
      empty: failure('The reply of the model provider has no message.'),
      late: failure('The model provider responded with status 429.'),
      fine: { model_output: 'fine', error: null },
    });
    expect(['down', 'refused', 'cut', 'text', 'late'].map(asked)).toEqual([3, 1, 3, 1, 1]);
    const { summary } = await setup.results([id]);
    expect(summary.evaluations).toMatchObject([{ trial_count: 7, error_count: 6 }]);
  });

  it('are recorded as errors of their rows when the reply cannot be stored or read again', async () => {
    const nested = (levels: number): string =>
      `{"choices":[{"message":{"content":${'['.repeat(levels)}${']'.repeat(levels)}}}]}`;
    const { trials, status } = await run(
      ({ messages }, response) => {
        const name = messages[0]!.content;
        if (name === 'deep') response.end(nested(5000));
        else if (name === 'nested') response.end(nested(450));
        else if (name === 'nul')
          response.writeHead(400).end(JSON.stringify({ error: { message: 'no\0thing \ud800' } }));
        else return 'a\0b \ud800';
        return undefined;
      },
      ['deep', 'nested', 'nul', 'text'],
    );
    expect(status.code).toBe('complete');
    expect(trials).toMatchObject({
      deep: failure('The reply of the model provider is nested deeper than 500 levels.'),
      nested: failure('The reply of the model is nested deeper than 400 levels.'),
      nul: failure('The model provider responded with status 400: no\ufffdthing \ufffd'),
      text: { model_output: 'a\0b \ud800', error: null },
    });
  });

  it('are not requested again when a reply does not arrive in time', async () => {
    const { trials, asked } = await run(() => undefined, ['slow'], undefined, { replyTimeoutMs: 1000 });
    expect(trials).toMatchObject({ slow: failure('The model provider did not reply within 1 s.') });
    expect(asked('slow')).toBe(1);
  });

  it('are recorded as errors when nothing listens at the address, or the row lacks a column', async () => {
    const modelProvider = { url: `http://127.0.0.1:${await freePort()}/v1` };
    const setup = new EvaluationSetup(await startTestService({ modelProvider }));
    const evaluation = await setup.evaluation(
      await setup.dataset([{ question: 'a' }, { other: 'b', question: 'b' }]),
      [],
    );
    const id = await setup.start(evaluation, await setup.model('{question} {other}'));
    await setup.ended(id);
    const trials = await setup.trials(id);
    expect(trials.a.error).toBe('Missing template variable other; known variables: question');
    expect(trials.b.error).toBe('The model provider cannot be reached (ECONNREFUSED).');
  });
});

describe('judges of an evaluation', () => {
  it('get the messages of their model with the variables filled in', async () => {
    const asked: string[] = [];
    const { trials } = await run(
      ({ model, messages }) => {
        if (model === 'judge') asked.push(messages.map(({ content }) => content).join(' / '));
        return 'fine';
      },
      ['first'],
      async (setup) => [
        await setup.judge('filled', {
          model: {
            llm_model_id: 'judge',
            default_params: { messages_template: [{ role: 'system', content: 'Judge {output} for {question}.' }] },
          },
          scoring_prompt: 'Good?',
        }),
      ],
    );
    expect(asked).toEqual(['Judge fine for first. / Good?']);
    expect(trials).toMatchObject({ first: { scores: { filled: 'fine' } } });
  });

  const schema = { type: 'object', properties: { passed: { type: 'boolean' } }, required: ['passed'] };
  const judges = async (setup: EvaluationSetup) => [
    await setup.judge('rated', {
      scoring_prompt: 'Is "{output}" good for {name}?',
      column_map: { name: 'question' },
      reply_schema: schema,
    }),
  ];

  it('are asked once more when their reply does not fit the schema, after which the score is an error', async () => {
    const prompts: string[] = [];
    const { trials } = await run(
      ({ model, messages }, _, repeats) => {
        const text = messages[0]!.content;
        if (model === 'small') return `${text}!`;
        prompts.push(text);
        if (text.includes('never')) return repeats === 0 ? 'Yes' : '{"passed":"yes"}';
        if (text.includes('later') && repeats === 0) return 'Yes';
        return '```json\n{"passed":true}\n```';
      },
      ['first', 'later', 'never'],
      judges,
    );
    expect(trials).toMatchObject({
      first: { scores: { rated: { passed: true } }, scorer_errors: {} },
      later: { scores: { rated: { passed: true } }, scorer_errors: {} },
      never: {
        model_output: 'never!',
        scores: {},
        scorer_errors: { rated: 'The reply of the judge does not fit the schema, also when it was asked again.' },
      },
    });
    expect(prompts.sort()).toEqual([
      'Is "first!" good for first?',
      'Is "later!" good for later?',
      'Is "later!" good for later?',
      'Is "never!" good for never?',
      'Is "never!" good for never?',
    ]);
  });

  it('leave the prediction and other scores in place when the model provider refuses them', async () => {
    const { trials } = await run(
      ({ model }, response) => {
        if (model === 'small') return completion('fine');
        response.writeHead(404).end('No such model');
        return undefined;
      },
      ['a'],
      async (setup) => [...(await judges(setup)), await setup.scorer('json', { kind: 'json_valid' })],
    );
    expect(trials.a).toMatchObject({
      model_output: 'fine',
      scores: { json: false },
      error: null,
      scorer_errors: { rated: 'The model provider responded with status 404: No such model' },
    });
  });

  it('keep their errors apart when the name of one contains the name of another', async () => {
    const { trials } = await run(
      ({ model }, response) => {
        if (model === 'small') return completion('fine');
        response.writeHead(404).end('No such model');
        return undefined;
      },
      ['a'],
      async (setup) => [
        await setup.scorer('known', { kind: 'json_valid' }),
        await setup.judge('unknown', { scoring_prompt: 'Is "{output}" good?' }),
      ],
    );
    expect(trials.a).toMatchObject({
      scores: { known: false },
      scorer_errors: { unknown: 'The model provider responded with status 404: No such model' },
    });
  });
});
