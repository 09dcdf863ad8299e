import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { basic, execute, startTestService } from '../../support/embedded-service.ts';

// More than the buffers between the service and a client hold.
const calls = 1000;
const text = 'x'.repeat(20_000);

const logged: string[] = [];
/** The operations of the requests that were served, in their order. */
const served: unknown[] = [];
const service = await startTestService({
  log: (_level, message, ...fields) => {
    logged.push(message);
    if (message === 'request served') served.push(Object.assign({}, ...fields).operation);
  },
});
const entries = Array.from({ length: calls }, (_, index) => {
  const start = { project_id: 'p/q', id: `c${index}`, op_name: 'op', started_at: '2026-01-01T00:00:00Z' };
  return { mode: 'start', req: { start: { ...start, attributes: {}, inputs: { text } } } };
});
const { status } = await service.send('POST', '/call/upsert_batch', basic, { batch: entries });
if (status !== 200) throw new Error(`the calls are not recorded: ${status}`);

const body = JSON.stringify({ project_id: 'p/q' });
const query = () =>
  fetch(`${service.running.url}/calls/stream_query`, {
    method: 'POST',
    headers: { authorization: basic, 'content-type': 'application/json' },
    body,
  });

describe('POST /calls/stream_query', () => {
  it('sends every call to a client that reads', async () => {
    const response = await query();
    expect(response.headers.get('content-type')).toBe('application/x-ndjson');
    const lines = (await response.text()).split('\n');
    expect(lines.pop()).toBe('');
    expect(new Set(lines.map((line) => JSON.parse(line).id)).size).toBe(calls);
    await expect.poll(() => served.at(-1)).toBe('queryCalls');
  });

  /** Sends the query over a connection of its own, and waits for the first part of the list. */
  async function startReading() {
    const { port } = new URL(service.running.url);
    const socket = connect(Number(port), '127.0.0.1');
    const head = `POST /calls/stream_query HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${basic}`;
    socket.write(`${head}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    await once(socket, 'data');
    return socket;
  }

  it('waits for a client that does not read, answers others meanwhile, and ends when the client disconnects', async () => {
    const socket = await startReading();
    socket.pause();
    const count = await service.send('POST', '/calls/query_stats', basic, { project_id: 'p/q' });
    expect(count.body).toEqual({ count: calls });
    const start = { project_id: 'p/q', id: 'late', op_name: 'op', started_at: '2026-01-02T00:00:00Z' };
    const late = { start: { ...start, attributes: {}, inputs: {} } };
    expect((await service.send('POST', '/call/start', basic, late)).status).toBe(200);
    expect(served.slice(-2)).toEqual(['countCalls', 'startCall']);
    socket.destroy();
    await expect.poll(() => served.at(-1)).toBe('queryCalls');
    expect(logged).not.toContain('response interrupted');
  });

  it('ends without an error when the client disconnects while the list is read', async () => {
    const before = served.length;
    for (const reads of [0, 30, 60, 90, 120, 150, 180]) {
      const socket = await startReading();
      for (let read = 0; read < reads; read += 1) await once(socket, 'data');
      socket.destroy();
    }
    await expect.poll(() => served.length).toBe(before + 7);
    expect(logged).not.toContain('response interrupted');
  });

  it('breaks the connection when the list cannot be read further, so that a part does not look complete', async () => {
    const response = await query();
    expect(response.status).toBe(200);
    await execute(service.data, 'alter table calls rename to lost');
    await expect(response.text()).rejects.toThrow('terminated');
    expect(logged).toContain('response interrupted');
    await execute(service.data, 'alter table lost rename to calls');
  });
});

describe('POST /refs/read_batch', () => {
  it('sends a long result in parts, and a short one whole', async () => {
    const val = { text, odd: [null, 1.5], empty: {} };
    const obj = { project_id: 'p/q', object_id: 'o', val };
    const { digest } = (await service.send('POST', '/obj/create', basic, { obj })).body;
    const readParts = async (count: number) => {
      const refs = Array.from({ length: count }, () => `weave:///p/q/object/o:${digest}`);
      const response = await fetch(`${service.running.url}/refs/read_batch`, {
        method: 'POST',
        headers: { authorization: basic, 'content-type': 'application/json' },
        body: JSON.stringify({ refs }),
      });
      const { vals } = (await response.json()) as { vals: unknown[] };
      return { isWhole: response.headers.has('content-length'), vals };
    };
    expect(await readParts(2)).toEqual({ isWhole: true, vals: [val, val] });
    expect(await readParts(30)).toEqual({ isWhole: false, vals: Array.from({ length: 30 }, () => val) });
  });
});
