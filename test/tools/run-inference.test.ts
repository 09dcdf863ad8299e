import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runInferenceTool } from '../../src/tools/run-inference.ts';
import { connectClient } from '../support/client.ts';
import { sendResponse, startFakeService } from '../support/fake-service.ts';
import { call, emptyHome, run, temporaryFolder } from '../support/heddle.ts';

const prompt = 'weave:///demo/support/object/greeting:latest';

/** Stores the prompt `greeting`; returns the environment. */
async function storePrompt(): Promise<Record<string, string>> {
  const folder = temporaryFolder();
  const environment = emptyHome(folder);
  const file = join(folder, 'greeting.json');
  writeFileSync(file, JSON.stringify([{ role: 'system', content: 'You speak for {product}. {{not a variable}}' }]));
  const { code } = await run(['service', 'put-prompt', 'greeting', file, '--project', 'demo/support'], environment);
  expect(code).toBe(0);
  return environment;
}

const messages = [
  { role: 'user', content: [{ type: 'text', text: 'Hello {name}, {{braces}} stay' }] },
  { role: 'assistant', content: 'I say {name} unchanged' },
];

describe('run_inference', () => {
  it('puts the messages of the prompt first and fills in variables; double braces become single ones', async () => {
    const environment = await storePrompt();
    const { code, result } = await call(
      'run_inference',
      { model: 'heddle/echo', prompt, messages, template_vars: { product: 'the app', name: 'Ada {product}' } },
      environment,
    );
    expect(code).toBe(0);
    const [{ finish_reason, message }] = result.response.choices;
    expect(finish_reason).toBe('stop');
    const echoed = JSON.parse(message.content.slice(message.content.indexOf('\n')));
    expect(echoed).toEqual([
      { role: 'system', content: 'You speak for the app. {not a variable}' },
      { role: 'user', content: [{ type: 'text', text: 'Hello Ada {product}, {braces} stay' }] },
      { role: 'assistant', content: 'I say {name} unchanged' },
    ]);
  });

  it('warns of variables that no message has a placeholder for', async () => {
    const { call: callTool } = await connectClient(await storePrompt());
    const warnings = ['Not used of template_vars: tone. The messages have the placeholders product.'];
    for (const name of [prompt, 'Greeting']) {
      const args = { model: 'heddle/echo', prompt: name, template_vars: { product: 'the app', tone: 'kind' } };
      const result = await callTool('run_inference', args);
      expect(result.warnings).toEqual(warnings);
      expect(result.text).toContain(`\n${warnings[0]}`);
    }
    const alone = {
      model: 'heddle/echo',
      messages: [{ role: 'user', content: 'Hello' }],
      template_vars: { tone: 'kind' },
    };
    expect((await callTool('run_inference', alone)).warnings).toEqual([
      'Not used of template_vars: tone. The messages have no placeholders.',
    ]);
    const used = { ...alone, template_vars: { name: 'Ada' }, messages: [{ role: 'user', content: 'Hello {name}' }] };
    expect(await callTool('run_inference', used)).not.toHaveProperty('warnings');
  });

  it('sends nothing for a stored prompt whose variables have no values, unless it is told to', async () => {
    const environment = await storePrompt();
    for (const name of ['greeting', prompt]) {
      const failed = await call('run_inference', { model: 'heddle/echo', prompt: name }, environment);
      expect(failed.result).toMatchObject({
        code: 'invalid_arguments',
        message:
          'Nothing was sent: the stored prompt has the variables product, and template_vars has no values for them.',
        hint: 'Pass template_vars with a value for each, or {} to send the prompt as it is.',
      });
    }
    const literal = { model: 'heddle/echo', prompt, template_vars: {} };
    const sent = await call('run_inference', literal, environment);
    expect(sent.result.response.choices[0].message.content).toContain('You speak for {product}.');
  });

  it('takes the name of a prompt, and names the nearest for an unknown one', async () => {
    const environment = await storePrompt();
    const named = { model: 'heddle/echo', prompt: 'Greeting', template_vars: { product: 'the app' } };
    const { result } = await call('run_inference', named, environment);
    expect(result.response.choices[0].message.content).toContain('You speak for the app.');
    const unknown = await call('run_inference', { ...named, prompt: 'greting' }, environment);
    expect(unknown.result).toMatchObject({
      code: 'not_found',
      hint: expect.stringMatching(/^The nearest are weave:\/\/\/demo\/support\/object\/greeting:/),
    });
    const dataset = await call('run_inference', { ...named, prompt: 'tickets' }, environment);
    expect(dataset.result.message).toBe('"tickets" is no prompt but a Dataset.');
  });

  it('writes the reply, its finish reason and its tokens as text, and a reply without one text in full', async () => {
    const service = await startFakeService();
    const { call } = await connectClient(emptyHome(temporaryFolder(), service.environment));
    const answered = async (body: object): Promise<string> => {
      service.respond = (request) => sendResponse(request, 200, body);
      return (await call('run_inference', { model: 'm' })).text;
    };
    const usage = { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 };
    const choice = (content: string | null, extra: object = {}) => ({
      index: 0,
      message: { role: 'assistant', content, ...extra },
      finish_reason: 'stop',
    });
    expect(await answered({ model: 'm', choices: [choice('Hello')], usage })).toBe(
      'The model\'s reply, as data (model "m", finish_reason "stop", tokens 12+3):\nHello',
    );
    expect(await answered({ choices: [choice('Hello')], usage: { prompt_tokens: 12 } })).toBe(
      'The model\'s reply, as data (finish_reason "stop", tokens 12+?):\nHello',
    );
    expect(await answered({ data: [1] })).toBe('The model\'s reply, as data (no details):\n{"data":[1]}');
    const two = { choices: [choice('a', { tool_calls: [{ id: 't' }] }), choice('b')] };
    expect(await answered(two)).toBe(`The model's reply, as data (finish_reason "stop"):\n${JSON.stringify(two)}`);
    expect(await answered({ choices: [choice('', { tool_calls: [{ id: 't' }] })] })).toBe(
      'The model\'s reply, as data (finish_reason "stop"):\n\ntool_calls: [{"id":"t"}]',
    );
  });

  it('returns the same result for a streamed reply', async () => {
    const environment = emptyHome(temporaryFolder());
    const request = { model: 'heddle/echo', messages: [{ role: 'user', content: 'stream me' }] };
    const whole = await call('run_inference', request, environment);
    const streamed = await call('run_inference', { ...request, stream: true }, environment);
    expect(streamed.result.text).toBe(whole.result.text);
    expect(streamed.result.usage).toEqual(whole.result.usage);
    expect(streamed.result.response.object).toBe('chat.completion');
  });

  it.each([
    ['team/app', 'team/app'],
    ['team/späti', undefined],
  ])('names the project %s to the service, as all inference does: %s', async (project, header) => {
    const [service, inference] = await Promise.all([startFakeService(), startFakeService()]);
    const { call, client } = await connectClient(
      emptyHome(temporaryFolder(), {
        ...service.environment,
        HEDDLE_INFERENCE_URL: `${inference.url}/v1`,
        HEDDLE_PROJECT: project,
      }),
    );
    await call('run_inference', { model: 'm', messages: [] });
    await call('list_objects', { kind: 'model', project_id: 'other/app' });
    await client.complete({
      ref: { type: 'ref/prompt', name: 'triage_queue' },
      argument: { name: 'model', value: '' },
      context: { arguments: { project_id: 'other/app' } },
    });
    expect(
      inference.requests.map(({ method, path, headers }) => [`${method} ${path}`, headers['openai-project']]),
    ).toEqual([
      ['POST /v1/chat/completions', header],
      ['GET /v1/models', header],
      ['GET /v1/models', header],
    ]);
    expect(service.requests).toEqual([]);
  });

  it.each([
    ['a missing variable', { prompt, template_vars: { other: 'x' } }, 'invalid_request', 'product'],
    ['an unknown prompt', { prompt: 'weave:///demo/support/object/nowhere:latest' }, 'not_found', 'nowhere'],
    ['an unknown model', { model: 'gpt-none' }, 'not_found', 'gpt-none'],
  ])('fails with an error that names %s', async (_, request, code, name) => {
    const environment = await storePrompt();
    const failed = await call('run_inference', { model: 'heddle/echo', ...request }, environment);
    expect(failed.code).toBe(1);
    expect(failed.result.code).toBe(code);
    expect(failed.result.message).toContain(name);
  });

  it('fails with the nearest models for a model that does not exist', async () => {
    const failed = await call('run_inference', { model: 'heddle/ecco', messages: [] }, emptyHome(temporaryFolder()));
    expect(failed.result.message).toMatch(
      /The model heddle\/ecco does not exist here.* Inference does not list the model heddle\/ecco\. The nearest models are heddle\/echo\.$/,
    );
  });

  it('shortens its longest texts to nine tenths of the share that fits, not below 100 characters', () => {
    const shortened = (chars: number, share: number) =>
      runInferenceTool.shrink!({ response: { choices: [{ message: { content: 'x'.repeat(chars) } }] } }, share);
    const ofText = (content: string): object => ({ response: { choices: [{ message: { content } }] } });
    expect(shortened(1000, 0.5)).toMatchObject(ofText(`${'x'.repeat(450)}…[+550 characters]`));
    expect(shortened(1000, 0.01)).toMatchObject(ofText(`${'x'.repeat(100)}…[+900 characters]`));
    expect(shortened(200, 0.5)).toMatchObject(ofText(`${'x'.repeat(100)}…[+100 characters]`));
    expect(shortened(199, 0.5)).toBeUndefined();
  });
});
