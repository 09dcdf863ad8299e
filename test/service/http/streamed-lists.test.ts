import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { basic, execute, startTestService } from '../../support/embedded-service.ts';

const calls = 1600;
const text = 'x'.repeat(20_000);

/** Starts a service with more calls than the buffers between it and a client hold. */
async function startWithCalls() {
  const logged: string[] = [];
  const service = await startTestService({ log: (_level, message) => void logged.push(message) });
  for (let first = 0; first < calls; first += 400) {
    const batch = Array.from({ length: 400 }, (_, index) => {
      const id = `c${first + index}`;
      const start = { project_id: 'p/q', id, op_name: 'op', started_at: '2026-01-01T00:00:00Z', attributes: {} };
      return { mode: 'start', req: { start: { ...start, inputs: { text } } } };
    });
    expect((await service.send('POST', '/call/upsert_batch', basic, { batch })).status).toBe(200);
  }
  const query = (signal?: AbortSignal) =>
    fetch(`${service.running.url}/calls/stream_query`, {
      method: 'POST',
      headers: { authorization: basic, 'content-type': 'application/json' },
      body: JSON.stringify({ project_id: 'p/q' }),
      ...(signal && { signal }),
    });
  return { service, query, logged };
}

describe('a list that is sent while it is read', () => {
  it('reaches a client that reads it, whole', async () => {
    const { query } = await startWithCalls();
    const response = await query();
    expect(response.headers.get('content-type')).toBe('application/x-ndjson');
    const lines = (await response.text()).split('\n');
    expect(lines.pop()).toBe('');
    expect(new Set(lines.map((line) => JSON.parse(line).id)).size).toBe(calls);
  });

  it('waits for a client that does not read, without keeping others waiting, and ends when the client leaves', async () => {
    const { service, logged } = await startWithCalls();
    const { port } = new URL(service.running.url);
    const body = JSON.stringify({ project_id: 'p/q' });
    const socket = connect(Number(port), '127.0.0.1');
    const head = `POST /calls/stream_query HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${basic}`;
    socket.write(`${head}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    await once(socket, 'data');
    socket.pause();
    const count = await service.send('POST', '/calls/query_stats', basic, { project_id: 'p/q' });
    expect(count.body).toEqual({ count: calls });
    const start = { project_id: 'p/q', id: 'late', op_name: 'op', started_at: '2026-01-02T00:00:00Z' };
    const late = { start: { ...start, attributes: {}, inputs: {} } };
    expect((await service.send('POST', '/call/start', basic, late)).status).toBe(200);
    expect(logged.filter((message) => message === 'request served')).toHaveLength(6);
    socket.destroy();
    await expect.poll(() => logged.filter((message) => message === 'request served')).toHaveLength(7);
    expect(logged).not.toContain('list interrupted');
  });

  it('breaks the connection when it cannot go on, so that nobody takes a part for the whole', async () => {
    const { service, query, logged } = await startWithCalls();
    const response = await query();
    expect(response.status).toBe(200);
    await execute(service.data, 'alter table calls rename to lost');
    await expect(response.text()).rejects.toThrow('terminated');
    expect(logged).toContain('list interrupted');
    await execute(service.data, 'alter table lost rename to calls');
  });
});
