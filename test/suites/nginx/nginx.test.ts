import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect, onTestFinished, test } from 'vitest';
import { type AnyClient, exampleFor } from '../../protocol/every-tool.ts';
import { ask, startHttp } from '../../protocol/http-process.ts';
import { temporaryFolder } from '../../support/heddle.ts';

const nginx = ['/usr/sbin/nginx', '/usr/bin/nginx', '/usr/local/bin/nginx'].find(existsSync);
if (!nginx) console.warn('SKIPPED: nginx is missing; `apt-get install nginx` installs it');

/** A balancer in front of the servers, round-robin, without affinity. Its log has the server of each request. */
async function startNginx(servers: string[]): Promise<{ url: string; servedBy: () => string[] }> {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'temp'));
  const port = await freePort();
  const addresses = servers.map((url) => new URL(url).host);
  writeFileSync(
    join(folder, 'nginx.conf'),
    `${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off;
worker_processes 1;
pid ${folder}/pid;
error_log ${folder}/error.log;
events { worker_connections 1024; }
http {
  log_format served '$upstream_addr $status';
  access_log ${folder}/access.log served;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/temp/${name};`).join(' ')}
  upstream heddle {
    ${addresses.map((address) => `server ${address};`).join(' ')}
    keepalive 16;
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://heddle;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
      proxy_read_timeout 600s;
    }
  }
}
`,
  );
  const child = spawn(nginx!, ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')], {
    stdio: 'inherit',
  });
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await once(child, 'exit');
  });
  const url = `http://127.0.0.1:${port}/mcp`;
  const healthy = () => ask(new URL('/healthz', url), { method: 'GET' }).then(({ status }) => status, String);
  await expect.poll(healthy, { timeout: 10_000 }).toBe(200);
  return {
    url,
    // A request that met the dead server first is logged with both, the one that answered last.
    servedBy: () =>
      readFileSync(join(folder, 'access.log'), 'utf8')
        .trim()
        .split('\n')
        .filter((line) => line.endsWith(' 200'))
        .map((line) => /(\S+) 200$/.exec(line)![1]!),
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function newer(url: string, mode: 'legacy' | { pin: string }): Promise<AnyClient> {
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return client as AnyClient;
}

async function older(url: string): Promise<AnyClient> {
  const client = new OlderClient({ name: 'test', version: '1.0.0' });
  await client.connect(new OlderTransport(new URL(url)));
  return client as unknown as AnyClient;
}

interface Tally {
  calls: number;
  /** Calls that failed and were made again, with success. */
  repeated: string[];
  /** Calls that failed and may not be made again. */
  notRepeatable: string[];
  /** Calls that the client may repeat and that failed all the same. */
  lost: string[];
}

/** One call as a careful client makes it: what the tool's hints allow is tried again. */
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

test.skipIf(!nginx)(
  'two processes behind nginx serve both kinds of client; after kill -9 of one no repeatable call is lost',
  async () => {
    const data = temporaryFolder();
    const [doomed, survivor] = await Promise.all([startHttp(['--data-dir', data]), startHttp(['--data-dir', data])]);
    const { url, servedBy } = await startNginx([doomed.url, survivor.url]);
    const connecting = [1, 2].flatMap(() => [newer(url, { pin: '2026-07-28' }), newer(url, 'legacy'), older(url)]);
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

    await rounds(5);
    const host = (server: { url: string }): string => new URL(server.url).host;
    const share = servedBy().filter((address) => address === host(doomed)).length / servedBy().length;
    expect(share).toBeGreaterThan(0.4);
    expect(share).toBeLessThan(0.6);
    expect({ repeated: tally.repeated, notRepeatable: tally.notRepeatable }).toEqual({
      repeated: [],
      notRepeatable: [],
    });

    const during = rounds(10);
    const soon = tally.calls + 40;
    await expect.poll(() => tally.calls, { timeout: 30_000, interval: 5 }).toBeGreaterThan(soon);
    doomed.child.kill('SIGKILL');
    await during;
    const servedDuring = servedBy().length;
    await rounds(2);

    expect(tally.lost).toEqual([]);
    // At most what was under way in the killed process: one call for each client.
    expect(tally.notRepeatable.length + tally.repeated.length).toBeLessThanOrEqual(clients.length);
    // A line is written when its answer ends, so the order of the lines around the kill says nothing.
    expect(servedBy().slice(servedDuring)).not.toContain(host(doomed));
    console.log(
      `nginx: ${tally.calls} calls, ${tally.repeated.length} repeated after the kill, ${tally.notRepeatable.length} not repeatable, 0 lost`,
    );
  },
);
