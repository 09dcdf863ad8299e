import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { beginStream, chunked, type RecordedRequest, startFakeService } from '../../support/fake-service.ts';
import { ask, type HttpProcess, newerRequest, startHttpProcess } from '../../support/http-server.ts';
import { selfSigned } from '../../support/self-signed.ts';
import { hasNginx, startBalancer, trustingFetch } from '../../support/start-nginx.ts';

const credentials = { username: 'api', password: 'password-of-api', token: 'token-of-api' };

function configured(url: string): Record<string, string> {
  return {
    HEDDLE_BASE_URL: url,
    HEDDLE_USERNAME: credentials.username,
    HEDDLE_PASSWORD: credentials.password,
    HEDDLE_TOKEN: credentials.token,
    HEDDLE_PROJECT: 'demo/support',
  };
}

/** Sends one request to the balancer with exactly these headers. */
async function send(
  origin: string,
  path: string,
  { headers, body }: { headers: object; body?: object },
): Promise<IncomingMessage> {
  const sent = request(new URL(path, origin), {
    method: body ? 'POST' : 'GET',
    headers: { ...headers },
    ca: selfSigned.cert,
    servername: 'localhost',
    agent: false,
  });
  onTestFinished(() => void sent.destroy());
  sent.end(body && JSON.stringify(body));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return response;
}

describe.skipIf(!hasNginx)('deploy/nginx/heddle.conf', () => {
  it('exposes only the endpoint and its metadata, and only under its host name', async () => {
    const { url: service } = await startFakeService({ credentials });
    const named = ['--public-url', 'https://heddle.example.com/mcp'];
    const [one, two] = await Promise.all([1, 2].map(() => startHttpProcess(named, configured(service))));
    const { origin } = await startBalancer([one!.url, two!.url]);
    const list = newerRequest('tools/list');
    const status = async (path: string, host: string, body?: object): Promise<number> =>
      (await send(origin, path, { headers: { ...list.headers, host }, ...(body && { body }) })).statusCode!;
    expect(await status('/mcp', 'heddle.example.com', list.body)).toBe(200);
    expect(await status('/mcp', 'rebound.example.org', list.body)).toBe(403);
    for (const path of ['/healthz', '/readyz', '/metrics', '/mcp/', '/']) {
      expect([path, await status(path, 'heddle.example.com')]).toEqual([path, 404]);
    }
    // The response comes from heddle, not from nginx.
    const metadata = await send(origin, '/.well-known/nothing', { headers: { host: 'heddle.example.com' } });
    expect([metadata.statusCode, metadata.headers['content-type']]).toEqual([404, 'application/json']);
  });

  it('passes events on while the call runs', async () => {
    const service = await startFakeService({ credentials });
    const held = new Promise<RecordedRequest>((resolve) => {
      service.respond = (request) => {
        if (request.path.endsWith('/chat/completions')) resolve(request);
        else service.respondNormally(request);
      };
    });
    const [one, two] = await Promise.all([1, 2].map(() => startHttpProcess([], configured(service.url))));
    const { origin } = await startBalancer([one!.url, two!.url]);
    const inference = { name: 'run_inference', arguments: { model: 'm', messages: [], stream: true } };
    const answer = send(origin, '/mcp', newerRequest('tools/call', { ...inference, _meta: { progressToken: 'p' } }));
    const inferenceRequest = await held;
    const event = (choice: object) => `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`;
    beginStream(inferenceRequest);
    inferenceRequest.socket.write(chunked(event({ delta: { content: 'Hello' } })));
    const stream = (await answer).setEncoding('utf8');
    const [first] = (await once(stream, 'data')) as [string];
    expect(first).toContain('5 characters');
    inferenceRequest.socket.write(chunked(`${event({ delta: {}, finish_reason: 'stop' })}data: [DONE]\n\n`));
    inferenceRequest.socket.write(chunked(''));
    let rest = '';
    for await (const text of stream) rest += text;
    expect(rest).toContain('"content":"Hello"');
  });

  /** Restarts a server on its port like a deployment, and waits until it is ready. */
  async function restart({ url, child, exit }: HttpProcess, environment: Record<string, string>): Promise<HttpProcess> {
    child.kill('SIGTERM');
    expect(await exit).toBe(0);
    const next = await startHttpProcess(['--port', new URL(url).port], environment);
    expect((await ask(new URL('/readyz', url), { method: 'GET' })).status).toBe(200);
    return next;
  }

  it('loses at most one call while both servers are restarted in turn', async () => {
    const { url: service } = await startFakeService({ credentials });
    const environment = configured(service);
    const nodes = await Promise.all([1, 2].map(() => startHttpProcess([], environment)));
    const { origin, servedBy } = await startBalancer([nodes[0]!.url, nodes[1]!.url]);
    const fetch = trustingFetch();
    const failures: string[] = [];
    let calls = 0;
    let over = false;
    const clients = [1, 2, 3, 4, 5, 6, 7, 8].map(async () => {
      const client = new Client(
        { name: 'test', version: '1.0.0' },
        { versionNegotiation: { mode: { pin: '2026-07-28' } } },
      );
      await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', origin), { fetch }));
      while (!over) {
        await client
          .callTool({ name: 'query_queue_items', arguments: { queue_id: 'q' } })
          .catch((error: Error) => failures.push(error.message));
        calls += 1;
      }
      await client.close();
    });
    for (let round = 0; round < 2; round++) {
      for (const [index, node] of nodes.entries()) {
        nodes[index] = await restart(node, environment);
        // Waits until the balancer uses this server again.
        const before = servedBy().length;
        const again = () => servedBy().slice(before).includes(new URL(node.url).host);
        await expect.poll(again, { interval: 50 }).toBe(true);
      }
    }
    over = true;
    await Promise.all(clients);
    // A request that connected at the moment when the port closed may fail.
    expect(failures.slice(1)).toEqual([]);
    console.log(`rolling restart: 4 restarts, ${calls} calls, ${failures.length} failed`);
  });
});
