import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../support/heddle.ts';
import { LineProcess } from '../../support/line-client.ts';

const requests = [
  { id: 1, method: 'tools/list' },
  { id: 2, method: 'tools/call', params: { name: 'query_queue_items', arguments: { queue_id: 'q' } } },
  { id: 3, method: 'tools/call', params: { name: 'run_inference', arguments: { model: 'm' } } },
  { id: 4, method: 'no/such/method' },
];

/** Sends the requests with garbage between them, and returns everything that the server wrote until it ended. */
async function talk(extra: Record<string, string> = {}): Promise<{ stdout: string; stderr: string; code: unknown }> {
  const server = new LineProcess(temporaryFolder(), { HEDDLE_LOG_LEVEL: 'debug', ...extra });
  onTestFinished(() => void server.child.kill('SIGKILL'));
  let stdout = '';
  server.stdout.on('data', (bytes) => {
    stdout += bytes;
  });
  await server.initialize();
  const answers = requests.map((request) => {
    server.write('not json\n');
    return server.ask(request);
  });
  await Promise.all(answers);
  const code = await server.end();
  return { stdout, stderr: server.stderr, code };
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
    const { stdout, stderr, code } = await talk();
    expect(idsOf(stdout)).toEqual([1, 2, 3, 4, 'start']);
    expect(stderr).toContain('"level":"debug"');
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
      HEDDLE_BASE_URL: `http://127.0.0.1:${(service.address() as AddressInfo).port}`,
      HEDDLE_PROJECT: 'a/b',
      HEDDLE_USERNAME: 'u',
      HEDDLE_PASSWORD: 'p-secret-1',
      HEDDLE_TOKEN: 't-secret-1',
    });
    expect(idsOf(stdout)).toEqual([1, 2, 3, 4, 'start']);
    expect(stdout).toContain('service_unavailable');
    expect(stdout).toContain('\\"code\\":\\"network\\"');
    expect(code).toBe(0);
  });
});
