import { readFileSync } from 'node:fs';
import type OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { freePort } from '../../support/free-port.ts';
import { emptyHome, run, temporaryFolder } from '../../support/heddle.ts';
import { installedPath, requireFrom } from '../../support/outside-programs.ts';
import { startServiceProcess } from '../../support/service-process.ts';
import { events, json, startRecordingProvider } from './recording-provider.ts';

const isInstalled = installedPath('openai-sdk', 'openai') !== undefined;
const require = requireFrom('openai-sdk');

const providerKey = 'sk-key-of-the-provider';
const provider = await startRecordingProvider();
const home = emptyHome(temporaryFolder(), {
  HEDDLE_MODEL_PROVIDER_URL: provider.url,
  HEDDLE_MODEL_PROVIDER_KEY: providerKey,
});
const { stdout: lines } = await run(['service', 'add-user', 'ada', '--env'], home);
const apiKey = /^export WANDB_API_KEY=(\S+)$/m.exec(lines)![1]!;
const withProvider = await startServiceProcess(home);
const withoutProvider = await startServiceProcess({ ...home, HEDDLE_MODEL_PROVIDER_URL: '' });
const providerDown = await startServiceProcess({
  ...home,
  HEDDLE_MODEL_PROVIDER_URL: `http://127.0.0.1:${await freePort()}/v1`,
});

/** Returns one request that the model provider received, with the headers that every request has. */
const post = (path: string, body: string) => ({
  line: `POST /v1${path}`,
  authorization: `Bearer ${providerKey}`,
  contentType: 'application/json',
  body,
});

const completion = (message: object, finish_reason = 'stop') => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, logprobs: null, finish_reason }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
});
const chunk = (members: object) => ({ id: 'chatcmpl-1', object: 'chat.completion.chunk', model: 'm', ...members });
const firstChunk = chunk({ choices: [{ index: 0, delta: { content: 'Ser' } }] });
const question = [{ role: 'user' as const, content: 'Grüß Gott 😀' }];
const askedText = '{"model":"m","messages":[{"role":"user","content":"Grüß Gott 😀"}]';

describe.skipIf(!isInstalled).each([
  ['openai', '6.49.0'],
  ['openai-4', '4.104.0'],
])('npm %s %s', (name, version) => {
  const { OpenAI: Client } = isInstalled ? (require(name) as { OpenAI: typeof OpenAI }) : { OpenAI: undefined! };
  const clientOf = (url: string, key = apiKey) =>
    new Client({ baseURL: `${url}/inference/v1`, apiKey: key, maxRetries: 0 });
  const client = isInstalled ? clientOf(withProvider.url) : undefined!;
  const create = (members: object) =>
    client.chat.completions.create({ model: 'm', messages: question, ...members }) as Promise<OpenAI.ChatCompletion>;

  it('is the pinned version', () => {
    const file = installedPath('openai-sdk', `${name}/package.json`)!;
    expect(JSON.parse(readFileSync(file, 'utf8')).version).toBe(version);
  });

  it("gets a completion, for which the provider receives exactly the SDK's request", async () => {
    provider.replyWith(json(completion({ content: 'Servus' })));
    const answer = await create({});
    expect(answer).toEqual(completion({ content: 'Servus' }));
    expect(provider.received()).toEqual([post('/chat/completions', `${askedText}}`)]);
  });

  it('gets a stream with the usage that it asked for', async () => {
    const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
    provider.replyWith(
      events(
        chunk({ choices: [{ index: 0, delta: { role: 'assistant', content: 'Ser' } }], usage: null }),
        chunk({ choices: [{ index: 0, delta: { content: 'vus' }, finish_reason: 'stop' }], usage: null }),
        chunk({ choices: [], usage }),
      ),
    );
    const stream = await client.chat.completions.create({
      model: 'm',
      messages: question,
      stream: true,
      stream_options: { include_usage: true },
    });
    const seen: unknown[] = [];
    for await (const part of stream) seen.push([part.choices[0]?.delta.content, part.usage]);
    expect(seen).toEqual([
      ['Ser', null],
      ['vus', null],
      [undefined, usage],
    ]);
    expect(provider.received()).toEqual([
      post('/chat/completions', `${askedText},"stream":true,"stream_options":{"include_usage":true}}`),
    ]);
  });

  it('exchanges a tool call and its result with the provider', async () => {
    const tools = [
      {
        type: 'function' as const,
        function: { name: 'weather', strict: true, parameters: { type: 'object', required: ['city'] } },
      },
    ];
    const tool_calls = [
      {
        id: 'call_1',
        type: 'function' as const,
        function: { name: 'weather', arguments: '{"city":"Linz {at} night"}' },
      },
    ];
    provider.replyWith(
      json(completion({ content: null, tool_calls }, 'tool_calls')),
      json(completion({ content: '3 °C' })),
    );
    const options = { tools, tool_choice: 'auto', parallel_tool_calls: false };
    const [choice] = (await create(options)).choices;
    expect([choice!.finish_reason, choice!.message]).toEqual([
      'tool_calls',
      { role: 'assistant', content: null, tool_calls },
    ]);
    const result = { role: 'tool', tool_call_id: 'call_1', content: '{"celsius":3}' };
    const answer = await create({ messages: [...question, choice!.message, result], ...options });
    expect(answer.choices[0]!.message.content).toBe('3 °C');
    const toolText =
      '"tools":[{"type":"function","function":{"name":"weather","strict":true,"parameters":{"type":"object","required":["city"]}}}],"tool_choice":"auto","parallel_tool_calls":false';
    const turns =
      '{"role":"user","content":"Grüß Gott 😀"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"weather","arguments":"{\\"city\\":\\"Linz {at} night\\"}"}}]},{"role":"tool","tool_call_id":"call_1","content":"{\\"celsius\\":3}"}';
    expect(provider.received()).toEqual([
      post('/chat/completions', `${askedText},${toolText}}`),
      post('/chat/completions', `{"model":"m","messages":[${turns}],${toolText}}`),
    ]);
  });

  it('gets a reply that fits a JSON schema', async () => {
    const schema = { type: 'object', properties: { mood: { enum: ['good', 'bad'] } }, additionalProperties: false };
    provider.replyWith(json(completion({ content: '{"mood":"good"}' })));
    const answer = await create({
      response_format: { type: 'json_schema', json_schema: { name: 'mood', strict: true, schema } },
    });
    expect(JSON.parse(answer.choices[0]!.message.content!)).toEqual({ mood: 'good' });
    expect(provider.received()).toEqual([
      post(
        '/chat/completions',
        `${askedText},"response_format":{"type":"json_schema","json_schema":{"name":"mood","strict":true,"schema":{"type":"object","properties":{"mood":{"enum":["good","bad"]}},"additionalProperties":false}}}}`,
      ),
    ]);
  });

  it.each([
    ['reasoning_effort', 'low', '"low"'],
    ['reasoning_effort', null, 'null'],
    ['store', true, 'true'],
    ['metadata', { team: 'a', empty: '' }, '{"team":"a","empty":""}'],
    ['stream_options', null, 'null'],
    ['service_tier', 'flex', '"flex"'],
    ['prediction', { type: 'content', content: 'x' }, '{"type":"content","content":"x"}'],
    ['safety_identifier', 'u-1', '"u-1"'],
    ['function_call', { name: 'weather' }, '{"name":"weather"}'],
    ['tool_choice', null, 'null'],
    ['logit_bias', null, 'null'],
    ['response_format', null, 'null'],
    ['temperature', null, 'null'],
    ['stop', null, 'null'],
    ['n', null, 'null'],
    ['tools', null, 'null'],
    ['top_k', 20, '20'],
    [
      'chat_template_kwargs',
      { enable_thinking: false, deep: [{ a: null }] },
      '{"enable_thinking":false,"deep":[{"a":null}]}',
    ],
    ['nobody_listed_this', [1, 'zwei', null, { '': 1.5e-7 }], '[1,"zwei",null,{"":1.5e-7}]'],
  ])('sends %s = %j through to the provider', async (member, value, text) => {
    provider.replyWith(json(completion({ content: 'ok' })));
    expect((await create({ [member]: value })).choices[0]!.message.content).toBe('ok');
    expect(provider.received()).toEqual([post('/chat/completions', `${askedText},"${member}":${text}}`)]);
  });

  it('gets embeddings from the provider', async () => {
    provider.replyWith(
      json({
        object: 'list',
        model: 'e',
        data: [{ object: 'embedding', index: 0, embedding: [0.5, -1] }],
        usage: { prompt_tokens: 1, total_tokens: 1 },
      }),
    );
    const request = { model: 'e', input: ['a'], dimensions: 2, encoding_format: 'float' as const };
    expect((await client.embeddings.create(request)).data[0]!.embedding).toEqual([0.5, -1]);
    expect(provider.received()).toEqual([
      post('/embeddings', '{"model":"e","input":["a"],"dimensions":2,"encoding_format":"float"}'),
    ]);
  });

  it('reads the list of models and one model', async () => {
    const model = { id: 'team/m:7b', object: 'model', created: 1, owned_by: 'team' };
    provider.replyWith(json({ object: 'list', data: [model] }), json(model));
    expect((await client.models.list()).data).toEqual([model]);
    expect(await client.models.retrieve('team/m:7b')).toEqual(model);
    expect(provider.received().map(({ line }) => line)).toEqual(['GET /v1/models', 'GET /v1/models/team%2Fm:7b']);
  });

  it.each([
    [400, { message: 'Bad temperature', type: 'invalid_request_error', param: 'temperature', code: 'range' }],
    [401, { message: 'No quota for this key', type: 'authentication_error', param: null, code: 'no_key' }],
    [429, { message: 'Slow down', type: 'requests', param: null, code: 'rate_limit_exceeded' }],
    [500, { message: 'The model crashed', type: 'server_error', param: null, code: null }],
  ])('receives status %d of the provider unchanged', async (status, error) => {
    provider.replyWith(json({ error }, status, { 'retry-after': '7', 'x-request-id': 'req-1' }));
    const seen = await create({}).catch((thrown) => thrown);
    expect([seen.status, seen.message, seen.type, seen.param, seen.code]).toEqual([
      status,
      `${status} ${error.message}`,
      error.type,
      error.param,
      error.code,
    ]);
    expect(new Headers(seen.headers).get('retry-after')).toBe('7');
    provider.received();
  });

  it('retries after 429 with the delay in retry-after-ms', async () => {
    provider.replyWith(
      json({ error: { message: 'Slow down' } }, 429, { 'retry-after-ms': '1', 'retry-after': '59' }),
      json(completion({ content: 'ok' })),
    );
    const patient = new Client({ baseURL: `${withProvider.url}/inference/v1`, apiKey, maxRetries: 1 });
    const answer = await patient.chat.completions.create({ model: 'm', messages: question });
    expect(answer.choices[0]!.message.content).toBe('ok');
    expect(provider.received()).toHaveLength(2);
  });

  it('gets an error from heddle for an unknown key, and the provider gets no request', async () => {
    const stranger = clientOf(withProvider.url, 'unknown');
    const seen = await stranger.models.list().then(
      () => undefined,
      (thrown) => thrown,
    );
    expect([seen.constructor.name, seen.status, seen.message, seen.code]).toEqual([
      'AuthenticationError',
      401,
      '401 The key is missing or unknown to this service.',
      'invalid_api_key',
    ]);
    expect(provider.received()).toEqual([]);
  });

  it('gets an error with the variable or member for which heddle refuses a request', async () => {
    const seen = await create({ template_vars: { a: 1 }, messages: [{ role: 'user', content: '{b}' }] }).catch(
      (e) => e,
    );
    expect([seen.constructor.name, seen.message]).toEqual([
      'BadRequestError',
      '400 Missing template variable b; known variables: a',
    ]);
    const wrong = await create({ n: 'two' }).catch((thrown) => thrown);
    expect([wrong.constructor.name, wrong.message]).toEqual([
      'UnprocessableEntityError',
      '422 body.n: Invalid input: expected number, received string',
    ]);
    expect(provider.received()).toEqual([]);
  });

  it('gets an error when the provider is down', async () => {
    const down = clientOf(providerDown.url);
    const seen = await down.chat.completions.create({ model: 'm', messages: question }).then(
      () => undefined,
      (thrown) => thrown,
    );
    expect([seen.constructor.name, seen.status, seen.message, seen.type]).toEqual([
      'InternalServerError',
      502,
      '502 The model provider cannot be reached.',
      'model_provider_unreachable',
    ]);
  });

  it('gets an error when the provider breaks off a stream', async () => {
    let breakOff = () => {};
    provider.replyWith((response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write(`data: ${JSON.stringify(firstChunk)}\n\n`);
      breakOff = () => response.destroy();
    });
    const stream = await client.chat.completions.create({ model: 'm', messages: question, stream: true });
    const parts = stream[Symbol.asyncIterator]();
    expect((await parts.next()).value.choices[0].delta.content).toBe('Ser');
    breakOff();
    await expect(parts.next()).rejects.toThrow();
    provider.received();
  });

  it.each(['before the reply', 'during the stream'])(
    'ends the request at the provider when it aborts %s',
    async (when) => {
      let arrived = () => {};
      const hasArrived = new Promise<void>((resolve) => {
        arrived = resolve;
      });
      const closed = new Promise<void>((resolve) => {
        provider.replyWith((response) => {
          response.on('close', resolve);
          if (when === 'during the stream') {
            response.writeHead(200, { 'Content-Type': 'text/event-stream' });
            response.write(
              `data: ${JSON.stringify(chunk({ choices: [{ index: 0, delta: { content: 'Ser' } }] }))}\n\n`,
            );
          }
          arrived();
        });
      });
      const cancel = new AbortController();
      const asked = client.chat.completions.create(
        { model: 'm', messages: question, stream: true },
        { signal: cancel.signal },
      );
      asked.catch(() => {});
      await hasArrived;
      if (when === 'during the stream') {
        for await (const part of await asked) {
          expect(part.choices[0]!.delta.content).toBe('Ser');
          break;
        }
      } else {
        cancel.abort();
        await expect(asked).rejects.toThrow('Request was aborted.');
      }
      await closed;
      provider.received();
    },
  );

  it('gets usage in a stream of the built-in model when it asks for it, and reads that model', async () => {
    const echo = clientOf(withoutProvider.url);
    const stream = await echo.chat.completions.create({
      model: 'heddle/echo',
      messages: question,
      stream: true,
      stream_options: { include_usage: true },
      reasoning_effort: 'low',
      store: false,
      metadata: { a: 'b' },
    });
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    for await (const part of stream) chunks.push(part);
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 16, completion_tokens: 47, total_tokens: 63 },
    });
    expect(await echo.models.retrieve('heddle/echo')).toEqual({
      id: 'heddle/echo',
      object: 'model',
      created: 0,
      owned_by: 'heddle',
    });
    const seen = await echo.models.retrieve('gpt-9').then(
      () => undefined,
      (thrown) => thrown,
    );
    expect([seen.constructor.name, seen.code]).toEqual(['NotFoundError', 'model_not_found']);
  });
});
