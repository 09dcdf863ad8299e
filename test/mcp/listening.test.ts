import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { httpLimits } from '../../src/mcp/http/http-limits.ts';
import { connectClient, startServer } from '../support/client.ts';
import { emptyHome, temporaryFolder } from '../support/heddle.ts';
import { startHttp } from '../support/http-server.ts';
import { importNumberedQueue } from '../support/numbered-queue.ts';
import { startScriptedModel } from '../support/scripted-model.ts';

const mode = { pin: '2026-07-28' };
const queue = 'heddle://demo/support/queues/q';
const sampleQueue = 'heddle://demo/support/queues/support-triage';

/** Collects the addresses of which a client hears; `next` resolves to the first one not yet taken. */
function updatesOf(client: Client): { next: () => Promise<string>; untaken: string[] } {
  const untaken: string[] = [];
  let arrived = (): void => {};
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
    untaken.push(params.uri);
    arrived();
  });
  const next = async (): Promise<string> => {
    if (untaken.length === 0) await new Promise<void>((resolve) => (arrived = resolve));
    return untaken.shift()!;
  };
  return { next, untaken };
}

async function readJson(client: Client, uri: string) {
  const [content] = (await client.readResource({ uri })).contents;
  return JSON.parse((content as { text: string }).text);
}

describe('a client that listens', () => {
  it('hears of the changes of its queues, whoever makes them, until it stops', async () => {
    const server = startServer(await importNumberedQueue(3));
    const { client } = await server.connect({ mode });
    const other = await server.connect();
    const { items } = await other.call('query_queue_items', { queue_id: 'q' });
    const { next, untaken } = updatesOf(client);
    const first = await client.listen({ resourceSubscriptions: [queue] });
    const judge = (index: number, judgements: object) =>
      other.call('update_queue_items', { queue_id: 'q', items: [{ item_id: items[index].id, judgements }] });
    // A judgement alone changes no count of the queue.
    await judge(0, { tone: 'warm' });
    expect(await next()).toBe(queue);
    await other.call('update_queue_items', { queue_id: 'q', filter: {}, change: { annotation_state: 'skipped' } });
    expect(await next()).toBe(queue);
    expect(await readJson(client, queue)).toMatchObject({ completed_items: 3 });
    await first.close();
    const second = await client.listen({ resourceSubscriptions: [`${queue}/judgements.csv`] });
    untaken.length = 0;
    await judge(1, { tone: 'cold' });
    expect(await next()).toBe(`${queue}/judgements.csv`);
    await second.close();
  });

  it('hears of a queue that it names by its name', async () => {
    const server = startServer(emptyHome(temporaryFolder()));
    const { client } = await server.connect({ mode });
    const { call } = await server.connect();
    const { queue_id } = await call('create_queue', { name: 'Guest replies' });
    const { next } = updatesOf(client);
    const named = 'heddle://demo/support/queues/Guest%20replies';
    const subscription = await client.listen({ resourceSubscriptions: [named] });
    expect(subscription.honoredFilter).toEqual({ resourceSubscriptions: [named] });
    await call('update_queue', { queue_id, guidelines: 'Be kind.' });
    expect(await next()).toBe(named);
  });

  it('hears how a run goes on and that it has ended', async () => {
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const model = await startScriptedModel(async () => {
      await held;
      return 'Yes';
    });
    const home = emptyHome(temporaryFolder(), { HEDDLE_MODEL_PROVIDER_URL: model.url });
    const { client, call } = await connectClient(home, { mode });
    await call('create_evaluation', { name: 'Echo', dataset: 'tickets' });
    const { next } = updatesOf(client);
    let uri = '';
    const started = new Promise<void>((resolve) => {
      const run = { evaluation: 'Echo', model: 'small', prompt: '{question}' };
      const ended = client.callTool(
        { name: 'run_evaluation', arguments: run },
        {
          onprogress: ({ message }) => {
            uri = `heddle://demo/support/runs/${/run_id (\S+):/.exec(message!)![1]}`;
            resolve();
          },
        },
      );
      onTestFinished(async () => void (await ended));
    });
    await started;
    await client.listen({ resourceSubscriptions: [uri] });
    expect(await readJson(client, uri)).toMatchObject({ code: 'running', completed_rows: 0 });
    release();
    do expect(await next()).toBe(uri);
    while ((await readJson(client, uri)).code === 'running');
    expect(await readJson(client, uri)).toMatchObject({ code: 'complete', run_id: expect.any(String) });
  });

  it('is told which of its resources are watched', async () => {
    const { client } = await connectClient(emptyHome(temporaryFolder()), { mode });
    const call = 'heddle://demo/support/calls/call-1';
    const subscription = await client.listen({
      toolsListChanged: true,
      resourceSubscriptions: [sampleQueue, call, 'file:///etc/passwd', sampleQueue],
    });
    expect(subscription.honoredFilter).toEqual({ resourceSubscriptions: [sampleQueue] });
  });

  it('hears of changes over HTTP too, until the server ends its stream', async () => {
    const { url, signal } = await startHttp();
    const connect = async (): Promise<Client> => {
      const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
      await client.connect(new StreamableHTTPClientTransport(new URL(url)));
      onTestFinished(() => client.close());
      return client;
    };
    const [client, other] = [await connect(), await connect()];
    const { next } = updatesOf(client);
    const { untaken: heardByOther } = updatesOf(other);
    const subscription = await client.listen({ resourceSubscriptions: [sampleQueue] });
    const change = { queue_id: 'support-triage', guidelines: 'Be kind.' };
    expect((await other.callTool({ name: 'update_queue', arguments: change })).isError).toBeFalsy();
    expect(await next()).toBe(sampleQueue);
    expect(heardByOther).toEqual([]);
    signal('SIGTERM');
    expect(await subscription.closed).toBe('graceful');
  });

  it('is refused over HTTP when too many listen, and not after one of them has stopped', async () => {
    const { maxSubscriptions } = httpLimits;
    httpLimits.maxSubscriptions = 1;
    onTestFinished(() => void Object.assign(httpLimits, { maxSubscriptions }));
    const { url } = await startHttp();
    const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    onTestFinished(() => client.close());
    const first = await client.listen({ resourceSubscriptions: [sampleQueue] });
    await expect(client.listen({ resourceSubscriptions: [sampleQueue] })).rejects.toThrow(/too many|busy/i);
    await first.close();
    await vi.waitFor(() => client.listen({ resourceSubscriptions: [sampleQueue] }), 60_000);
  });
});

describe('a client that does not listen', () => {
  it('sees the capability in the revision that has it alone', async () => {
    const server = startServer(emptyHome(temporaryFolder()));
    const older = await server.connect();
    expect(older.client.getServerCapabilities()).toMatchObject({ resources: { listChanged: false } });
    expect(older.client.getServerCapabilities()?.resources).not.toHaveProperty('subscribe');
    const newer = await server.connect({ mode });
    expect(newer.client.getServerCapabilities()).toMatchObject({ resources: { subscribe: true } });
  });
});
