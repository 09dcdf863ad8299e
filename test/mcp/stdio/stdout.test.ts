import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { sendResponse, startFakeService } from '../../support/fake-service.ts';
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

/** Sends the lines and garbage between them, closes stdin, and returns all that the server wrote. */
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

test('stdout holds protocol lines only, also with debug logs', async () => {
  const { stdout, stderr, code } = await talk({ HEDDLE_LOG_LEVEL: 'debug' });
  expect(idsOf(stdout)).toEqual([0, 1, 2, 3, 4]);
  expect(stderr).toContain(' debug ');
  expect(code).toBe(0);
});

test('stdout holds protocol lines only when the service fails', async () => {
  const service = await startFakeService();
  service.respond = (request) => {
    if (request.path.startsWith('/inference')) request.socket.destroy();
    else sendResponse(request, 500, '<h1>broken</h1>', { 'content-type': 'text/html' });
  };
  const { stdout, code } = await talk({
    HEDDLE_LOG_LEVEL: 'debug',
    HEDDLE_BASE_URL: service.url,
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
