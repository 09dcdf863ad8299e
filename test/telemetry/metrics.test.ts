import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import parsePrometheusTextFormat from 'parse-prometheus-text-format';
import { describe, expect, it } from 'vitest';
import { sampleToolCall, startFakeService } from '../support/fake-service.ts';
import { emptyHome, run, temporaryFolder } from '../support/heddle.ts';
import { ask, type HttpServer, newerRequest, olderRequest, startHttp } from '../support/http-server.ts';
import { root } from '../support/markdown-blocks.ts';

/** Starts heddle with metrics, and returns functions to read them. */
async function start(extra: Record<string, string> = {}, args: string[] = []) {
  const server = await startHttp(['--metrics-port', '0', ...args], extra);
  return { ...server, ...reader(server) };
}

function reader({ output }: HttpServer) {
  const url = /^metrics on (http:\S+)$/m.exec(output.stderr)![1]!;
  const read = async (): Promise<string> => {
    const { status, headers, body } = await ask(url, { method: 'GET', headers: {} });
    expect([status, headers['content-type']]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
    return body;
  };
  const scrape = async () => parsePrometheusTextFormat(await read());
  /** Returns the samples of a metric that are not 0, as `labels value`. */
  const values = async (name: string): Promise<string[]> => {
    const { metrics } = (await scrape()).find((each) => each.name === name)!;
    return metrics
      .filter(({ value }) => Number(value) !== 0)
      .map(({ labels = {}, value }) => [...Object.values(labels), value].join(' '));
  };
  return { metricsUrl: url, read, scrape, values };
}

describe('metrics', () => {
  it('count calls, requests, retries and refused requests by name and code', async () => {
    const service = await startFakeService();
    const { url, values, read } = await start(service.environment);
    const call = (name: string, args: object = {}) => ask(url, olderRequest('tools/call', { name, arguments: args }));
    service.nextStatuses.push(503, 200, 404);
    await call('query_queue_items', { queue_id: 'q' });
    await call('query_queue_items', { queue_id: 'q' });
    await call('query_queue_items', { unknown: 1 });
    await call('no_such_tool');
    await ask(url, { headers: { 'content-type': 'text/plain' } });
    await ask(url, { method: 'GET' });
    await ask(new URL('/elsewhere', url));
    await ask(url, { headers: { host: 'evil.example' } });

    expect(await values('heddle_tool_calls_total')).toEqual([
      'query_queue_items ok 1',
      'query_queue_items not_found 1',
      'query_queue_items invalid_arguments 1',
    ]);
    expect(await values('heddle_tool_calls_in_flight')).toEqual([]);
    expect(await values('heddle_service_requests_total')).toEqual([
      'queryQueueItems 503 1',
      'queryQueueItems 200 1',
      'queryQueueItems 404 1',
    ]);
    expect(await values('heddle_service_retries_total')).toEqual(['queryQueueItems 1']);
    expect(await values('heddle_http_refused_total')).toEqual(['415 1', '405 1', '404 1', '403 1']);
    expect(await values('heddle_info')).toEqual(['0.1.0 1']);
    // The parser merges the series of a histogram, so these are read from the text.
    const text = await read();
    expect(text).toMatch(/^heddle_tool_call_duration_seconds_count\{tool="query_queue_items"\} 3$/m);
    expect(text).toMatch(/^heddle_tool_call_duration_seconds_count\{tool="read_call"\} 0$/m);
    expect(text).toMatch(/^heddle_service_request_duration_seconds_count\{operation="queryQueueItems"\} 3$/m);
    expect(text).toMatch(/^heddle_service_request_duration_seconds_bucket\{le="600",operation="queryQueueItems"\} 3$/m);
  });

  it('count requests that the SDK rejects or that are not HTTP as refused', async () => {
    const { url, values } = await start();
    const { headers, body } = newerRequest('tools/list');
    expect((await ask(url, { headers: { ...headers, 'mcp-method': 'ping' }, body })).status).toBe(400);
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write('nonsense\r\n\r\n'));
    await new Promise((resolve) => socket.resume().once('close', resolve));
    await expect.poll(() => values('heddle_http_refused_total')).toEqual(['400 2']);
  });

  it('count a waiting call as in flight, and as cancelled after the client has left', async () => {
    const service = await startFakeService();
    const arrival = new Promise<void>((resolve) => {
      service.respond = () => resolve();
    });
    const { url, values } = await start(service.environment);
    const { headers, body } = newerRequest('tools/call', sampleToolCall);
    const left = request(url, { method: 'POST', headers: { ...headers }, agent: false }).on('error', () => {});
    left.end(JSON.stringify(body));
    await arrival;
    expect(await values('heddle_tool_calls_in_flight')).toEqual(['query_queue_items 1']);
    left.destroy();
    await expect.poll(() => values('heddle_tool_calls_in_flight')).toEqual([]);
    expect(await values('heddle_tool_calls_total')).toEqual(['query_queue_items cancelled 1']);
    expect(await values('heddle_service_requests_total')).toEqual(['queryQueueItems cancelled 1']);
  });

  it('count an unreachable service by error code', async () => {
    const { environment } = await startFakeService();
    const { url, values } = await start({ ...environment, HEDDLE_BASE_URL: 'http://127.0.0.1:9' });
    await ask(url, newerRequest('tools/call', sampleToolCall));
    expect(await values('heddle_tool_calls_total')).toEqual(['query_queue_items network 1']);
    expect(await values('heddle_service_requests_total')).toEqual(['queryQueueItems network 3']);
    expect(await values('heddle_service_retries_total')).toEqual(['queryQueueItems 2']);
  });

  it('start at 0 for every tool, and are all listed in docs/observability.md', async () => {
    const { scrape } = await start({ HEDDLE_TOOLS: 'list_queues,read_call' });
    const families = await scrape();
    const calls = families.find(({ name }) => name === 'heddle_tool_calls_total')!;
    expect(calls.metrics).toEqual([
      { labels: { tool: 'list_queues', code: 'ok' }, value: '0' },
      { labels: { tool: 'read_call', code: 'ok' }, value: '0' },
    ]);
    expect(families.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        'process_cpu_seconds_total',
        'process_resident_memory_bytes',
        'nodejs_eventloop_lag_seconds',
      ]),
    );
    const page = readFileSync(join(root, 'docs/observability.md'), 'utf8');
    const documented = [...page.matchAll(/^\| `(heddle_\w+)` \| (\w+) \|/gm)].map(
      ([, name, type]) => `${name} ${type}`,
    );
    const exposed = families.filter(({ name }) => name.startsWith('heddle_'));
    expect(documented.sort()).toEqual(exposed.map(({ name, type }) => `${name} ${type.toLowerCase()}`).sort());
  });

  it('are served at /metrics only, and only to an allowed host', async () => {
    const { metricsUrl, url } = await start({}, ['--allowed-host', 'heddle.internal']);
    expect(new URL(metricsUrl).hostname).toBe('127.0.0.1');
    const status = async (path: string, method = 'GET', headers = {}) =>
      (await ask(new URL(path, metricsUrl), { method, headers })).status;
    expect(await status('/metrics', 'HEAD')).toBe(200);
    expect(await status('/metrics', 'POST')).toBe(405);
    expect(await status('/mcp', 'POST')).toBe(404);
    expect(await status('/metrics', 'GET', { host: 'evil.example' })).toBe(403);
    expect(await status('/metrics', 'GET', { origin: 'https://evil.example' })).toBe(403);
    expect(await status('/metrics', 'GET', { host: 'heddle.internal:9464' })).toBe(200);
    expect((await ask(new URL('/metrics', url), { method: 'GET' })).status).toBe(404);
  });

  it('need a free port and --http', async () => {
    const { metricsUrl } = await start();
    const { port } = new URL(metricsUrl);
    const environment = emptyHome(temporaryFolder());
    expect(await run(['serve', '--http', '--port', '0', '--metrics-port', port], environment)).toMatchObject({
      code: 2,
      stderr: `heddle: Cannot listen on 127.0.0.1, port ${port} (EADDRINUSE).\nChoose another --metrics-port or --metrics-host, or stop the process that uses the port.\n`,
    });
    expect(await run(['serve', '--http', '--host', '0.0.0.0', '--metrics-port', '0'], environment)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Listening on 0.0.0.0 without a token'),
    });
    expect(await run(['serve', '--metrics-port', '0'], environment)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('--metrics-port has no effect without --http'),
    });
  });
});
