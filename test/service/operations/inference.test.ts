import fc from 'fast-check';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { caseCount } from '../../support/cases.ts';
import { basic, startTestService, withStore } from '../../support/embedded-service.ts';

const service = await startTestService();
const prompts = await withStore(service.data, async (store) => [
  await store.putObject('prompt', 'p/q', 'greet', [{ role: 'system', content: 'Old {name}' }]),
  await store.putObject('prompt', 'p/q', 'greet', {
    messages: [
      { role: 'system', content: 'You greet {name}, {{always}}.' },
      { role: 'assistant', content: 'I keep {name}.' },
    ],
  }),
]);

describe('runInference', () => {
  it('leaves messages unchanged without variables', async () => {
    const messages = [{ role: 'user', content: 'a {b} {{c}} }' }];
    expect(await service.echoed({ messages })).toEqual(messages);
    expect(await service.echoed({ messages, template_vars: {} })).toEqual(messages);
    expect(await service.echoed({})).toEqual([]);
  });

  it('puts the messages of the prompt first and fills variables in all but assistant messages', async () => {
    for (const version of ['latest', 'v1', prompts[1]!.digest]) {
      expect(
        await service.echoed({
          prompt: `weave:///p/q/object/greet:${version}`,
          messages: [{ role: 'user', content: 'Hello {name}, {{name}}, {{{name}}}' }],
          template_vars: { name: 'Ada' },
        }),
      ).toEqual([
        { role: 'system', content: 'You greet Ada, {always}.' },
        { role: 'assistant', content: 'I keep {name}.' },
        { role: 'user', content: 'Hello Ada, {name}, {Ada}' },
      ]);
    }
    expect(await service.echoed({ prompt: 'other:///p/q/object/greet:v0', template_vars: { name: 'Bo' } })).toEqual([
      { role: 'system', content: 'Old Bo' },
    ]);
  });

  it('fills variables in content parts, as text or JSON, without substituting inside values', async () => {
    expect(
      await service.echoed({
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: '{a} {b} {c} {d}' },
              { type: 'image_url', image_url: { url: 'http://x/{a}' } },
              '{a}',
              7,
            ],
          },
        ],
        template_vars: { a: '{b}}{', b: 1.5, c: { x: ['é'] }, d: null },
      }),
    ).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: '{b}}{ 1.5 {"x":["é"]} null' },
          { type: 'image_url', image_url: { url: 'http://x/{b}}{' } },
          '{b}}{',
          7,
        ],
      },
    ]);
  });

  it.each([
    ['{c}', 'Missing template variable c; known variables: a, b'],
    ['{toString}', 'Missing template variable toString; known variables: a, b'],
    ['{ a }', 'Missing template variable  a ; known variables: a, b'],
    ['{', 'Lone { in a message: write {{ for a literal brace'],
    ['a } b', 'Lone } in a message: write }} for a literal brace'],
    ['{a{b}', 'Lone { in a message: write {{ for a literal brace'],
  ])('refuses the template %s', async (content, reason) => {
    const request = { messages: [{ role: 'user', content }], template_vars: { b: 1, a: 2 } };
    expect(await service.infer({ model: 'heddle/echo', ...request })).toMatchObject({ status: 400, body: { reason } });
  });

  it.each([
    ['greet', 400, 'Invalid URI: greet'],
    ['weave:///p/q/object/greet', 400, 'Invalid URI: weave:///p/q/object/greet'],
    ['weave:///p/q/object/nobody:latest', 404, 'Prompt weave:///p/q/object/nobody:latest not found'],
    ['weave:///p/q/object/greet:v2', 404, 'Prompt weave:///p/q/object/greet:v2 not found'],
    ['weave:///p/other/object/greet:v0', 404, 'Prompt weave:///p/other/object/greet:v0 not found'],
  ])('refuses the prompt %s', async (prompt, status, reason) => {
    expect(await service.infer({ model: 'heddle/echo', prompt })).toMatchObject({ status, body: { reason } });
  });

  it('runs the version of a prompt that the SDK stored', async () => {
    const val = {
      _type: 'MessagesPrompt',
      _class_name: 'MessagesPrompt',
      _bases: ['Prompt', 'Object', 'BaseModel'],
      messages: [{ role: 'system', content: 'Stored for {name}' }],
    };
    const obj = { project_id: 'p/q', object_id: 'stored', val };
    const { digest } = (await service.send('POST', '/obj/create', basic, { obj })).body;
    const prompt = `weave:///p/q/object/stored:${digest}`;
    expect(await service.echoed({ prompt, template_vars: { name: 'Ada' } })).toEqual([
      { role: 'system', content: 'Stored for Ada' },
    ]);
  });

  it.each([
    ['StringPrompt', ['Prompt', 'Object', 'BaseModel'], 400, 'has no messages'],
    ['Dataset', ['Object', 'BaseModel'], 404, 'not found'],
  ])('refuses an object of the class %s as a prompt', async (name, _bases, status, reason) => {
    const val = { _type: name, _class_name: name, _bases, content: 'text' };
    const obj = { project_id: 'p/q', object_id: name, val };
    expect((await service.send('POST', '/obj/create', basic, { obj })).status).toBe(200);
    const prompt = `weave:///p/q/object/${name}:v0`;
    expect(await service.infer({ model: 'heddle/echo', prompt })).toMatchObject({
      status,
      body: { reason: `Prompt ${prompt} ${reason}` },
    });
  });

  it('accepts members that the interface does not name, and null for all but the model and the messages', async () => {
    const messages = [{ role: 'user', content: 'Hi' }];
    const unnamed = {
      stream_options: { include_usage: true },
      store: false,
      metadata: {},
      top_k: 5,
      reasoning_effort: null,
    };
    const nulls = {
      tool_choice: null,
      logit_bias: null,
      response_format: null,
      extra_headers: null,
      template_vars: null,
      prompt: null,
      stop: null,
    };
    expect(await service.echoed({ messages, ...unnamed, ...nulls })).toEqual(messages);
    for (const member of ['model', 'messages']) {
      expect(await service.infer({ model: 'heddle/echo', messages, [member]: null })).toMatchObject({
        status: 422,
        body: { detail: [{ loc: ['body', member] }] },
      });
    }
  });

  it('keeps any text whose braces are doubled, whatever the variables', async () => {
    const text = fc.string({ unit: fc.constantFrom('{', '}', 'a', ' ', 'é', '$&', '\n', '😀') });
    await fc.assert(
      fc.asyncProperty(text, text, text, async (before, value, after) => {
        const doubled = (plain: string) => plain.replaceAll('{', '{{').replaceAll('}', '}}');
        const [message] = (await service.echoed({
          messages: [{ role: 'user', content: `${doubled(before)} {v} ${doubled(after)}` }],
          template_vars: { v: value },
        })) as { content: string }[];
        expect(message!.content).toBe(`${before} ${value} ${after}`);
      }),
      { numRuns: caseCount(200) },
    );
  });

  const openai = new OpenAI({
    apiKey: 'token-of-tester',
    baseURL: `${service.running.url}/inference/v1`,
    maxRetries: 0,
  });
  const messages = [{ role: 'user' as const, content: 'Grüß Gott 😀' }];
  const echo =
    'This is heddle/echo, not a language model: it repeats the messages it received. Its usage counts four characters as a token.\n' +
    '[\n  {\n    "role": "user",\n    "content": "Grüß Gott 😀"\n  }\n]';

  it('returns a completion that the openai package understands', async () => {
    const answer = await openai.chat.completions.create({ model: 'heddle/echo', messages, n: 2 });
    expect(answer.choices.map(({ index, finish_reason, message }) => [index, finish_reason, message.content])).toEqual([
      [0, 'stop', echo],
      [1, 'stop', echo],
    ]);
    expect(answer.usage).toEqual({ prompt_tokens: 16, completion_tokens: 94, total_tokens: 110 });
  });

  const usage = { prompt_tokens: 16, completion_tokens: 47, total_tokens: 63 };

  /** Streams a reply and returns its text, and from each chunk the number of choices and the usage. */
  async function streamed(stream_options?: { include_usage: boolean }) {
    const options = stream_options && { stream_options };
    const stream = await openai.chat.completions.create({ model: 'heddle/echo', messages, stream: true, ...options });
    let text = '';
    const chunks: [number, unknown][] = [];
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      chunks.push([chunk.choices.length, chunk.usage]);
    }
    return { text, chunks };
  }

  it('adds a last chunk with the usage and without choices to a stream when include_usage asks for it', async () => {
    const { text, chunks } = await streamed({ include_usage: true });
    expect(text).toBe(echo);
    expect(chunks.slice(0, -1)).toEqual(chunks.slice(1).map(() => [1, null]));
    expect(chunks.at(-1)).toEqual([0, usage]);
  });

  it('streams choices in every chunk, and the usage in the last, when include_usage is not sent', async () => {
    const { text, chunks } = await streamed();
    expect(text).toBe(echo);
    expect(chunks.slice(0, -1)).toEqual(chunks.slice(1).map(() => [1, undefined]));
    expect(chunks.at(-1)).toEqual([1, usage]);
  });

  it('streams no usage when include_usage is false', async () => {
    const { text, chunks } = await streamed({ include_usage: false });
    expect(text).toBe(echo);
    expect(chunks).toEqual(chunks.map(() => [1, undefined]));
  });

  it('returns models and errors that the openai package understands', async () => {
    expect((await openai.models.list()).data.map(({ id }) => id)).toEqual(['heddle/echo']);
    const model = { id: 'heddle/echo', object: 'model', created: 0, owned_by: 'heddle' };
    expect(await openai.models.retrieve('heddle/echo')).toEqual(model);
    const bearer = 'Bearer token-of-tester';
    expect((await service.send('GET', '/inference/v1/models/heddle/echo', bearer)).body).toEqual(model);
    await expect(openai.models.retrieve('gpt-9')).rejects.toMatchObject({ status: 404, code: 'model_not_found' });
    await expect(openai.chat.completions.create({ model: 'gpt-9', messages })).rejects.toMatchObject({
      status: 404,
      code: 'model_not_found',
      param: 'model',
    });
    await expect(openai.withOptions({ apiKey: 'wrong' }).models.list()).rejects.toMatchObject({ status: 401 });
  });

  it('ends a stream with [DONE]', async () => {
    const { headers, body } = await service.infer({ model: 'heddle/echo', stream: true });
    expect(headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(body.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it('refuses paths other than chat completions when there is no model provider', async () => {
    expect(await service.infer({ model: 'heddle/echo' }, '/embeddings')).toMatchObject({
      status: 404,
      body: { error: { type: 'invalid_request_error', code: 'unknown_path' } },
    });
  });
});
