import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { command, emptyHome, temporaryFolder } from '../../support/heddle.ts';

const lines = [
  {
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } },
  },
  { jsonrpc: '2.0', method: 'notifications/initialized' },
  { jsonrpc: '2.0', id: 1, method: 'tools/list' },
  { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'query_queue_items', arguments: { queue_id: 'q' } } },
  { jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'run_inference', arguments: { model: 'm' } } },
  { jsonrpc: '2.0', id: 4, method: 'no/such/method' },
];

/** Sends the lines with garbage between them, closes stdin, and returns everything the server wrote. */
async function talk(extra: Record<string, string>): Promise<{ stdout: string; stderr: string; code: unknown }> {
  const child = spawn(process.execPath, [command], { env: emptyHome(temporaryFolder(), extra) });
  child.stdin.end(lines.map((line) => `${JSON.stringify(line)}\nnot json\n`).join(''));
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { stdout, stderr, code };
}

function idsOf(stdout: string): unknown[] {
  const messages = stdout.trimEnd().split('\n');
  return messages
    .map((line) => {
      const message = JSON.parse(line);
      expect(message.jsonrpc).toBe('2.0');
      return message.id;
    })
    .sort();
}

describe('stdout of the stdio server', () => {
  it('holds only protocol lines at log level debug', async () => {
    const { stdout, stderr, code } = await talk({ HEDDLE_LOG_LEVEL: 'debug' });
    expect(idsOf(stdout)).toEqual([0, 1, 2, 3, 4]);
    expect(stderr).toContain(' debug ');
    expect(code).toBe(0);
  });

  it('holds only protocol lines when the service fails', async () => {
    const service = createServer((request, response) => {
      if (request.url?.startsWith('/inference')) request.socket.destroy();
      else response.writeHead(500, { 'content-type': 'text/html' }).end('<h1>broken</h1>');
    });
    service.listen(0, '127.0.0.1');
    await once(service, 'listening');
    onTestFinished(() => void service.close());
    const { stdout, code } = await talk({
      HEDDLE_LOG_LEVEL: 'debug',
      HEDDLE_BASE_URL: `http://127.0.0.1:${(service.address() as AddressInfo).port}`,
      HEDDLE_PROJECT: 'a/b',
      HEDDLE_USERNAME: 'u',
      HEDDLE_PASSWORD: 'p-secret-1',
      HEDDLE_TOKEN: 't-secret-1',
      HEDDLE_TIMEOUT_MS: '800',
      HEDDLE_INFERENCE_TIMEOUT_MS: '800',
    });
    expect(idsOf(stdout)).toEqual([0, 1, 2, 3, 4]);
    expect(stdout).toContain('service_unavailable');
    expect(stdout).toContain('\\"code\\":\\"network\\"');
    expect(code).toBe(0);
  });
});
