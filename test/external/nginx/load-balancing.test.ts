import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type AnyClient, exampleFor } from '../../support/call-every-tool.ts';
import { temporaryFolder } from '../../support/heddle.ts';
import { startHttpProcess } from '../../support/http-server.ts';
import { hasNginx, startBalancer, trustingFetch } from '../../support/start-nginx.ts';

type Fetch = typeof globalThis.fetch;

async function newer(url: URL, fetch: Fetch, mode: 'legacy' | { pin: string }): Promise<AnyClient> {
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(url, { fetch }));
  return client as AnyClient;
}

async function older(url: URL, fetch: Fetch): Promise<AnyClient> {
  const client = new OlderClient({ name: 'test', version: '1.0.0' });
  await client.connect(new OlderTransport(url, { fetch }));
  return client as unknown as AnyClient;
}

interface Tally {
  calls: number;
  /** Calls that failed and succeeded when repeated. */
  repeated: string[];
  /** Calls that failed and must not be repeated. */
  notRepeatable: string[];
  /** Repeatable calls that failed every time. */
  lost: string[];
}

/** Calls a tool, and again after a failure if the tool's hints allow that. */
async function call(client: AnyClient, tool: Tool, tally: Tally): Promise<void> {
  const { name, annotations } = tool;
  const repeatable = annotations.readOnlyHint || annotations.idempotentHint;
  for (let attempt = 1; attempt <= 3; attempt++) {
    try {
      const result = (await client.callTool({ name, arguments: exampleFor(name) })) as { isError?: boolean };
      if (result.isError) throw new Error(JSON.stringify(result));
      tally.calls += 1;
      if (attempt > 1) tally.repeated.push(name);
      return;
    } catch (error) {
      if (!repeatable) {
        tally.notRepeatable.push(`${name}: ${error}`);
        return;
      }
      if (attempt === 3) tally.lost.push(`${name}: ${error}`);
    }
  }
}

interface Tool {
  name: string;
  annotations: { readOnlyHint: boolean; idempotentHint: boolean };
}

describe.skipIf(!hasNginx)('two servers behind nginx', () => {
  it('serve every kind of client, and lose no repeatable call when one is killed', async () => {
    const data = temporaryFolder();
    const [doomed, survivor] = await Promise.all([
      startHttpProcess(['--data-dir', data]),
      startHttpProcess(['--data-dir', data]),
    ]);
    const { origin, servedBy } = await startBalancer([doomed.url, survivor.url]);
    const url = new URL('/mcp', origin);
    const fetch = trustingFetch();
    const connecting = [1, 2].flatMap(() => [
      newer(url, fetch, { pin: '2026-07-28' }),
      newer(url, fetch, 'legacy'),
      older(url, fetch),
    ]);
    const clients = await Promise.all(connecting);
    onTestFinished(async () => {
      await Promise.all(clients.map((client) => client.close()));
    });

    const tally: Tally = { calls: 0, repeated: [], notRepeatable: [], lost: [] };
    const rounds = async (count: number): Promise<void> => {
      await Promise.all(
        clients.map(async (client) => {
          const { tools } = (await client.listTools()) as { tools: Tool[] };
          for (let round = 0; round < count; round++) {
            for (const tool of tools) await call(client, tool, tally);
          }
        }),
      );
    };

    await rounds(2);
    const host = (server: { url: string }): string => new URL(server.url).host;
    const share = servedBy().filter((address) => address === host(doomed)).length / servedBy().length;
    // nginx prefers the server with fewer running calls, and so the faster one.
    expect(share).toBeGreaterThan(0.2);
    expect(share).toBeLessThan(0.8);
    expect({ repeated: tally.repeated, notRepeatable: tally.notRepeatable }).toEqual({
      repeated: [],
      notRepeatable: [],
    });

    const during = rounds(4);
    const soon = tally.calls + 40;
    await expect.poll(() => tally.calls, { interval: 5 }).toBeGreaterThan(soon);
    doomed.child.kill('SIGKILL');
    await during;
    const servedDuring = servedBy().length;
    await rounds(1);

    expect(tally.lost).toEqual([]);
    // At most one call of each client was in the killed process.
    expect(tally.notRepeatable.length + tally.repeated.length).toBeLessThanOrEqual(clients.length);
    // nginx logs a request when its response ends, so lines around the kill have no useful order.
    expect(servedBy().slice(servedDuring)).not.toContain(host(doomed));
    console.log(
      `nginx: ${tally.calls} calls, ${tally.repeated.length} repeated after the kill, ${tally.notRepeatable.length} not repeatable, 0 lost`,
    );
  });
});
