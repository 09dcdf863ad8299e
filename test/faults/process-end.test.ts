import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { beginStream, chunked, sendGoodResponse, startFakeService } from '../support/fake-service.ts';
import { command, emptyHome, temporaryFolder } from '../support/heddle.ts';
import { LineClient } from '../support/line-client.ts';
import { tally } from '../support/tally.ts';

const initializeRequest = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } },
};

/** Starts a server process for a fake service, and returns ways to talk to both. */
async function start(extra: Record<string, string> = {}) {
  const service = await startFakeService();
  const server = new LineClient(temporaryFolder(), {
    ...service.environment,
    ...extra,
  });
  onTestFinished(() => void server.child.kill('SIGKILL'));
  await server.initialize();
  const call = (id: unknown, name: string, args: object) =>
    server.write(
      `${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } })}\n`,
    );
  /** Resolves to the next request that reaches the service, which does not respond to it. */
  const nextRequest = () =>
    new Promise<Parameters<typeof sendGoodResponse>[0]>((resolve) => {
      service.respond = resolve;
    });
  return { service, server, call, nextRequest };
}

const readCall = ['read_call', { call_id: 'c' }] as const;

describe('a server process on stdio', () => {
  it('answers the pending tool call at the end of its input, then exits', async () => {
    const { server, call, nextRequest } = await start();
    const arrived = nextRequest();
    call('last', ...readCall);
    const request = await arrived;
    const ended = server.end();
    sendGoodResponse(request);
    expect(await server.answerTo('last')).toHaveProperty('result');
    expect(await ended).toBe(0);
  });

  it('aborts a request that the service does not respond to at the end of its input, then exits', async () => {
    const { service, server, call, nextRequest } = await start();
    const arrived = nextRequest();
    call('never', ...readCall);
    const { socket } = await arrived;
    const closed = once(socket, 'close');
    expect(await server.end()).toBe(0);
    await closed;
    expect(service.requests).toHaveLength(1);
  });

  it('answers a last line without a line break', async () => {
    const { server } = await start();
    server.write('{"jsonrpc":"2.0","id":"cut","method":"ping"}');
    const ended = server.end();
    expect(await server.answerTo('cut')).toHaveProperty('result');
    expect(await ended).toBe(0);
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('answers the pending tool call after %s, then exits', async (signal) => {
    const { server, call, nextRequest } = await start();
    const arrived = nextRequest();
    call('last', ...readCall);
    const request = await arrived;
    const ended = once(server.child, 'close');
    server.child.kill(signal);
    expect(await server.ask({ id: 'after the signal', method: 'ping' })).toHaveProperty('result');
    sendGoodResponse(request);
    expect(await server.answerTo('last')).toHaveProperty('result');
    expect((await ended)[0]).toBe(0);
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('exits on %s in the middle of a streamed reply', async (signal) => {
    const { server, call, service } = await start();
    const streaming = new Promise<Parameters<typeof sendGoodResponse>[0]>((resolve) => {
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
    const server = new LineClient(temporaryFolder(), { HEDDLE_MODEL_PROVIDER_URL: modelProvider.url });
    onTestFinished(() => void server.child.kill('SIGKILL'));
    await server.initialize();
    server.write(
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_inference","arguments":{"model":"m"}}}\n',
    );
    await asked;
    const ended = once(server.child, 'close');
    server.child.kill('SIGTERM');
    expect((await ended)[0]).toBe(0);
    // The embedded service waits ten seconds for other clients; here nobody is left to read the response.
  }, 9_000);

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

  it('logs an uncaught error as one line without secrets, and keeps running', async () => {
    const folder = temporaryFolder();
    const throwing = [
      "setTimeout(() => { throw new Error('lost: password-of-user\\nsecond line') }, 20);",
      "setTimeout(() => Promise.reject(new Error('forgotten: password-of-user')), 40);",
      "setTimeout(() => Promise.reject('no error: password-of-user'), 60);",
    ].join('');
    const { server, service } = await start({
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(`process.on('SIGUSR2', () => { ${throwing} })`)}`,
      HOME: folder,
    });
    service.respond = (request) => sendGoodResponse(request);
    const logged = new Promise<void>((resolve) => {
      server.child.stderr!.on('data', () => {
        if (server.stderr.trim().split('\n').length >= 3) resolve();
      });
    });
    server.child.kill('SIGUSR2');
    await logged;
    const lines = server.stderr.trim().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({
        level: 'error',
        message: 'uncaught',
        error: expect.stringContaining('lost: [secret]\nsecond'),
      }),
      expect.objectContaining({
        level: 'error',
        message: 'uncaught',
        error: expect.stringContaining('forgotten: [secret]'),
      }),
      expect.objectContaining({
        level: 'error',
        message: 'uncaught',
        error: expect.stringContaining('no error: [secret]'),
      }),
    ]);
    expect((await server.ask({ id: 'on', method: 'ping' })).result).toBeDefined();
    const { result } = await server.ask({
      id: 'work',
      method: 'tools/call',
      params: { name: 'read_call', arguments: { call_id: 'c' } },
    });
    expect(result).not.toHaveProperty('isError');
    expect(await server.end()).toBe(0);
  });

  it('leaves no child process behind', async () => {
    const folder = temporaryFolder();
    const server = new LineClient(folder);
    await server.initialize();
    await server.ask({ id: 1, method: 'tools/call', params: { name: 'list_queues', arguments: {} } });
    const { pid } = server.child;
    expect(await server.end()).toBe(0);
    if (process.platform === 'linux') {
      const processes = execFileSync('ps', ['-e', '-o', 'pid=,ppid='], { encoding: 'utf8' });
      expect(processes.split('\n').filter((line) => line.trim().split(/\s+/).includes(String(pid)))).toEqual([]);
    }
    tally('faults', 10);
  });
});
