import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import type { Endpoint } from '../../src/contract/endpoint.ts';
import { type EndpointName, endpoints } from '../../src/contract/endpoints.ts';
import { settingDefinitions } from '../../src/settings/settings.ts';
import { allTools } from '../../src/tools/index.ts';
import { exampleFor } from '../support/call-every-tool.ts';
import { caseCount, someCases } from '../support/cases.ts';
import { basic, bearer, startTestService } from '../support/embedded-service.ts';
import { parseErrorText } from '../support/error-text.ts';
import { sendResponse, startFakeService } from '../support/fake-service.ts';
import { emptyHome, run, temporaryFolder } from '../support/heddle.ts';
import { ask, startHttp } from '../support/http-server.ts';
import { LineClient } from '../support/line-client.ts';
import { sampleOf } from '../support/sample-of.ts';
import { tally } from '../support/tally.ts';
import { startToolServer } from '../support/tool-server.ts';

/** Numbers at the ends of what JSON, JavaScript, databases and timers hold, and texts that some readers take for numbers. */
const numbers = [
  '0',
  '-0',
  '1',
  '-1',
  '0.5',
  '16.1',
  '1e-7',
  '5e-324',
  '1e308',
  '-1e308',
  '2147483647',
  '2147483648',
  '-2147483649',
  '4294967296',
  '9007199254740991',
  '9007199254740992',
  '1e21',
  '"NaN"',
  '"Infinity"',
  '"1e3"',
  '" 7"',
  '""',
];
/** Numbers that JavaScript would change. */
const inexact = ['9007199254740993', '-9007199254740993', '123456789012345678901', '1e999', '-1e999'];

/** Makes the places of numbers take turns with the numbers. */
let turn = 0;

type JsonSchema = Record<string, unknown>;
type Place = (string | number)[];

/** Returns the places of a schema that take a number: numeric members, and one of each part that takes anything. */
function numericPlaces(schema: JsonSchema, place: Place = []): Place[] {
  const types = [schema.type].flat();
  const { properties = {}, items, additionalProperties, anyOf = [], description: _, ...rest } = schema;
  const isFree = Object.keys(schema).every((key) => key === 'description');
  return [
    ...(isFree || types.includes('number') || types.includes('integer') ? [place] : []),
    ...(rest.const === undefined ? Object.entries(properties as Record<string, JsonSchema>) : []).flatMap(
      ([name, member]) => numericPlaces(member, [...place, name]),
    ),
    ...(typeof items === 'object' ? numericPlaces(items as JsonSchema, [...place, 0]) : []),
    ...(typeof additionalProperties === 'object'
      ? numericPlaces(additionalProperties as JsonSchema, [...place, 'n'])
      : []),
    ...(anyOf as JsonSchema[]).flatMap((choice) => numericPlaces(choice, place)),
  ];
}

/** Returns a JSON text with a number, as it is written, at a place of a value. */
function withNumber(value: unknown, place: Place, written: string): string {
  const set = (at: unknown, [step, ...rest]: Place): unknown => {
    if (step === undefined) return '@number@';
    if (typeof step === 'number') return [set(Array.isArray(at) ? at[0] : undefined, rest)];
    return { ...(at as object), [step]: set((at as Record<string, unknown>)?.[step], rest) };
  };
  return JSON.stringify(set(value, place)).replace('"@number@"', () => written);
}

const feedback = {
  project_id: 'demo/support',
  weave_ref: 'weave:///demo/support/call/support-0001',
  feedback_type: 'test',
  payload: {},
};
const call = { project_id: 'demo/support', id: 'numbered' };
const start = { ...call, op_name: 'op', started_at: '2026-01-01T00:00:00Z', attributes: {}, inputs: {} };
const end = { ...call, ended_at: '2026-01-01T00:00:01Z', summary: {} };
const reference = 'weave:///demo/support/object/tickets:latest';
/** Members that the samples of requests have. */
const known = new Map<string, unknown>([
  ['project_id', 'demo/support'],
  ['evaluation_ref', reference],
  ['model_ref', reference],
  ['model', reference],
  ['scorer', reference],
  ['dataset', reference],
]);
/** The requests to endpoints whose body takes a number and is not accepted as a sample of its schema. */
const requests = new Map<string, object>([
  ['callsStats', { project_id: 'demo/support', start: '2026-01-01T00:00:00Z', end: '2026-01-01T01:00:00Z' }],
  ['runInference', { model: 'm', messages: [{ role: 'user', content: 'Hi' }] }],
  ['queryEvaluationResults', { evaluation_run_ids: ['none'] }],
  [
    'tryScorer',
    {
      project_id: 'demo/support',
      scorer: { _class_name: 'HeddleScorer', kind: 'json_valid' },
      rows: [{ output: '1' }],
    },
  ],
  ['recordCalls', { batch: [{ mode: 'end', req: { end } }] }],
  ['startCall', { start }],
  ['endCall', { end }],
  ['startCallInProject', { start }],
  ['endCallInProject', { end }],
  ['completeCalls', { batch: [{ ...start, ...end, trace_id: 't' }] }],
  ['replaceFeedback', { ...feedback, feedback_id: 'x' }],
  ['createFeedback', feedback],
  ['createFeedbackBatch', { batch: [feedback] }],
  ['createCosts', { project_id: 'demo/support', costs: { n: { prompt_token_cost: 1, completion_token_cost: 1 } } }],
  ['purgeCosts', { project_id: 'demo/support', query: { $expr: { $eq: [{ $getField: 'id' }, 'x'] } } }],
  ['purgeFeedback', { project_id: 'demo/support', query: { $expr: { $eq: [{ $getField: 'id' }, 'x'] } } }],
]);

const endpointPlaces = Object.entries(endpoints as Record<string, Endpoint>).flatMap(([name, { request }]) =>
  request
    ? numericPlaces(z.toJSONSchema(request, { io: 'input', unrepresentable: 'any' })).map((place) => ({ name, place }))
    : [],
);
const toolPlaces = allTools.flatMap(({ name, input }) =>
  numericPlaces(z.toJSONSchema(input, { io: 'input' })).map((place) => ({ name, place })),
);

describe('numbers in requests to the embedded service', async () => {
  let forwarded = '';
  const provider = createServer(async (request, response) => {
    forwarded = await readText(request);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"choices":[]}');
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/v1`;
  const failures: unknown[] = [];
  const service = await startTestService({
    modelProvider: { url },
    log: (level, message, ...fields) => {
      if (level === 'error') failures.push(message, fields);
    },
  });
  afterAll(() => {
    provider.close();
    expect(failures).toEqual([]);
  });

  const send = (name: string, json: string) => {
    const { method, path, auth } = endpoints[name as keyof typeof endpoints];
    const filled = path
      .replace('{path*}', '/chat/completions')
      .replace('{entity}/{project}', 'demo/support')
      .replaceAll(/\{\w+\}/g, 'support-triage');
    return service.send(method, filled, auth === 'bearer' ? bearer : basic, json);
  };

  it.each(endpointPlaces.map(({ name, place }) => [name, place.join('.'), place] as const))(
    '%s answers every number at %s',
    async (name, _, place) => {
      const { request } = endpoints[name as EndpointName] as Endpoint;
      const body = requests.get(name) ?? sampleOf(request!, known);
      request!.parse(body);
      turn += 1;
      const written = [...someCases(numbers, turn), ...someCases(inexact, turn)];
      for (const number of written) {
        const { status } = await send(name, withNumber(body, place, number));
        // A shorter wait than the model provider takes is answered with 504.
        expect(place[0] === 'timeout' ? [200, 422, 504] : [200, 400, 404, 422], number).toContain(status);
      }
      tally('property runs', written.length);
    },
  );

  it.each(['limit', 'offset'])('lists objects for a valid %s, and refuses every other number', async (name) => {
    for (const written of [...numbers, ...inexact]) {
      const query = new URLSearchParams({ [name]: written.replaceAll('"', '') });
      const { status } = await service.send('GET', `/v2/demo/support/datasets?${query}`, basic);
      expect(status, written).toBe(
        /^(0|-0|1|2147483647|2147483648|4294967296|9007199254740991)$/.test(written) ? 200 : 422,
      );
    }
  });

  const anyNumber = fc.oneof(
    fc.constantFrom(...numbers, ...inexact),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
    fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n }).map(String),
  );

  /** Sends a request and returns the text of its response. */
  const sentText = async (name: 'createFeedback' | 'readObject', body: string): Promise<string> => {
    const headers = { authorization: basic, 'content-type': 'application/json' };
    const response = await fetch(service.running.url + endpoints[name].path, { method: 'POST', headers, body });
    expect(response.status).toBe(200);
    return response.text();
  };

  it('stores and forwards every number as it was written', async () => {
    const runs = caseCount(150);
    await fc.assert(
      fc.asyncProperty(anyNumber, async (written) => {
        // Content with 1e2 instead of 100.0 is the same version of an object, as at the public service.
        turn += 1;
        const value = `{"n":[${written}],"turn":${turn}}`;
        const definition = `{"name":"numbers","dataset":"d","eval_attributes":${value}}`;
        const { status, body } = await send('createEvaluation', definition);
        expect(status).toBe(200);
        expect(await sentText('createFeedback', withNumber(feedback, ['payload'], value))).toContain(
          `"payload":${value}`,
        );
        await send('runInference', `{"model":"m","messages":[],"logit_bias":${value}}`);
        const { digest } = body;
        const read = JSON.stringify({ project_id: 'demo/support', object_id: 'numbers', digest });
        expect(await sentText('readObject', read)).toContain(`"eval_attributes":${value}`);
        expect(forwarded).toContain(`"logit_bias":${value}`);
      }),
      { numRuns: runs },
    );
    tally('property runs', runs);
  });

  it.each(['16.1', '0.0001', '1e-320', '1e308', '2147483.648', '4294967296'])(
    'waits for the model provider with a timeout of %s seconds',
    async (written) => {
      const { status } = await send('runInference', `{"model":"m","messages":[],"timeout":${written}}`);
      // The shortest waits may be over before the model provider has answered.
      expect(Number(written) < 1 ? [200, 504] : [200]).toContain(status);
    },
  );
});

describe('numbers in arguments of tools', () => {
  const server = new LineClient(temporaryFolder());
  beforeAll(() => server.initialize());
  afterAll(async () => {
    expect(server.noise).toEqual([]);
    expect(server.stderr).not.toContain('"level":"error"');
    expect(await server.end()).toBe(0);
  });
  let lastId = 0;
  const call = async (name: string, place: Place, written: string) => {
    lastId += 1;
    const args = withNumber(exampleFor(name), place, written);
    server.write(
      `{"jsonrpc":"2.0","id":${lastId},"method":"tools/call","params":{"name":"${name}","arguments":${args}}}\n`,
    );
    return server.answerTo(lastId);
  };

  it.each(toolPlaces.map(({ name, place }) => [name, place.join('.'), place] as const))(
    '%s answers every number at %s, and refuses those that cannot be kept exactly',
    async (name, at, place) => {
      turn += 1;
      const [accepted, refused] = [someCases(numbers, turn), someCases(inexact, turn)];
      for (const { result } of await Promise.all(accepted.map((written) => call(name, place, written)))) {
        const [{ text }] = result!.content as [{ text: string }];
        if (result!.isError) expect(parseErrorText(text).code).not.toBe('internal');
      }
      for (const { error } of await Promise.all(refused.map((written) => call(name, place, written)))) {
        expect(error?.code).toBe(-32_602);
        expect(error?.message).toMatch(
          new RegExp(
            `^Message refused: params\\.arguments\\.${at}: [-\\de]+ cannot be kept exactly as a number: write it as a string$`,
          ),
        );
      }
      tally('property runs', accepted.length + refused.length);
    },
  );
});

describe('numbers that cannot be kept exactly', () => {
  const fault = 'cannot be kept exactly as a number: write it as a string';
  const callOf = (written: string) =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_call","arguments":{"call_id":"c","max_value_chars":${written}}}}`;

  it('are refused with 400 over HTTP', async () => {
    const { url } = await startHttp();
    for (const written of inexact) {
      const { status, body } = await ask(url, { body: callOf(written) });
      expect([status, JSON.parse(body)]).toEqual([
        400,
        {
          jsonrpc: '2.0',
          id: null,
          error: {
            code: -32_602,
            message: `Invalid parameters: params.arguments.max_value_chars: ${written} ${fault}`,
          },
        },
      ]);
    }
  });

  it('are refused in each message of a batch, and as an id', async () => {
    const server = new LineClient(temporaryFolder());
    server.write('{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}\n');
    server.write('{"jsonrpc":"2.0","id":1e999,"method":"ping"}\n');
    server.write(
      '[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","id":"b","method":"ping","params":{"n":1e999}}]\n',
    );
    for (const id of ['a', 'b']) expect((await server.answerTo(id)).error?.code).toBe(-32_602);
    expect((await server.ask({ id: 'c', method: 'ping' })).result).toEqual({});
    expect(server.stderr).toContain(
      '"message":"message refused","reason":"numbers that JavaScript cannot represent exactly"',
    );
    expect(server.stderr).not.toContain('9007199254740993');
    expect(await server.end()).toBe(0);
  });

  it('are refused by heddle call, and in the files that heddle service stores', async () => {
    const environment = emptyHome(temporaryFolder());
    const refused = async (args: string[], stdin: string, message: string) => {
      const { code, stdout, stderr } = await run(args, environment, stdin);
      expect([code, stdout]).toEqual([expect.toSatisfy((value) => value > 0), '']);
      expect(stderr).toContain(message);
    };
    await refused(['call', 'read_call', '-'], '{"call_id":["a",1e999]}', `call_id.1: 1e999 ${fault}`);
    const put = ['service', 'put-dataset', 'd', '-', '--project', 'a/b'];
    await refused(put, '[{"id":9007199254740993}]', `line 1: id: 9007199254740993 ${fault}`);
    await refused(put, '{"a":1}\n{"a":-1e999}\n', `line 2: a: -1e999 ${fault}`);
  });

  it('are kept in the lines that heddle import stores', async () => {
    const environment = emptyHome(temporaryFolder(), { HEDDLE_PROJECT: 'a/b' });
    const inputs = '{"id":9007199254740993,"score":1.0}';
    const line = `{"call_id":"c","call_op_name":"o","call_trace_id":"t","call_started_at":"2025-04-07T14:39:02Z","call":{"inputs":${inputs}}}`;
    const imported = await run(['import', '-', '--project', 'a/b', '--queue', 'q'], environment, line);
    expect([imported.code, imported.stderr]).toEqual([0, expect.any(String)]);
    const { stdout } = await run(['call', 'read_call', '{"call_id":"c"}'], environment);
    expect(JSON.parse(stdout)).toMatchObject({ call: { inputs: { id: '9007199254740993', score: 1 } } });
  });

  it('are refused in the configuration file', async () => {
    const home = temporaryFolder();
    mkdirSync(join(home, 'heddle'));
    const profile = '{"username":9007199254740993,"timeout_ms":5000}';
    writeFileSync(join(home, 'heddle', 'config.json'), `{"profiles":{"default":${profile}}}`);
    const { code, stderr } = await run(['status'], emptyHome(home));
    expect(code).toBe(2);
    expect(stderr).toContain(
      'cannot be used: profiles.default.username cannot be kept exactly as a number: write it as a string',
    );
  });

  it('are shown with their digits when a service sends them', async () => {
    const service = await startFakeService();
    const server = await startToolServer(service.url, { HEDDLE_PROJECT: 'a/b' });
    onTestFinished(() => server.client.close());
    const structured = async (body: string, name: string, args: object, headers = {}) => {
      service.respond = (request) => sendResponse(request, 200, body, headers);
      return (await server.client.callTool({ name, arguments: { ...args } })).structuredContent;
    };
    const value = '[9007199254740993,-123456789012345678901,1e999,9007199254740992,0.1]';
    const shown = ['9007199254740993', '-123456789012345678901', '1e999', 9007199254740992, 0.1];
    const call = `{"call":{"id":"c","inputs":{"n":${value}},"output":9007199254740993}}`;
    expect(await structured(call, 'read_call', { call_id: 'c' })).toMatchObject({
      call: { inputs: { n: shown }, output: '9007199254740993' },
    });
    const line = `{"id":"c","started_at":"2025-04-07T14:39:02Z","inputs":{"n":${value}}}\n`;
    expect(await structured(line, 'query_calls', { fields: ['inputs.n'] })).toMatchObject({
      calls: [{ 'inputs.n': shown }],
    });
    const reply = `{"choices":[],"usage":{},"system":${value}}`;
    const inference = { model: 'm', messages: [] };
    expect(await structured(reply, 'run_inference', inference)).toMatchObject({ response: { system: shown } });
    const events = `data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"system":${value}}\n\ndata: [DONE]\n\n`;
    expect(
      await structured(
        events,
        'run_inference',
        { ...inference, stream: true },
        { 'content-type': 'text/event-stream' },
      ),
    ).toMatchObject({ response: { system: shown } });
  });
});

describe('numbers in settings', () => {
  const numeric = Object.entries(settingDefinitions).filter(
    ([, definition]) => 'default' in definition && typeof definition.default === 'number',
  );

  it.each(numeric)('%s accepts only whole numbers below 2^31', (_, definition) => {
    const { parse } = definition as { parse: (text: string) => number };
    const runs = caseCount(500);
    const text = fc.oneof(
      fc.constantFrom(...numbers, ...inexact).map((written) => written.replaceAll('"', '')),
      fc.string(),
      fc.double().map(String),
      fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }).map(String),
    );
    fc.assert(
      fc.property(text, (written) => {
        let value: number;
        try {
          value = parse(written);
        } catch (error) {
          expect((error as Error).message).toMatch(/^must be a whole number from \d+ to \d+$/);
          return;
        }
        expect(written).toMatch(/^\d+$/);
        expect(BigInt(value)).toBe(BigInt(written));
        expect(value).toBeLessThan(2 ** 31);
      }),
      { numRuns: runs },
    );
    tally('property runs', runs);
  });
});

describe('numbers in the Retry-After header', () => {
  it('become the wait in milliseconds, or no wait', async () => {
    const service = await startFakeService();
    const server = await startToolServer(service.url, { HEDDLE_TIMEOUT_MS: '2000' });
    onTestFinished(() => server.client.close());
    const shown: [string, number | undefined][] = [
      ['0', 0],
      ['0.5', 500],
      ['16.1', 16_100],
      ['2147484', 2_147_484_000],
      ['9'.repeat(15), undefined],
      ['9'.repeat(400), undefined],
      ['-1', undefined],
      ['1e3', undefined],
      ['NaN', undefined],
      ['', undefined],
    ];
    service.respond = (request) => {
      const [, index] = /"a\/b(\d+)"/.exec(request.body)!;
      sendResponse(request, 429, { reason: 'slow down' }, { 'retry-after': shown[Number(index)]![0] });
    };
    const outcomes = shown.map((_, index) => server.call('create_queue', { project_id: `a/b${index}`, name: 'Q' }));
    for (const [index, outcome] of (await Promise.all(outcomes)).entries()) {
      expect(outcome).toMatchObject({ code: 'rate_limited', retryable: true });
      expect([shown[index]![0], outcome.retry_after_ms]).toEqual(shown[index]);
    }
    expect(server.log()).not.toContain('Warning');
  });
});
