import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { sampleToolCall, startFakeService } from '../../support/fake-service.ts';
import { command, emptyHome, temporaryFolder } from '../../support/heddle.ts';
import { ask, newerRequest, olderRequest, startHttpProcess } from '../../support/http-server.ts';
import { LineProcess } from '../../support/line-client.ts';
import { blocksOf, root } from '../../support/markdown-blocks.ts';
import { installedPath } from '../../support/outside-programs.ts';
import { startReceiver } from '../../support/trace-receiver.ts';

const outside = join(import.meta.dirname, '../packages/opentelemetry/node_modules');
const hasSdk = installedPath('opentelemetry', '@opentelemetry/sdk-trace-node') !== undefined;

const [documented, typed] = ['js traces', 'sh traces'].map(
  (kind) => blocksOf('docs/observability.md').find(({ info }) => info === kind)!.text,
) as [string, string];

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const incoming = { traceparent: `00-${traceId}-00f067aa0ba902b7-01`, tracestate: 'congo=1', baggage: 'user=alice' };

/** Makes the SDK record the requests of `fetch` and of node:http. */
const instrumented = `
import { createRequire } from 'node:module';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici';
registerInstrumentations({
  instrumentations: [new UndiciInstrumentation(), new HttpInstrumentation({ disableIncomingRequestInstrumentation: true })],
});
createRequire(import.meta.url)('node:http');
`;

/** Starts a service and a receiver of spans, and writes a module that sets up the SDK for heddle. */
async function prepare(setUp = documented) {
  const [service, receiver] = await Promise.all([startFakeService(), startReceiver()]);
  // Node resolves the packages from this folder.
  mkdirSync(outside, { recursive: true });
  const folder = mkdtempSync(join(outside, '.test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'otel.mjs');
  writeFileSync(file, setUp);
  const environment = {
    ...service.environment,
    NODE_OPTIONS: `--import ${file}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    HEDDLE_LOG_LEVEL: 'info',
    HEDDLE_LOG_FORMAT: 'json',
  };
  return { service, receiver, environment, folder };
}

/** Ends a server, which then flushes its spans. */
async function end({ child, exit }: Awaited<ReturnType<typeof startHttpProcess>>): Promise<void> {
  child.kill('SIGTERM');
  expect(await exit).toBe(0);
}

describe.skipIf(!hasSdk)('traces', () => {
  it('record a tool call over HTTP below the span of the client, and each request to the service below the call', async () => {
    const { service, receiver, environment } = await prepare();
    service.nextStatuses.push(503, 200);
    const server = await startHttpProcess([], environment);
    await ask(server.url, newerRequest('tools/call', { ...sampleToolCall, _meta: incoming }));
    await end(server);

    const [first, second, call] = receiver.spans;
    expect(receiver.spans).toHaveLength(3);
    const { port } = new URL(service.url);
    const request = {
      name: 'POST /annotation_queues/{queue_id}/items/query',
      kind: 'client',
      traceId,
      spanId: expect.stringMatching(/^[\da-f]{16}$/),
      parentSpanId: call!.spanId,
      links: [],
    };
    const attributes = {
      'http.request.method': 'POST',
      'url.template': '/annotation_queues/{queue_id}/items/query',
      'url.scheme': 'http',
      'server.address': '127.0.0.1',
      'server.port': Number(port),
    };
    expect(first).toEqual({
      ...request,
      attributes: { ...attributes, 'http.response.status_code': 503, 'error.type': '503' },
      failed: true,
    });
    expect(second).toEqual({
      ...request,
      attributes: { ...attributes, 'http.request.resend_count': 1, 'http.response.status_code': 200 },
      failed: false,
    });
    expect(call).toEqual({
      name: 'tools/call query_queue_items',
      kind: 'server',
      traceId,
      spanId: expect.stringMatching(/^[\da-f]{16}$/),
      parentSpanId: '00f067aa0ba902b7',
      attributes: {
        'mcp.method.name': 'tools/call',
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'query_queue_items',
        'jsonrpc.request.id': '1',
        'mcp.protocol.version': '2026-07-28',
        'network.transport': 'tcp',
        'network.protocol.name': 'http',
      },
      failed: false,
      links: [],
    });
    expect(
      service.requests.map(({ headers: { traceparent, tracestate, baggage } }) => [traceparent, tracestate, baggage]),
    ).toEqual([first, second].map((span) => [`00-${traceId}-${span!.spanId}-01`, 'congo=1', 'user=alice']));
    expect([...receiver.services]).toEqual(['heddle']);
    const line = JSON.parse(server.output.stderr.split('\n').find((each) => each.includes('call ended'))!);
    expect([line.trace_id, line.span_id]).toEqual([traceId, call!.spanId]);
  });

  it('record failed calls over stdio with their error codes, and no arguments or responses', async () => {
    const { service, receiver, environment } = await prepare();
    service.nextStatuses.push(404);
    const server = new LineProcess(temporaryFolder(), environment);
    await server.initialize();
    const { traceparent } = incoming;
    await server.ask({ id: 'a', method: 'tools/call', params: { ...sampleToolCall, _meta: { traceparent } } });
    await server.ask({ id: 'b', method: 'tools/call', params: { name: 'read_call', arguments: { secret: 'secret' } } });
    expect(await server.end()).toBe(0);

    const [request, failed, refused] = receiver.spans;
    expect(request).toMatchObject({ parentSpanId: failed!.spanId, failed: true, attributes: { 'error.type': '404' } });
    const common = { 'error.type': 'tool_error', 'network.transport': 'pipe', 'mcp.protocol.version': '2025-06-18' };
    expect(failed).toMatchObject({
      name: 'tools/call query_queue_items',
      traceId,
      failed: true,
      attributes: { ...common, 'jsonrpc.request.id': 'a', 'heddle.error.code': 'not_found' },
    });
    expect(refused).toMatchObject({
      name: 'tools/call read_call',
      parentSpanId: undefined,
      failed: true,
      attributes: { ...common, 'jsonrpc.request.id': 'b', 'heddle.error.code': 'invalid_arguments' },
    });
    expect(refused!.traceId).not.toBe(traceId);
    expect(receiver.text()).not.toMatch(/secret|words of the service|of-user|team/);
  });

  it('record the error code of requests that get no response', async () => {
    const { receiver, environment } = await prepare();
    const server = await startHttpProcess([], { ...environment, HEDDLE_BASE_URL: 'http://127.0.0.1:9/prefix/' });
    await ask(
      server.url,
      olderRequest('tools/call', { name: 'run_inference', arguments: { model: 'm', messages: [] } }),
    );
    await end(server);
    expect(receiver.spans.map(({ name, attributes }) => [name, attributes['error.type']])).toEqual([
      ['POST /prefix/inference/v1{path*}', 'network'],
      ['POST /prefix/inference/v1{path*}', 'network'],
      ['POST /prefix/inference/v1{path*}', 'network'],
      ['tools/call run_inference', 'tool_error'],
    ]);
  });

  it('ignore an invalid traceparent of a call, and use the HTTP header when the call has none', async () => {
    const { receiver, environment } = await prepare();
    const server = await startHttpProcess([], environment);
    const proxy = {
      traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`,
      'mcp-protocol-version': '2025-06-18',
    };
    const bad = olderRequest('tools/call', {
      ...sampleToolCall,
      _meta: { traceparent: incoming.traceparent.toUpperCase() },
    });
    await ask(server.url, bad);
    const none = olderRequest('tools/call', sampleToolCall);
    await ask(server.url, { headers: { ...none.headers, ...proxy }, body: none.body });
    await end(server);
    const calls = receiver.spans.filter(({ kind }) => kind === 'server');
    expect(calls.map(({ parentSpanId }) => parentSpanId)).toEqual([undefined, '2'.repeat(16)]);
    expect(calls.map(({ attributes }) => attributes['mcp.protocol.version'])).toEqual([undefined, '2025-06-18']);
  });

  it('record requests once even when metrics and HTTP instrumentation are enabled', async () => {
    const { service, receiver, environment } = await prepare(documented + instrumented);
    const server = await startHttpProcess(['--metrics-port', '0'], environment);
    await ask(server.url, newerRequest('tools/call', { ...sampleToolCall, _meta: incoming }));
    const metrics = /^metrics on (http:\S+)$/m.exec(server.output.stderr)![1]!;
    const { body } = await ask(metrics, { method: 'GET' });
    expect(body).toContain('heddle_service_requests_total{operation="queryQueueItems",status="200"} 1');
    await end(server);
    expect(receiver.spans.map(({ name }) => name)).toEqual([
      'POST /annotation_queues/{queue_id}/items/query',
      'tools/call query_queue_items',
    ]);
    expect(service.requests[0]!.headers.traceparent).toBe(`00-${traceId}-${receiver.spans[0]!.spanId}-01`);
  });

  it('leave requests outside tool calls to HTTP instrumentation', async () => {
    const { receiver, environment } = await prepare(documented + instrumented);
    const server = await startHttpProcess([], environment);
    await ask(new URL('/readyz', server.url), { method: 'GET' });
    await end(server);
    expect(receiver.spans.map(({ name, kind }) => [name, kind])).toEqual([['GET', 'client']]);
  });

  it('are recorded with the command in docs/observability.md', async () => {
    const { receiver, environment, folder } = await prepare();
    const { NODE_OPTIONS: _, ...own } = environment;
    writeFileSync(join(folder, 'heddle'), `#!/bin/bash\nexec "${process.execPath}" "${command}" "$@"\n`, {
      mode: 0o755,
    });
    const shell = spawn('bash', ['-c', `exec env ${typed.trim()} --port 0`], {
      cwd: folder,
      env: emptyHome(temporaryFolder(), { ...own, PATH: `${folder}:${process.env.PATH}` }),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    onTestFinished(() => void shell.kill('SIGKILL'));
    const exit = once(shell, 'exit');
    for await (const line of createInterface(shell.stderr)) {
      const url = /^listening on (\S+)$/.exec(line)?.[1];
      if (url === undefined) continue;
      await ask(url, newerRequest('tools/call', sampleToolCall));
      shell.kill('SIGTERM');
    }
    expect(await exit).toEqual([0, null]);
    expect(receiver.spans.map(({ kind }) => kind)).toEqual(['client', 'server']);
  });

  it('are the same for a program that uses heddle as a library', async () => {
    const { service, receiver, environment, folder } = await prepare();
    const from = (file: string): string => JSON.stringify(join(root, file));
    writeFileSync(
      join(folder, 'program.mjs'),
      `import { createServer } from ${from('dist/index.js')};
import { Client, InMemoryTransport } from ${from('node_modules/@modelcontextprotocol/client/dist/index.mjs')};
const [near, far] = InMemoryTransport.createLinkedPair();
const server = createServer({ baseUrl: ${JSON.stringify(service.url)}, project: 'a/b', username: 'u', password: 'p' });
await server.connect(far);
const client = new Client({ name: 'example', version: '1.0.0' });
await client.connect(near);
await client.callTool(${JSON.stringify(sampleToolCall)});
await client.close();
await server.close();
// The program has set up the SDK, so it flushes the spans itself.
await globalThis[Symbol.for('opentelemetry.js.api.1')].trace.getDelegate().forceFlush();
`,
    );
    const { NODE_OPTIONS, OTEL_EXPORTER_OTLP_ENDPOINT, PATH = process.env.PATH! } = { ...process.env, ...environment };
    await promisify(execFile)(process.execPath, [join(folder, 'program.mjs')], {
      env: { NODE_OPTIONS, OTEL_EXPORTER_OTLP_ENDPOINT, PATH },
    });
    expect(receiver.spans.map(({ name, attributes }) => [name, attributes['network.transport']])).toEqual([
      ['POST /annotation_queues/{queue_id}/items/query', undefined],
      ['tools/call query_queue_items', undefined],
    ]);
  });

  it('do not delay the exit of the server while the receiver of spans does not respond', async () => {
    const { environment } = await prepare();
    const silentReceiver = await startFakeService();
    silentReceiver.respond = () => {};
    const anHourMs = '3600000';
    const server = await startHttpProcess([], {
      ...environment,
      OTEL_EXPORTER_OTLP_ENDPOINT: silentReceiver.url,
      OTEL_EXPORTER_OTLP_TIMEOUT: anHourMs,
      OTEL_BSP_EXPORT_TIMEOUT: anHourMs,
    });
    await ask(server.url, newerRequest('tools/call', sampleToolCall));
    await end(server);
    expect(silentReceiver.requests.map(({ path }) => path)).toEqual(['/v1/traces']);
  });
});
