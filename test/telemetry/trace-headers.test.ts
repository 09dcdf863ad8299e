import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { sampleToolCall, startFakeService } from '../support/fake-service.ts';
import { temporaryFolder } from '../support/heddle.ts';
import { ask, newerRequest, olderRequest, startHttp } from '../support/http-server.ts';
import { LineClient } from '../support/line-client.ts';

const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

/** Traces in a client's `_meta`, and the headers that reach the service. */
const cases: [what: string, meta: object, sent: { traceparent?: string; tracestate?: string }][] = [
  ['a trace', { traceparent }, { traceparent }],
  ['not sampled', { traceparent: `${traceparent.slice(0, -2)}00` }, { traceparent: `${traceparent.slice(0, -2)}00` }],
  [
    'with a state',
    { traceparent, tracestate: 'congo=t61rcWkgMzE, ,fw529a3039@dt=FfAe;x,a/b=<c d>' },
    { traceparent, tracestate: 'congo=t61rcWkgMzE, ,fw529a3039@dt=FfAe;x,a/b=<c d>' },
  ],
  ['a later version', { traceparent: `cc${traceparent.slice(2, -2)}ff-new.field` }, { traceparent }],
  ['no trace', {}, {}],
  ['a state alone', { tracestate: 'a=b' }, {}],
  ['version ff', { traceparent: `ff${traceparent.slice(2)}` }, {}],
  ['more members than version 00 has', { traceparent: `${traceparent}-01` }, {}],
  ['capital letters', { traceparent: traceparent.toUpperCase() }, {}],
  ['no trace id', { traceparent: `00-${'0'.repeat(32)}-00f067aa0ba902b7-01` }, {}],
  ['no parent id', { traceparent: `00-4bf92f3577b34da6a3ce929d0e0e4736-${'0'.repeat(16)}-01` }, {}],
  ['a line break', { traceparent: `${traceparent}\r\nauthorization: mine` }, {}],
  ['a number', { traceparent: 1 }, {}],
  ['a state with a line break', { traceparent, tracestate: 'a=b\r\nx: y' }, { traceparent }],
  ['a state with a repeated key', { traceparent, tracestate: 'a=b,c=d,a=e' }, { traceparent }],
  ['a state with a capital key', { traceparent, tracestate: 'A=b' }, { traceparent }],
  ['a state without a value', { traceparent, tracestate: 'a' }, { traceparent }],
  [
    'a state with 33 members',
    { traceparent, tracestate: Array.from({ length: 33 }, (_, at) => `k${at}=v`).join() },
    { traceparent },
  ],
  ['baggage, which is not passed on', { traceparent, baggage: 'user=alice' }, { traceparent }],
];

describe('trace headers', () => {
  it.each(['stdio', 'http'])('pass the valid part of a trace in _meta on to the service: %s', async (transport) => {
    const service = await startFakeService();
    const call = transport === 'http' ? await overHttp(service.environment) : await overStdio(service.environment);
    for (const [what, _meta, sent] of cases) {
      service.requests.length = 0;
      await call({ ...sampleToolCall, _meta });
      const { traceparent, tracestate, baggage } = service.requests[0]!.headers;
      expect([what, { traceparent, tracestate, baggage }]).toEqual([what, sent]);
    }
  });

  async function overHttp(environment: Record<string, string>) {
    const { url } = await startHttp([], environment);
    return (params: object) => ask(url, newerRequest('tools/call', params));
  }

  async function overStdio(environment: Record<string, string>) {
    const server = new LineClient(temporaryFolder(), environment);
    await server.initialize();
    let id = 0;
    return (params: object) => server.ask({ id: ++id, method: 'tools/call', params });
  }

  it('come from the HTTP request where _meta has no trace', async () => {
    const service = await startFakeService();
    const { url } = await startHttp([], service.environment);
    const proxy = { traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`, tracestate: 'proxy=1' };
    for (const [_meta, sent] of [
      [{ traceparent }, { traceparent }],
      [{}, proxy],
    ] as const) {
      const { headers, body } = olderRequest('tools/call', { ...sampleToolCall, _meta });
      await ask(url, { headers: { ...headers, ...proxy }, body });
      const { traceparent, tracestate } = service.requests.pop()!.headers;
      expect({ traceparent, tracestate }).toEqual(sent);
    }
  });

  it('put the trace id on log lines', async () => {
    const service = await startFakeService();
    const { url, output } = await startHttp([], { ...service.environment, HEDDLE_LOG_LEVEL: 'info' });
    await ask(url, newerRequest('tools/call', { ...sampleToolCall, _meta: { traceparent } }));
    await expect.poll(() => output.stderr).toMatch(/ call ended .*trace_id=4bf92f3577b34da6a3ce929d0e0e4736 .*code=ok/);
  });

  it("warn about a too old OpenTelemetry API, and pass the client's trace on unchanged", async () => {
    const service = await startFakeService();
    vi.stubGlobal(Symbol.for('opentelemetry.js.api.1') as never, { version: '1.8.0', trace: {} });
    onTestFinished(() => void vi.unstubAllGlobals());
    const { url, output } = await startHttp([], service.environment);
    expect(output.stderr).toContain(
      ' warn no traces: @opentelemetry/api of the SDK must be 1.9 or later version=1.8.0\n',
    );
    await ask(url, newerRequest('tools/call', { ...sampleToolCall, _meta: { traceparent } }));
    expect(service.requests[0]!.headers.traceparent).toBe(traceparent);
  });
});
