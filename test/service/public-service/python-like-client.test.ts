import { describe, expect, it } from 'vitest';
import { basic, startTestService } from '../../support/embedded-service.ts';
import { PythonLikeClient, type TracedCall } from '../../support/python-like-client.ts';

const service = await startTestService();

/** Returns calls that start a microsecond after each other. */
function callsOf(count: number): TracedCall[] {
  return Array.from({ length: count }, (_, at) => ({
    id: crypto.randomUUID(),
    started_at: `2026-01-01T00:00:00.000${String(at).padStart(3, '0')}Z`,
    inputs: { at },
    output: `answer ${at}`,
  }));
}

describe('a client that records as the Python SDK does', () => {
  it('finds every call once and in order, though batches overtake each other and every third is sent twice', async () => {
    const client = new PythonLikeClient(service.running.url, basic, 'team/order', (batch) => batch % 3 === 0);
    const calls = callsOf(500);
    await client.record(calls);
    const read = (await client.lines()).map((line) => JSON.parse(line));
    expect(read.map(({ id }) => id)).toEqual(calls.map(({ id }) => id));
    expect(read.map(({ output }) => output)).toEqual(calls.map(({ output }) => output));
    const newest = await client.lines({ sort_by: [{ field: 'started_at', direction: 'desc' }], limit: 3 });
    expect(newest.map((line) => JSON.parse(line).inputs.at)).toEqual([499, 498, 497]);
  });

  it('reads a call in each line, whatever characters its text has', async () => {
    const client = new PythonLikeClient(service.running.url, basic, 'team/lines');
    const text = 'a\u0085b\u2028c\u2029d\ve\ff\u001cg\r\nh';
    await client.record([{ ...callsOf(1)[0]!, inputs: { [text]: text }, output: text }]);
    const [line = '', ...others] = await client.lines();
    expect(others).toEqual([]);
    expect(JSON.parse(line)).toMatchObject({ inputs: { [text]: text }, output: text });
  });
});
