import { expect } from 'vitest';

/** Returns the recorded calls of the project `team/support` that a query finds at a service. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into calls of every shape
export async function callsAt(at: { url: string; password: string }, query: object = {}): Promise<any[]> {
  const response = await fetch(`${at.url}/calls/stream_query`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`:${at.password}`)}` },
    body: JSON.stringify({ project_id: 'team/support', ...query }),
  });
  expect(response.status).toBe(200);
  const lines = (await response.text()).split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line));
}

/** Returns the filter for the calls of an op that the SDK saved under a name. */
export function opNamed(name: string): object {
  return { op_names: [`weave:///team/support/op/${name}:*`] };
}
