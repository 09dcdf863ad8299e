import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { beginStream, chunked, type RecordedRequest, startFakeService } from '../../support/fake-service.ts';
import { command, emptyHome, temporaryFolder } from '../../support/heddle.ts';
import { LineProcess } from '../../support/line-client.ts';
import { startServingProcess } from '../../support/serving-process.ts';
import { tally } from '../../support/tally.ts';

const initializeRequest = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } },
};

const readCall = ['read_call', { call_id: 'c' }] as const;

describe('a server process on stdio', () => {
  it('aborts a request that the service does not respond to at the end of its input, then exits', async () => {
    const { service, server, call, nextRequest } = await startServingProcess();
    const arrived = nextRequest();
    call('never', ...readCall);
    const { socket } = await arrived;
    const closed = once(socket, 'close');
    expect(await server.end()).toBe(0);
    await closed;
    expect(service.requests).toHaveLength(1);
  });

  it('answers a last line without a line break', async () => {
    const { server } = await startServingProcess();
    server.write('{"jsonrpc":"2.0","id":"cut","method":"ping"}');
    const ended = server.end();
    expect(await server.answerTo('cut')).toHaveProperty('result');
    expect(await ended).toBe(0);
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('exits on %s in the middle of a streamed reply', async (signal) => {
    const { server, call, service } = await startServingProcess();
    const streaming = new Promise<RecordedRequest>((resolve) => {
      service.respond = (request) => {
        beginStream(request);
        request.socket.write(chunked(': working\n\n'), () => resolve(request));
      };
    });
    call('s', 'run_inference', { model: 'm', stream: true });
    const { socket } = await streaming;
    const closed = once(socket, 'close');
    const ended = once(server.child, 'close');
    server.child.kill(signal);
    expect((await ended)[0]).toBe(0);
    await closed;
  });

  it('exits on SIGTERM while the model provider of its embedded service does not respond', async () => {
    const modelProvider = await startFakeService();
    const asked = new Promise<void>((resolve) => {
      modelProvider.respond = () => resolve();
    });
    const server = new LineProcess(temporaryFolder(), { HEDDLE_MODEL_PROVIDER_URL: modelProvider.url });
    onTestFinished(() => void server.child.kill('SIGKILL'));
    await server.initialize();
    server.write(
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_inference","arguments":{"model":"m"}}}\n',
    );
    await asked;
    const ended = once(server.child, 'close');
    const killedAtMs = performance.now();
    server.child.kill('SIGTERM');
    expect((await ended)[0]).toBe(0);
    // The embedded service waits ten seconds for other clients; here no client is left to read the response.
    expect(performance.now() - killedAtMs).toBeLessThan(9_000);
  });

  it('exits on SIGTERM while its client does not read its responses', async () => {
    const child = spawn(process.execPath, [command], {
      env: emptyHome(temporaryFolder(), { HEDDLE_BASE_URL: 'http://127.0.0.1:1' }),
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    child.stdin.on('error', () => {});
    child.stdin.write(`${JSON.stringify(initializeRequest)}\n`);
    await once(child.stdout, 'readable');
    // Far more responses than the pipe and the buffers of both ends hold.
    const requests = Array.from({ length: 400 }, (_, id) => `{"jsonrpc":"2.0","id":${id + 1},"method":"tools/list"}\n`);
    child.stdin.write(requests.join(''));
    const unread = () => child.stdout.readableLength;
    await expect.poll(unread).toBeGreaterThanOrEqual(child.stdout.readableHighWaterMark);
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
    const responses = (await text(child.stdout)).split('\n').filter((line) => line.startsWith('{"'));
    expect(responses.length).toBeLessThan(requests.length);
  });

  it('answers and exits as usual when stderr is closed', async () => {
    const child = spawn(process.execPath, [command, 'serve', '--log-level', 'info'], {
      env: emptyHome(temporaryFolder(), { HEDDLE_BASE_URL: 'http://127.0.0.1:1' }),
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    child.stderr.destroy();
    const answers = createInterface({ input: child.stdout });
    const ended = once(child, 'exit');
    child.stdin.write(`${JSON.stringify(initializeRequest)}\n`);
    await once(answers, 'line');
    for (const id of [1, 2, 3]) {
      const call = {
        jsonrpc: '2.0',
        id,
        method: 'tools/call',
        params: { name: 'list_queues', arguments: { limit: -1 } },
      };
      child.stdin.write(`${JSON.stringify(call)}\n`);
      const [line] = await once(answers, 'line');
      expect(JSON.parse(line)).toMatchObject({ id, result: { isError: true } });
    }
    child.stdin.end();
    expect(await ended).toEqual([0, null]);
  });

  it('leaves no child process behind', async () => {
    const server = new LineProcess(temporaryFolder());
    await server.initialize();
    await server.ask({ id: 1, method: 'tools/call', params: { name: 'list_queues', arguments: {} } });
    const { pid } = server.child;
    expect(await server.end()).toBe(0);
    if (process.platform === 'linux') {
      const processes = execFileSync('ps', ['-e', '-o', 'pid=,ppid='], { encoding: 'utf8' });
      expect(processes.split('\n').filter((line) => line.trim().split(/\s+/).includes(String(pid)))).toEqual([]);
    }
    tally('faults', 8);
  });
});
