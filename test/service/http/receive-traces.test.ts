import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { account, basic, bearer, startTestService, withStore } from '../../support/embedded-service.ts';
import { otlpAttributes, otlpMessage, otlpSpan, protobufField, protobufTraces } from '../../support/otlp-messages.ts';
import { recordedGzip, recordedSpans } from '../../support/recorded-spans.ts';

const logged: unknown[] = [];
const service = await startTestService({
  log: (level, message, ...fields) => logged.push(Object.assign({ level, message }, ...fields)),
});
const single = await withStore(service.data, (store) => store.addUser('single', ['one/project']));
const singleKey = { 'wandb-api-key': single.password };

const json = { 'content-type': 'application/json' };
const protobuf = { 'content-type': 'application/x-protobuf' };

/** Sends a body with these headers, by default as an account that may see every project. */
async function send(body: object | string | Buffer, headers: Record<string, string>, path = '/otel/v1/traces') {
  const isRaw = typeof body === 'string' || Buffer.isBuffer(body);
  const authorization: Record<string, string> =
    'wandb-api-key' in headers || 'authorization' in headers ? {} : { authorization: basic };
  const response = await fetch(service.running.url + path, {
    method: 'POST',
    headers: { ...json, ...authorization, ...headers },
    body: isRaw ? new Uint8Array(Buffer.from(body)) : JSON.stringify(body),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  const type = response.headers.get('content-type');
  return { status: response.status, type, body: type === 'application/json' ? JSON.parse(`${bytes}`) : bytes };
}

async function callsIn(project_id: string, filter: object = {}) {
  const { body } = await service.send('POST', '/calls/stream_query', basic, { project_id, filter });
  const lines = (body as string).split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line));
}

const success = { status: 200, type: 'application/json', body: { partial_success: null } };

describe('POST /otel/v1/traces', () => {
  it('records the recorded spans as the public service does, whatever their encoding', async () => {
    const project = { project_id: 'team/p9' };
    expect(await send(Buffer.from(recordedSpans, 'base64'), { ...protobuf, ...project })).toEqual(success);
    const packed = { ...protobuf, ...project, 'content-encoding': 'gzip' };
    expect(await send(Buffer.from(recordedGzip, 'base64'), packed)).toEqual(success);
    const [agent, model, tool] = await callsIn('team/p9', { trace_ids: ['01010101010101010101010101010101'] });
    expect(agent).toMatchObject({
      id: '0808080808080808',
      op_name: 'weave:///team/p9/op/agent_run:XNI9iHYwcffKfuDa2rGjQoIxUOw7cnWmLEiNufRD8RY',
      parent_id: null,
      thread_id: 'otel-1',
      turn_id: '0808080808080808',
      inputs: { 'input.value': 'hi' },
      output: { 'output.value': 'hello' },
      exception: null,
      summary: { weave: { status: 'success', trace_name: 'agent_run', latency_ms: 5 } },
      wb_user_id: 'tester',
    });
    expect(model).toMatchObject({
      id: '0909090909090909',
      parent_id: '0808080808080808',
      summary: {
        usage: { 'gpt-4o': { input_tokens: 12, output_tokens: 3, total_tokens: 15 } },
        weave: { status: 'success', trace_name: 'chat_gpt-4o' },
      },
    });
    expect(tool).toMatchObject({
      id: '0a0a0a0a0a0a0a0a',
      exception: 'not there',
      output: {},
      summary: { weave: { status: 'error', trace_name: 'tool_look_up' } },
    });
    const filter = { thread_ids: ['otel-1', 'otel-2'] };
    const count = await service.send('POST', '/calls/query_stats', basic, { ...project, filter });
    expect(count.body).toMatchObject({ count: 2 });
  });

  it('accepts ids in base64 and enumerations by name, as the public service does', async () => {
    const span = otlpSpan({
      traceId: 'AwMDAwMDAwMDAwMDAwMDAw==',
      spanId: 'GRkZGRkZGRk=',
      parentSpanId: 'GBgYGBgYGBg=',
      kind: 'SPAN_KIND_CLIENT',
      status: { message: 'not there', code: 'STATUS_CODE_ERROR' },
    });
    expect(await send(otlpMessage([span]), { project_id: 'p/base64' })).toEqual(success);
    expect(await callsIn('p/base64')).toMatchObject([
      {
        id: '1919191919191919',
        trace_id: '03030303030303030303030303030303',
        parent_id: '1818181818181818',
        exception: 'not there',
        attributes: { otel_span: { kind: 'CLIENT', status: { code: 'ERROR', message: 'not there' } } },
      },
    ]);
  });

  it('stores a span that is sent again once, and takes the end of one that was sent before its end', async () => {
    const open = otlpSpan({ endTimeUnixNano: 0 });
    for (const span of [open, open, otlpSpan(), otlpSpan()]) {
      expect(await send(otlpMessage([span, span]), { project_id: 'p/again' })).toEqual(success);
    }
    expect(await callsIn('p/again')).toMatchObject([
      { id: 'b7ad6b7169203331', summary: { weave: { status: 'success' } } },
    ]);
  });

  it('records a child before its parent, and one whose parent never comes', async () => {
    const child = otlpSpan({ spanId: '1111111111111111', parentSpanId: 'b7ad6b7169203331' });
    const orphan = otlpSpan({ spanId: '2222222222222222', parentSpanId: 'ffffffffffffffff' });
    await send(otlpMessage([child, orphan]), { project_id: 'p/late' });
    await send(otlpMessage([otlpSpan()]), { project_id: 'p/late' });
    expect((await callsIn('p/late')).map(({ id, parent_id }) => [id, parent_id])).toEqual([
      ['1111111111111111', 'b7ad6b7169203331'],
      ['2222222222222222', 'ffffffffffffffff'],
      ['b7ad6b7169203331', null],
    ]);
  });

  it('knows what the tokens of a span cost', async () => {
    const cost = { prompt_token_cost: 0.5, completion_token_cost: 2 };
    await service.send('POST', '/cost/create', basic, { project_id: 'p/costs', costs: { m: cost } });
    const attributes = otlpAttributes({
      'gen_ai.response.model': 'm',
      'gen_ai.usage.input_tokens': 10,
      'gen_ai.usage.output_tokens': 3,
    });
    await send(otlpMessage([otlpSpan({ attributes })]), { project_id: 'p/costs' });
    const query = { project_id: 'p/costs', include_costs: true };
    const { body } = await service.send('POST', '/calls/stream_query', basic, query);
    expect(JSON.parse(body).summary.weave.costs.m).toMatchObject({
      prompt_tokens_total_cost: 5,
      completion_tokens_total_cost: 6,
      total_tokens: 13,
    });
  });

  it.each<{ way: string; headers: Record<string, string> }>([
    { way: 'Basic', headers: { authorization: basic } },
    { way: 'Bearer', headers: { authorization: bearer } },
    { way: 'wandb-api-key', headers: { 'wandb-api-key': account.password } },
  ])('accepts a key as $way, at both paths', async ({ headers }) => {
    const project = { project_id: 'p/keys' };
    for (const path of ['/otel/v1/traces', '/agents/otel/v1/traces']) {
      expect(await send(otlpMessage([otlpSpan()]), { ...headers, ...project }, path)).toEqual(success);
    }
  });

  it.each<{ way: string; headers: Record<string, string> }>([
    { way: 'no key', headers: { authorization: '' } },
    { way: 'a wrong key', headers: { 'wandb-api-key': 'wrong' } },
  ])('refuses $way', async ({ headers }) => {
    expect((await send(otlpMessage([otlpSpan()]), { ...headers, project_id: 'p/q' })).status).toBe(401);
  });

  it('takes the project from the header, else from the resource, else the only one of the account', async () => {
    const resource = { 'wandb.entity': 'of', 'wandb.project': 'resource' };
    const id = (spanId: string) => otlpSpan({ spanId });
    await send(otlpMessage([id('0000000000000001')], resource), { project_id: 'of/header' });
    await send(otlpMessage([id('0000000000000002')], resource), {});
    await send(otlpMessage([id('0000000000000003')]), singleKey);
    const idsIn = async (project: string) => (await callsIn(project)).map((call) => call.id);
    expect(await idsIn('of/header')).toEqual(['0000000000000001']);
    expect(await idsIn('of/resource')).toEqual(['0000000000000002']);
    expect(await idsIn('one/project')).toEqual(['0000000000000003']);
  });

  it.each([
    {
      why: 'there is no project',
      headers: {},
      resource: {},
      status: 400,
      reason:
        'The spans name no project: set the header project_id to entity/project, or wandb.entity and wandb.project of the resource',
    },
    {
      why: 'the project is no project',
      headers: { project_id: 'support' },
      resource: {},
      status: 400,
      reason: 'The project of the spans must be written entity/project',
    },
    {
      why: 'the account may not see the project of the header',
      headers: { ...singleKey, project_id: 'p/q' },
      resource: {},
      status: 403,
      reason: 'Forbidden',
    },
    {
      why: 'the account may not see the project of the resource',
      headers: singleKey,
      resource: { 'wandb.entity': 'p', 'wandb.project': 'q' },
      status: 403,
      reason: 'Forbidden',
    },
  ])('refuses spans if $why', async ({ headers, resource, status, reason }) => {
    expect(await send(otlpMessage([otlpSpan()], resource), headers as Record<string, string>)).toMatchObject({
      status,
      body: { reason },
    });
  });

  it('records the other spans of a message, and tells and logs how many were rejected and why', async () => {
    const spans = [otlpSpan({ spanId: '' }), otlpSpan(), otlpSpan({ startTimeUnixNano: '-5' })];
    expect(await send(otlpMessage(spans), { project_id: 'p/partial' })).toEqual({
      ...success,
      body: { partialSuccess: { rejectedSpans: '2', errorMessage: 'A span must have a spanId and a traceId' } },
    });
    expect(await callsIn('p/partial')).toHaveLength(1);
    const reason = 'A span must have a spanId and a traceId';
    expect(logged).toContainEqual({
      level: 'warn',
      message: 'spans rejected',
      request_id: expect.any(String),
      spans: 2,
      reason,
    });
  });

  it('answers a partial success of protobuf with protobuf', async () => {
    const { status, type, body } = await send(protobufTraces(protobufField(1, '')), { ...protobuf, project_id: 'p/q' });
    const message = 'A span must have a spanId and a traceId';
    const partial = Buffer.concat([protobufField(1, 1), protobufField(2, message)]);
    expect([status, type, body]).toEqual([200, 'application/x-protobuf', protobufField(1, partial)]);
  });

  it.each<{ fault: string; body: string; headers: Record<string, string>; status: number }>([
    { fault: 'another format', body: '', headers: { 'content-type': 'text/plain' }, status: 415 },
    { fault: 'another compression', body: '', headers: { 'content-encoding': 'zstd' }, status: 415 },
    { fault: 'damaged gzip', body: 'x', headers: { 'content-encoding': 'gzip' }, status: 400 },
    { fault: 'damaged protobuf', body: 'x', headers: protobuf, status: 400 },
    { fault: 'damaged JSON', body: '{', headers: {}, status: 422 },
    { fault: 'JSON of another shape', body: '{"resourceSpans":5}', headers: {}, status: 400 },
    { fault: 'another list of JSON', body: '[]', headers: {}, status: 400 },
  ])('refuses $fault with $status', async ({ body, headers, status }) => {
    const answer = await send(body, { project_id: 'p/damaged', ...headers });
    expect([answer.status, answer.type]).toEqual([status, 'application/json']);
    expect(await callsIn('p/damaged')).toEqual([]);
  });

  it('refuses a message that unpacks to more than a body may have', async () => {
    const bomb = gzipSync(Buffer.alloc(33 * 1024 * 1024));
    expect(await send(bomb, { ...protobuf, project_id: 'p/q', 'content-encoding': 'gzip' })).toMatchObject({
      status: 413,
      body: { reason: 'Payload too large: a request body may have 33554432 bytes when it is unpacked' },
    });
  });

  it('accepts spans without any, and a damaged span records none of its message', async () => {
    expect(await send({}, { project_id: 'p/none' })).toEqual(success);
    const damaged = Buffer.concat([protobufTraces(), protobufTraces(Buffer.from([0x39, 1]))]);
    expect((await send(damaged, { ...protobuf, project_id: 'p/none' })).status).toBe(400);
    expect(await callsIn('p/none')).toEqual([]);
  });
});
