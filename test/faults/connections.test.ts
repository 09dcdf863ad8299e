import { afterAll, expect, onTestFinished, test } from 'vitest';
import {
  type FakeService,
  type RecordedRequest,
  sendGoodResponse,
  sendResponse,
  startFakeService,
} from '../support/fake-service.ts';
import { freePort } from '../support/free-port.ts';
import { temporaryFolder } from '../support/heddle.ts';
import { selfSigned } from '../support/self-signed.ts';
import { tally } from '../support/tally.ts';
import { startToolServer, type ToolOutcome, toolCalls, unrepeatable } from '../support/tool-server.ts';

const home = temporaryFolder();
const tools = Object.keys(toolCalls);
afterAll(() => tally('faults', 9 * tools.length));

async function faultService(certificate?: typeof selfSigned): Promise<FakeService> {
  const service = await startFakeService(certificate ? { certificate } : {});
  onTestFinished(() => service.stop());
  return service;
}

async function toolServer(url: string, extra: Record<string, string> = {}) {
  const server = await startToolServer(url, home, extra);
  onTestFinished(() => server.client.close());
  return server;
}

/** What each tool tells, all called at once. */
async function tellAll({ call }: Awaited<ReturnType<typeof startToolServer>>): Promise<[string, ToolOutcome][]> {
  return Promise.all(
    tools.map(async (tool) => [tool, await call(tool, toolCalls[tool]!('x'))] as [string, ToolOutcome]),
  );
}

test('nobody listens: sent again, whatever the call, since nothing can have been done', async () => {
  const server = await toolServer(`http://127.0.0.1:${await freePort()}`, { HEDDLE_LOG_LEVEL: 'info' });
  for (const [, told] of await tellAll(server)) {
    expect(told).toMatchObject({ code: 'network', retryable: true, hint: expect.stringContaining('then try again') });
  }
  expect(server.stderr().match(/"sending again"/g)).toHaveLength(2 * tools.length);
});

test('a name that does not exist', async () => {
  const server = await toolServer('http://nobody.invalid', { HEDDLE_LOG_LEVEL: 'info' });
  for (const [, told] of await tellAll(server)) expect(told).toMatchObject({ code: 'network', retryable: true });
});

test('reset before anything was read: what may not be done twice is not sent again', async () => {
  const service = await faultService();
  const server = await toolServer(service.url);
  let connections = 0;
  service.onConnection = (socket) => {
    connections += 1;
    socket.resetAndDestroy();
  };
  for (const tool of tools) {
    connections = 0;
    const told = await server.call(tool, toolCalls[tool]!('x'));
    expect([tool, told.code, connections]).toEqual([tool, 'network', unrepeatable.has(tool) ? 1 : 3]);
  }
});

test('a certificate that does not verify: nothing is sent', async () => {
  const service = await faultService(selfSigned);
  const server = await toolServer(service.url);
  for (const [, told] of await tellAll(server)) {
    expect(told).toMatchObject({ code: 'network', retryable: false });
    expect(told.hint).toContain('certificate');
  }
  expect(service.requests).toEqual([]);
});

test('TLS where there is none, and none where there is', async () => {
  const [plain, secure] = await Promise.all([faultService(), faultService(selfSigned)]);
  // What servers do that find no HTTP request.
  plain.onConnection = (socket) => socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  const servers = await Promise.all([
    toolServer(`https://127.0.0.1:${plain.port}`),
    toolServer(`http://127.0.0.1:${secure.port}`),
  ]);
  const [toPlain, toSecure] = await Promise.all(servers.map(tellAll));
  for (const [, told] of toPlain!) expect(told).toMatchObject({ code: 'network', retryable: false });
  for (const [, told] of toSecure!) expect(['network', 'bad_response']).toContain(told.code);
  expect([...plain.requests, ...secure.requests]).toEqual([]);
});

test('a redirect to another host: it never hears of it', async () => {
  const [service, other] = await Promise.all([faultService(), faultService()]);
  let connections = 0;
  other.onConnection = () => {
    connections += 1;
  };
  const server = await toolServer(service.url);
  for (const status of [301, 302, 303, 307, 308]) {
    service.respond = (request) =>
      sendResponse(request, status, '', { location: `http://localhost:${other.port}${request.path}` });
    for (const [, told] of await tellAll(server)) {
      expect(told).toMatchObject({ code: 'bad_response', retryable: false, status });
    }
  }
  expect(connections).toBe(0);
  expect(service.requests).toHaveLength(5 * tools.length);
});

test('idle connections that the service has closed are no failure', async () => {
  const service = await faultService();
  const server = await toolServer(service.url);
  for (let round = 0; round < 3; round += 1) {
    for (const [tool, told] of await tellAll(server)) expect([tool, told.code]).toEqual([tool, 'ok']);
    const closed = [...service.sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve)));
    for (const socket of service.sockets) socket.end();
    await Promise.all(closed);
  }
});

test('closed just when the next request comes: a safe one is sent again, another is told', async () => {
  const service = await faultService();
  const server = await toolServer(service.url);
  const used = new WeakSet<object>();
  service.respond = (request: RecordedRequest) => {
    if (used.has(request.socket)) request.socket.resetAndDestroy();
    else sendGoodResponse(request);
    used.add(request.socket);
  };
  for (const tool of tools) {
    // Makes sure that there is a connection to go on with.
    await server.call('read_call', toolCalls.read_call!('x'));
    service.requests.length = 0;
    const { code } = await server.call(tool, toolCalls[tool]!('x'));
    expect([tool, code]).toEqual([tool, unrepeatable.has(tool) ? 'network' : 'ok']);
    if (unrepeatable.has(tool)) {
      expect(service.requests).toHaveLength(1);
      if (service.requests.length > 1) tally('doubled', 1);
    }
  }
});

test('however many calls there are at once, connections are bounded', async () => {
  const service = await faultService();
  const server = await toolServer(service.url);
  let most = 0;
  service.respond = (request) => {
    most = Math.max(most, service.sockets.size);
    setImmediate(() => sendGoodResponse(request));
  };
  const results = await Promise.all(
    Array.from({ length: 300 }, () => server.call('read_call', toolCalls.read_call!('x'))),
  );
  expect(new Set(results.map(({ code }) => code))).toEqual(new Set(['ok']));
  expect(most).toBeGreaterThan(4);
  expect(most).toBeLessThanOrEqual(32);
});
