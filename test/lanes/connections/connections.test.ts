import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { endpoints } from '../../../src/contract/endpoints.ts';
import { toolNames } from '../../pins/tools.ts';
import { exampleFor } from '../../support/call-every-tool.ts';
import {
  type FakeService,
  type RecordedRequest,
  sendGoodResponse,
  sendResponse,
  startFakeService,
} from '../../support/fake-service.ts';
import { unrepeatable } from '../../support/fault-table.ts';
import { freePort } from '../../support/free-port.ts';
import { routeOf } from '../../support/good-responses.ts';
import { selfSigned } from '../../support/self-signed.ts';
import { tally } from '../../support/tally.ts';
import { startToolServer, type ToolOutcome } from '../../support/tool-server.ts';

const tools = toolNames;
afterAll(() => tally('faults', 9 * tools.length));

async function faultService(certificate?: typeof selfSigned): Promise<FakeService> {
  const service = await startFakeService(certificate ? { certificate } : {});
  return service;
}

async function toolServer(url: string, extra: Record<string, string> = {}) {
  const server = await startToolServer(url, extra);
  onTestFinished(() => server.client.close());
  return server;
}

/** Tools whose first request must not be repeated. */
const sendsAtOnce = ['run_inference', 'claim_queue_items'];

/** Calls all tools at once and returns their outcomes. */
async function callAll({ call }: Awaited<ReturnType<typeof startToolServer>>): Promise<[string, ToolOutcome][]> {
  return Promise.all(tools.map(async (tool) => [tool, await call(tool, exampleFor(tool))] as [string, ToolOutcome]));
}

describe('a connection to the service', () => {
  it('that is refused is tried again for every tool, since nothing can have been carried out', async () => {
    const server = await toolServer(`http://127.0.0.1:${await freePort()}`, { HEDDLE_LOG_LEVEL: 'info' });
    for (const [, outcome] of await callAll(server)) {
      expect(outcome).toMatchObject({
        code: 'network',
        retryable: true,
        hint: expect.stringContaining('then try again'),
      });
    }
    expect(server.log().match(/"retrying"/g)).toHaveLength(2 * tools.length);
  });

  it('to a name that does not exist is a retryable network error', async () => {
    const server = await toolServer('http://nobody.invalid', { HEDDLE_LOG_LEVEL: 'info' });
    for (const [, outcome] of await callAll(server))
      expect(outcome).toMatchObject({ code: 'network', retryable: true });
  });

  it('that is reset before a response is tried again only for repeatable requests', async () => {
    const service = await faultService();
    const server = await toolServer(service.url);
    let connections = 0;
    service.onConnection = (socket) => {
      connections += 1;
      socket.resetAndDestroy();
    };
    for (const tool of tools) {
      connections = 0;
      // A stored prompt would be looked up first, which is repeatable.
      const inference = { model: 'heddle/echo', messages: [{ role: 'user', content: 'Hi' }] };
      const outcome = await server.call(tool, tool === 'run_inference' ? inference : exampleFor(tool));
      // The others that are not repeatable first look up what they name.
      expect([tool, outcome.code, connections]).toEqual([tool, 'network', sendsAtOnce.includes(tool) ? 1 : 3]);
    }
  });

  it('with an invalid certificate fails before a request is sent', async () => {
    const service = await faultService(selfSigned);
    const server = await toolServer(service.url);
    for (const [, outcome] of await callAll(server)) {
      expect(outcome).toMatchObject({ code: 'network', retryable: false });
      expect(outcome.hint).toContain('certificate');
    }
    expect(service.requests).toEqual([]);
  });

  it('fails before a request is sent when only one side speaks TLS', async () => {
    const [plain, secure] = await Promise.all([faultService(), faultService(selfSigned)]);
    // Like a server that receives no HTTP request.
    plain.onConnection = (socket) => socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    const servers = await Promise.all([
      toolServer(`https://127.0.0.1:${plain.port}`),
      toolServer(`http://127.0.0.1:${secure.port}`),
    ]);
    const [toPlain, toSecure] = await Promise.all(servers.map(callAll));
    for (const [, outcome] of toPlain!) expect(outcome).toMatchObject({ code: 'network', retryable: false });
    for (const [, outcome] of toSecure!) expect(['network', 'bad_response']).toContain(outcome.code);
    expect([...plain.requests, ...secure.requests]).toEqual([]);
  });

  it('never follows a redirect to another host', async () => {
    const [service, other] = await Promise.all([faultService(), faultService()]);
    let connections = 0;
    other.onConnection = () => {
      connections += 1;
    };
    const server = await toolServer(service.url);
    for (const status of [301, 302, 303, 307, 308]) {
      service.respond = (request) =>
        sendResponse(request, status, '', { location: `http://localhost:${other.port}${request.path}` });
      for (const [, outcome] of await callAll(server)) {
        expect(outcome).toMatchObject({ code: 'bad_response', retryable: false, status });
      }
    }
    expect(connections).toBe(0);
    expect(service.requests).toHaveLength(5 * tools.length);
  });

  it('that the service closed while idle is replaced without an error', async () => {
    const service = await faultService();
    const server = await toolServer(service.url);
    for (let round = 0; round < 3; round += 1) {
      for (const [tool, outcome] of await callAll(server)) expect([tool, outcome.code]).toEqual([tool, 'ok']);
      const closed = [...service.sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve)));
      for (const socket of service.sockets) socket.end();
      await Promise.all(closed);
    }
  });

  it('that closes just as the next request arrives is tried again only for repeatable requests', async () => {
    const service = await faultService();
    const servers = [await toolServer(service.url), await toolServer(service.url)];
    const used = new WeakSet<object>();
    service.respond = (request: RecordedRequest) => {
      if (used.has(request.socket)) request.socket.resetAndDestroy();
      else sendGoodResponse(request);
      used.add(request.socket);
    };
    for (const tool of tools) {
      // Some tools leave two connections open, of which the request of run_inference could get the one that is not closed.
      const server = servers[tool === 'run_inference' ? 1 : 0]!;
      // Makes sure that there is an open connection.
      await server.call('read_call', exampleFor('read_call'));
      service.requests.length = 0;
      const { code } = await server.call(tool, exampleFor(tool));
      // After look-ups, a request may get a new one.
      const mayGetNew = unrepeatable.has(tool) && tool !== 'run_inference';
      if (!mayGetNew) expect([tool, code]).toEqual([tool, unrepeatable.has(tool) ? 'network' : 'ok']);
      if (unrepeatable.has(tool)) {
        const sent = service.requests.filter((request) => !endpoints[routeOf(request)!.name].repeatable);
        if (sent.length > 1) tally('doubled', 1);
        expect(sent).toHaveLength(1);
      }
    }
  });

  it('counts towards a limit of 32, however many calls run at once', async () => {
    const service = await faultService();
    const server = await toolServer(service.url);
    let most = 0;
    service.respond = (request) => {
      most = Math.max(most, service.sockets.size);
      setImmediate(() => sendGoodResponse(request));
    };
    const results = await Promise.all(
      Array.from({ length: 300 }, () => server.call('read_call', exampleFor('read_call'))),
    );
    expect(new Set(results.map(({ code }) => code))).toEqual(new Set(['ok']));
    expect(most).toBeGreaterThan(4);
    expect(most).toBeLessThanOrEqual(32);
  });
});
