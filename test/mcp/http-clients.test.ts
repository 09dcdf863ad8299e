import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect, onTestFinished, test } from 'vitest';
import { type AnyClient, callEveryTool } from '../protocol/every-tool.ts';
import { ask, newerRequest, olderRequest, startHttp } from '../protocol/http-process.ts';

const headers = { authorization: 'Bearer correct-horse-battery' };

async function newer(url: string, mode: 'legacy' | 'auto' | { pin: string }): Promise<AnyClient> {
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  expect(client.getProtocolEra()).toBe(mode === 'legacy' ? 'legacy' : 'modern');
  return client as AnyClient;
}

async function older(url: string): Promise<AnyClient> {
  const client = new OlderClient({ name: 'test', version: '1.0.0' });
  await client.connect(new OlderTransport(new URL(url), { requestInit: { headers } }));
  return client as unknown as AnyClient;
}

test('SDK clients of both generations, in every negotiation mode, call every tool of one process', async () => {
  const { url, output } = await startHttp([], { HEDDLE_HTTP_TOKEN: 'correct-horse-battery' });
  const names = await Promise.all(
    [newer(url, 'legacy'), newer(url, 'auto'), newer(url, { pin: '2026-07-28' }), older(url)].map(
      async (connecting) => {
        const client = await connecting;
        onTestFinished(() => client.close());
        return callEveryTool(client);
      },
    ),
  );
  for (const called of names) {
    expect(called).toEqual(expect.arrayContaining(['query_queue_items', 'run_inference', 'create_evaluation']));
  }
  expect(output.stdout).toBe('');
});

test.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])(
  'revision %s is negotiated and kept',
  async (revision) => {
    const { url } = await startHttp();
    const { headers: plain, body } = olderRequest('initialize', {
      protocolVersion: revision,
      capabilities: {},
      clientInfo: { name: 'test', version: '1.0.0' },
    });
    const answer = await ask(url, { headers: plain, body });
    expect(answer.headers['content-type']).toBe('application/json');
    expect(JSON.parse(answer.body)).toMatchObject({
      result: { protocolVersion: revision, serverInfo: { name: 'heddle' } },
    });
    const next = await ask(url, { ...olderRequest('ping'), headers: { ...plain, 'mcp-protocol-version': revision } });
    expect(next.status).toBe(200);
  },
);

test('a revision that nobody knows is refused with the known ones', async () => {
  const { url } = await startHttp();
  const request = newerRequest('tools/list');
  const unknown = JSON.parse(JSON.stringify(request).replaceAll('2026-07-28', '2031-01-01'));
  const answer = await ask(url, unknown);
  expect([answer.status, JSON.parse(answer.body)]).toMatchObject([
    400,
    { error: { code: -32_022, data: { supported: ['2026-07-28'], requested: '2031-01-01' } } },
  ]);
});

test('revision 2026-07-28 answers a quick call with one JSON body', async () => {
  const { url } = await startHttp();
  const answer = await ask(url, newerRequest('tools/call', { name: 'list_queues' }));
  expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/json']);
  expect(Number(answer.headers['content-length'])).toBe(Buffer.byteLength(answer.body));
});
