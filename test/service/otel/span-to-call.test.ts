import { describe, expect, it } from 'vitest';
import { decodeTraces } from '../../../src/service/otel/decode-protobuf.ts';
import { readSpanResource, spanToCall } from '../../../src/service/otel/span-to-call.ts';
import { otlpAttributes, otlpSpan } from '../../support/otlp-messages.ts';
import { recordedSpans } from '../../support/recorded-spans.ts';

const none = readSpanResource(undefined, JSON.parse);
const callOf = (members: object) => spanToCall(otlpSpan(members), none, 'p/q', JSON.parse);
const callWith = (attributes: Record<string, unknown>) => callOf({ attributes: otlpAttributes(attributes) });
const eventsOf = (...events: [name: string, attributes: Record<string, unknown>][]) =>
  events.map(([name, attributes]) => ({ name, timeUnixNano: '5', attributes: otlpAttributes(attributes) }));
const noTokens = {
  prompt_tokens: null,
  input_tokens: null,
  completion_tokens: null,
  output_tokens: null,
  requests: null,
  total_tokens: null,
};

describe('spanToCall', () => {
  it('keeps ids, the parent, and times to the microsecond', () => {
    expect(callOf({ parentSpanId: '00F067AA0BA902B7' })).toMatchObject({
      project_id: 'p/q',
      id: 'b7ad6b7169203331',
      trace_id: '0af7651916cd43dd8448eb211c80319c',
      parent_id: '00f067aa0ba902b7',
      started_at: '2026-02-08T00:00:01.000001Z',
      ended_at: '2026-02-08T00:00:01.002000Z',
      exception: null,
    });
  });

  it('reads the recorded spans as the public service does', () => {
    const [group] = decodeTraces(Buffer.from(recordedSpans, 'base64'), () => {});
    const resource = readSpanResource(group!.resource, JSON.parse);
    const [agent, model, tool] = [...group!.spans].map((span) => spanToCall(span, resource, 'team/p9', JSON.parse));
    const shown = {
      attributes: { service: { name: 'svc' }, wandb: { entity: 'team', project: 'p9' } },
      dropped_attributes_count: 0,
    };
    expect(agent).toEqual({
      project_id: 'team/p9',
      id: '0808080808080808',
      op_name: 'weave:///team/p9/op/agent_run:XNI9iHYwcffKfuDa2rGjQoIxUOw7cnWmLEiNufRD8RY',
      display_name: null,
      trace_id: '01010101010101010101010101010101',
      parent_id: null,
      thread_id: 'otel-1',
      turn_id: '0808080808080808',
      started_at: '2026-02-08T00:00:01.000000Z',
      ended_at: '2026-02-08T00:00:01.005000Z',
      attributes: {
        kind: 'AGENT',
        otel_span: {
          name: 'agent run',
          context: { trace_id: '01010101010101010101010101010101', span_id: '0808080808080808', trace_state: '' },
          kind: 'CLIENT',
          parent_id: null,
          start_time: '2026-02-08T00:00:01',
          end_time: '2026-02-08T00:00:01.005000',
          status: { code: 'OK', message: '' },
          attributes: {
            input: { value: 'hi' },
            output: { value: 'hello' },
            openinference: { span: { kind: 'AGENT' } },
            wandb: { thread_id: 'otel-1', is_turn: true },
            big: '1234567890123456789',
            list: ['a', 'b'],
          },
          events: [],
          links: [],
          resource: shown,
        },
      },
      inputs: { 'input.value': 'hi' },
      exception: null,
      output: { 'output.value': 'hello' },
      summary: { usage: { usage: noTokens } },
    });
    expect(model).toMatchObject({
      attributes: {
        system: 'openai',
        model_parameters: { model: 'gpt-4o' },
        otel_span: {
          start_time: '2026-02-08T00:00:01.000001',
          events: [{ name: 'ev', timestamp: 1_770_508_801_000_000_000, attributes: {}, dropped_attributes_count: 0 }],
        },
      },
      inputs: { 'gen_ai.prompt': [{ role: 'user', content: 'hi' }] },
      output: { 'gen_ai.completion': [{ role: 'assistant', content: 'hello' }] },
      summary: { usage: { 'gpt-4o': { ...noTokens, input_tokens: 12, output_tokens: 3, total_tokens: 15 } } },
    });
    expect(tool).toMatchObject({
      attributes: {
        kind: 'TOOL',
        model: 'm-o',
        otel_span: { attributes: { input: { value: { q: 1 } }, temperature: 0.5 } },
      },
      inputs: { 'input.value': { q: 1 } },
      exception: 'not there',
      output: {},
      summary: { usage: { 'm-o': { ...noTokens, prompt_tokens: 4 } } },
    });
  });

  it.each([
    {
      convention: 'the GenAI conventions',
      attributes: {
        'gen_ai.provider.name': 'openai',
        'gen_ai.response.model': 'gpt-4o-2026',
        'gen_ai.input.messages': '[{"role":"user","parts":[{"type":"text","content":"Hi"}]}]',
        'gen_ai.output.messages': '[{"role":"assistant","parts":[]}]',
        'gen_ai.usage.input_tokens': 7,
        'gen_ai.usage.output_tokens': 2,
        'gen_ai.conversation.id': 'c-1',
      },
      call: {
        inputs: { 'gen_ai.input.messages': [{ role: 'user', parts: [{ type: 'text', content: 'Hi' }] }] },
        output: { 'gen_ai.output.messages': [{ role: 'assistant', parts: [] }] },
        summary: { usage: { 'gpt-4o-2026': { input_tokens: 7, output_tokens: 2, total_tokens: 9 } } },
        thread_id: 'c-1',
        turn_id: null,
      },
    },
    {
      convention: 'OpenInference',
      attributes: {
        'openinference.span.kind': 'LLM',
        'llm.model_name': 'm',
        'llm.invocation_parameters': '{"temperature":0.1}',
        'llm.input_messages.0.message.role': 'user',
        'llm.input_messages.0.message.content': 'Hi',
        'llm.output_messages.0.message.content': 'Hello',
        'llm.token_count.prompt': 3,
        'llm.token_count.completion': 4,
        'llm.token_count.total': 8,
        'session.id': 's',
      },
      call: {
        attributes: { kind: 'LLM', model: 'm', model_parameters: { temperature: 0.1 } },
        inputs: { 'llm.input_messages': [{ message: { role: 'user', content: 'Hi' } }] },
        output: { 'llm.output_messages': [{ message: { content: 'Hello' } }] },
        summary: { usage: { m: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 8 } } },
        thread_id: 's',
      },
    },
    {
      convention: 'OpenLLMetry',
      attributes: {
        'traceloop.span.kind': 'workflow',
        'traceloop.entity.input': '{"args":["a"]}',
        'traceloop.entity.output': '"done"',
      },
      call: {
        attributes: { kind: 'workflow' },
        inputs: { 'traceloop.entity.input': { args: ['a'] } },
        output: { 'traceloop.entity.output': '"done"' },
      },
    },
    {
      convention: 'the AI SDK of Vercel',
      attributes: {
        'ai.model.id': 'gpt-4o',
        'ai.model.provider': 'openai.chat',
        'ai.prompt.messages': '[{"role":"user","content":"Hi"}]',
        'ai.response.text': 'Hello',
        'ai.response.finishReason': 'stop',
        'ai.usage.promptTokens': 5,
        'ai.usage.completionTokens': 6,
      },
      call: {
        attributes: { model: 'gpt-4o', provider: 'openai.chat' },
        inputs: { 'ai.prompt': { messages: [{ role: 'user', content: 'Hi' }] } },
        output: { 'ai.response': { text: 'Hello', finishReason: 'stop' } },
        summary: { usage: { 'gpt-4o': { prompt_tokens: 5, completion_tokens: 6, total_tokens: 11 } } },
      },
    },
  ])('reads values, tokens and threads of $convention', ({ attributes, call }) => {
    expect(callWith(attributes)).toMatchObject(call);
  });

  it('finds messages in events, where older conventions have them', () => {
    const events = eventsOf(
      ['gen_ai.user.message', { content: 'Hi' }],
      ['gen_ai.choice', { message: 'Hello' }],
      ['log', { content: 'no message' }],
    );
    expect(callOf({ events })).toMatchObject({
      inputs: { 'gen_ai.input.messages': [{ content: 'Hi' }] },
      output: { 'gen_ai.output.messages': [{ message: 'Hello' }] },
    });
    const older = eventsOf(
      ['gen_ai.content.prompt', { 'gen_ai.prompt': 'Hi' }],
      ['gen_ai.content.completion', { 'gen_ai.completion': 'Hello' }],
    );
    expect(callOf({ events: older })).toMatchObject({
      inputs: { 'gen_ai.prompt': 'Hi' },
      output: { 'gen_ai.completion': 'Hello' },
    });
  });

  it('has all attributes of a span of which nothing is known, and those that wandb.attributes adds', () => {
    expect(
      callWith({ 'http.method': 'GET', 'wandb.attributes': '{"env":"test"}', 'wandb.display_name': 'Fetch' }),
    ).toMatchObject({
      display_name: 'Fetch',
      attributes: { http: { method: 'GET' }, env: 'test' },
      inputs: {},
      output: {},
    });
  });

  it('takes `input` and `output` themselves for the values of the call', () => {
    expect(callWith({ input: '{"question":"Hi"}', output: 'Hello' })).toMatchObject({
      inputs: { question: 'Hi' },
      output: 'Hello',
    });
  });

  it.each([
    { why: 'the message of its status', span: { status: { code: 2, message: 'no quota' } }, exception: 'no quota' },
    {
      why: 'the exception that it recorded',
      span: {
        status: { code: 'STATUS_CODE_ERROR' },
        events: eventsOf(['exception', { 'exception.type': 'TimeoutError', 'exception.message': 'too slow' }]),
      },
      exception: 'TimeoutError: too slow',
    },
    { why: 'a sentence', span: { status: { code: 2 } }, exception: 'The span has the status ERROR' },
  ])('fails a call whose span has the status ERROR, with $why', ({ span, exception }) => {
    expect(callOf(span).exception).toBe(exception);
  });

  it('has no end for a span that has not ended', () => {
    expect(callOf({ endTimeUnixNano: 0 })).not.toHaveProperty('ended_at');
  });

  it.each([
    { name: 'GET /v1/users?id=1', operation: 'GET_v1_users_id_1' },
    { name: '', operation: 'unnamed' },
    { name: 'Größe', operation: 'Größe' },
    { name: 'x'.repeat(1000), operation: 'x'.repeat(128) },
    { name: '\ud800\0', operation: '_' },
  ])('makes the operation $operation of the name of a span', ({ name, operation }) => {
    expect(callOf({ name }).op_name).toBe(`weave:///p/q/op/${operation}:XNI9iHYwcffKfuDa2rGjQoIxUOw7cnWmLEiNufRD8RY`);
  });

  it('loses no attribute whose name begins with that of another one', () => {
    const { otel_span } = callWith({ 'a.b': 1, 'a.b.c': 2, a: 3, 'd..e': 4 }).attributes;
    expect(otel_span).toMatchObject({ attributes: { a: 3, 'a.b': 1, 'a.b.c': 2, d: { '': { e: 4 } } } });
  });

  it('keeps names from outside as members of their own', () => {
    const attributes = [{ key: '__proto__.polluted', value: { boolValue: true } }];
    expect(JSON.stringify(callOf({ attributes }).attributes.otel_span)).toContain(
      '"attributes":{"__proto__":{"polluted":true}}',
    );
    expect({}).not.toHaveProperty('polluted');
  });

  it('keeps numbers that JSON has not, and integers that a number would change, as text', () => {
    const attributes = [
      { key: 'nan', value: { doubleValue: 'NaN' } },
      { key: 'endless', value: { doubleValue: Number.NEGATIVE_INFINITY } },
      { key: 'large', value: { intValue: '-9007199254740993' } },
      { key: 'bytes', value: { bytesValue: 'AAE=' } },
      { key: 'nothing', value: {} },
    ];
    expect(callOf({ attributes }).attributes.otel_span).toMatchObject({
      attributes: { nan: 'NaN', endless: '-Infinity', large: '-9007199254740993', bytes: 'AAE=', nothing: null },
    });
  });

  it('keeps text that looks like JSON and is none', () => {
    expect(callWith({ 'input.value': '[not JSON' }).inputs).toEqual({ 'input.value': '[not JSON' });
  });

  it.each([
    { fault: 'spanId must have 8 bytes, in hexadecimal or base64', span: { spanId: 'b7ad' } },
    { fault: 'traceId must have 16 bytes, in hexadecimal or base64', span: { traceId: 'x'.repeat(32) } },
    { fault: 'A span must have a spanId and a traceId', span: { spanId: '0000000000000000' } },
    { fault: 'A span must have a startTimeUnixNano', span: { startTimeUnixNano: undefined } },
    { fault: 'startTimeUnixNano is out of range', span: { startTimeUnixNano: '18446744073709551616' } },
    { fault: 'endTimeUnixNano must be an integer of 64 bits', span: { endTimeUnixNano: 'now' } },
    { fault: 'attributes must be a list', span: { attributes: {} } },
    { fault: 'name must be text', span: { name: {} } },
  ])('refuses a span: $fault', ({ fault, span }) => {
    expect(() => callOf(span)).toThrow(fault);
  });

  it('refuses values that are nested too deep to be read again', () => {
    let value: object = { stringValue: 'x' };
    for (let depth = 0; depth < 101; depth += 1) value = { arrayValue: { values: [value] } };
    expect(() => callOf({ attributes: [{ key: 'deep', value }] })).toThrow('A value is nested deeper than 100 levels');
  });
});
