import { userInfo } from 'node:os';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type AnyClient, callEveryTool } from '../../support/call-every-tool.ts';
import { ask, messagesOf, newerRequest, olderRequest, startHttp } from '../../support/http-server.ts';

const headers = { authorization: 'Bearer correct-horse-battery' };

async function newer(url: string, mode: 'legacy' | 'auto' | { pin: string }, name = 'test'): Promise<AnyClient> {
  const client = new Client({ name, version: '1.0.0' }, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  expect(client.getProtocolEra()).toBe(mode === 'legacy' ? 'legacy' : 'modern');
  return client as AnyClient;
}

async function older(url: string, name = 'test'): Promise<AnyClient> {
  const client = new OlderClient({ name, version: '1.0.0' });
  await client.connect(new OlderTransport(new URL(url), { requestInit: { headers } }));
  return client as unknown as AnyClient;
}

describe('MCP clients over HTTP', () => {
  it('call every tool of one process, with both SDK generations and every negotiation mode', async () => {
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

  it('are annotators of their own, with the names that they give at the beginning', async () => {
    const { url } = await startHttp();
    const clients = await Promise.all([
      older(url, 'Älter'),
      newer(url, 'legacy', 'legacy'),
      newer(url, { pin: '2026-07-28' }, 'modern'),
    ]);
    const queue_id = 'support-triage';
    const call = (client: AnyClient, args: object) =>
      client.callTool({ name: 'update_queue_items', arguments: { queue_id, ...args } });
    for (const [index, client] of clients.entries()) {
      onTestFinished(() => client.close());
      await call(client, { items: [{ call_id: `support-000${index + 6}`, judgements: { helpful: true } }] });
    }
    expect(await call(clients[0]!, { filter: { judged_by: 'me' }, change: { retract: ['*'] } })).toMatchObject({
      structuredContent: { matched: 1, counts: { done: 1 } },
    });
    const args = {
      queue_id,
      include_judgements: true,
      filter: { ids: ['support-0006', 'support-0007', 'support-0008'] },
    };
    const left = await clients[0]!.callTool({ name: 'query_queue_items', arguments: args });
    expect(JSON.stringify(left)).not.toContain('Älter');
    expect(left).toMatchObject({
      structuredContent: {
        items: [
          { call_id: 'support-0006' },
          { judgements: { [`${userInfo().username} (legacy via heddle)`]: { helpful: true } } },
          { judgements: { [`${userInfo().username} (modern via heddle)`]: { helpful: true } } },
        ],
      },
    });
  });

  it.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])(
    'negotiate and keep revision %s',
    async (revision) => {
      const { url } = await startHttp();
      const { headers: plain, body } = olderRequest('initialize', {
        protocolVersion: revision,
        capabilities: {},
        clientInfo: { name: 'test', version: '1.0.0' },
      });
      const answer = await ask(url, { headers: plain, body });
      expect(answer.headers['content-type']).toBe('text/event-stream');
      expect(messagesOf(answer.body)).toMatchObject([
        { result: { protocolVersion: revision, serverInfo: { name: 'heddle' } } },
      ]);
      const next = await ask(url, { ...olderRequest('ping'), headers: { ...plain, 'mcp-protocol-version': revision } });
      expect(next.status).toBe(200);
    },
  );

  it('get the supported revisions when they ask for an unknown one', async () => {
    const { url } = await startHttp();
    const request = newerRequest('tools/list');
    const unknown = JSON.parse(JSON.stringify(request).replaceAll('2026-07-28', '2031-01-01'));
    const answer = await ask(url, unknown);
    expect([answer.status, JSON.parse(answer.body)]).toMatchObject([
      400,
      { error: { code: -32_022, data: { supported: ['2026-07-28'], requested: '2031-01-01' } } },
    ]);
  });

  it('get one JSON body for a quick call of revision 2026-07-28', async () => {
    const { url } = await startHttp();
    const answer = await ask(url, newerRequest('tools/call', { name: 'list_queues' }));
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/json']);
    expect(Number(answer.headers['content-length'])).toBe(Buffer.byteLength(answer.body));
    expect(JSON.parse(answer.body)).toMatchObject({
      id: 1,
      result: { structuredContent: { queues: expect.any(Array) } },
    });
  });

  const listQueues = { method: 'tools/call', params: { name: 'list_queues', arguments: {} } };

  it('get one stream, progress included, for a batch of an older revision', async () => {
    const { url } = await startHttp();
    const { headers } = olderRequest('ping');
    const quick = [
      { jsonrpc: '2.0', id: 1, ...listQueues },
      { jsonrpc: '2.0', method: 'notifications/roots/list_changed' },
      { jsonrpc: '2.0', id: 'two', method: 'ping' },
    ];
    const whole = await ask(url, { headers, body: quick });
    expect([whole.status, whole.headers['content-type']]).toEqual([200, 'text/event-stream']);
    expect(new Set(messagesOf(whole.body).map(({ id }) => id))).toEqual(new Set([1, 'two']));

    const inference = {
      name: 'run_inference',
      arguments: { model: 'heddle/echo', messages: [{ role: 'user', content: 'Hello' }], stream: true },
      _meta: { progressToken: 'p' },
    };
    const slow = [
      { jsonrpc: '2.0', id: 1, ...listQueues },
      { jsonrpc: '2.0', id: 2, method: 'tools/call', params: inference },
    ];
    const streamed = await ask(url, { headers, body: slow });
    expect([streamed.status, streamed.headers['content-type']]).toEqual([200, 'text/event-stream']);
    const messages = messagesOf(streamed.body);
    expect(messages.find(({ method }) => method)).toMatchObject({
      method: 'notifications/progress',
      params: { progressToken: 'p' },
    });
    expect(new Set(messages.filter(({ method }) => !method).map(({ id }) => id))).toEqual(new Set([1, 2]));
  });

  it('get a reason when a message of an older revision is refused', async () => {
    const { url } = await startHttp();
    const { headers } = olderRequest('ping');
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const refusalOf = async (body: unknown, more: object = {}): Promise<unknown> => {
      const answer = await ask(url, { headers: { ...headers, ...more }, body });
      return [answer.status, JSON.parse(answer.body).error];
    };
    expect(await refusalOf(Array(101).fill(ping))).toEqual([
      400,
      { code: -32_600, message: 'Invalid Request: Batch must not exceed 100 messages' },
    ]);
    expect(await refusalOf([ping, { jsonrpc: '2.0', id: 2 }])).toMatchObject([400, { code: -32_600 }]);
    const initialize = {
      jsonrpc: '2.0',
      id: 2,
      method: 'initialize',
      params: { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'test', version: '1.0.0' } },
    };
    expect(await refusalOf([ping, initialize])).toEqual([
      400,
      { code: -32_600, message: 'Invalid Request: Only one initialization request is allowed' },
    ]);
    expect(await refusalOf(ping, { 'mcp-protocol-version': '1999-01-01' })).toEqual([
      400,
      {
        code: -32_000,
        message:
          'Bad Request: Unsupported protocol version: 1999-01-01 (supported versions: 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05, 2024-10-07)',
      },
    ]);
    const notified = await ask(url, { headers, body: [{ jsonrpc: '2.0', method: 'notifications/initialized' }] });
    expect([notified.status, notified.body]).toEqual([202, '']);
  });
});
