import { connect } from 'node:net';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { caseCount } from '../support/cases.ts';
import { startFakeService } from '../support/fake-service.ts';
import { type Answer, ask, jsonHeaders, startHttp } from '../support/http-server.ts';
import { tally } from '../support/tally.ts';

const service = await startFakeService();
const { url, output } = await startHttp([], {
  HEDDLE_BASE_URL: service.url,
  HEDDLE_PROJECT: 'a/b',
  HEDDLE_USERNAME: 'u',
  HEDDLE_PASSWORD: 'password-of-user',
  HEDDLE_LOG_FORMAT: 'json',
});
const port = Number(new URL(url).port);
afterAll(() => expect(output.stderr).not.toMatch(/"level":"error"|password-of-user/));

const post = (body: string, headers: Record<string, string> = {}): Promise<Answer> =>
  ask(url, { headers: { ...jsonHeaders, ...headers }, body });

async function isWell(): Promise<void> {
  const { status, body } = await post('{"jsonrpc":"2.0","id":1,"method":"tools/list"}');
  expect(status).toBe(200);
  expect(body).toContain('read_call');
}

describe('HTTP server under hostile input', () => {
  it('answers arbitrary bytes or closes the connection', async () => {
    const runs = caseCount(100);
    const bytes = fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 400 }),
      fc
        .string({ unit: 'binary', maxLength: 200 })
        .map((text) => Buffer.from(`POST /mcp HTTP/1.1\r\nHost: localhost\r\n${text}\r\n\r\n`)),
    );
    await fc.assert(
      fc.asyncProperty(bytes, async (sent) => {
        const socket = connect(port, '127.0.0.1');
        const received = await new Promise<string>((resolve) => {
          let text = '';
          socket.on('data', (part) => {
            text += part.toString('latin1');
          });
          socket.on('error', () => {});
          socket.once('close', () => resolve(text));
          socket.end(sent);
        });
        expect(received === '' || received.startsWith('HTTP/1.1 ')).toBe(true);
      }),
      { numRuns: runs },
    );
    tally('property runs', runs);
    await isWell();
  });

  it('answers arbitrary JSON and text sent as a message', async () => {
    const runs = caseCount(200);
    const message = fc.record(
      {
        jsonrpc: fc.constantFrom('2.0', '1.0', 2),
        id: fc.oneof(fc.nat(), fc.string(), fc.constant(null), fc.jsonValue()),
        method: fc.oneof(
          fc.constantFrom('tools/call', 'tools/list', 'ping', 'initialize', 'prompts/get', 'constructor'),
          fc.jsonValue(),
        ),
        params: fc.oneof(fc.jsonValue(), fc.record({ name: fc.constant('read_call'), arguments: fc.jsonValue() })),
      },
      { requiredKeys: [] },
    );
    const body = fc.oneof(
      message.map((value) => JSON.stringify(value)),
      fc.array(message, { maxLength: 4 }).map((value) => JSON.stringify(value)),
      fc.json(),
      fc.string({ unit: 'binary' }),
    );
    await fc.assert(
      fc.asyncProperty(body, async (text) => {
        const { status } = await post(text);
        expect([200, 202, 400, 404, 405]).toContain(status);
      }),
      { numRuns: runs },
    );
    tally('property runs', runs);
    await isWell();
  });

  it('answers calls with deep nesting, inherited names, lone surrogates and huge numbers', async () => {
    const call = (args: string) =>
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_call","arguments":${args}}}`;
    for (const args of [
      `{"call_id":${'['.repeat(490)}${']'.repeat(490)}}`,
      '{"call_id":"\\ud800"}',
      '{"call_id":"c","max_value_chars":1e300}',
      '{"__proto__":{"call_id":"c"},"constructor":1}',
    ]) {
      const { status, body } = await post(call(args));
      expect(status).toBe(200);
      expect(body).toContain('content');
    }
    await isWell();
  });

  it('refuses deep nesting and long batches anywhere in a body', async () => {
    const deep = `${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`;
    for (const body of [
      `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${deep}}}`,
      `{"jsonrpc":"2.0","id":${deep},"method":"ping"}`,
      `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${deep}}}`,
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_call","arguments":{"call_id":${deep}}}}`,
      '['.repeat(4_000_000),
    ]) {
      const { status, body: answer } = await post(body, { 'mcp-session-id': 'session' });
      expect(status).toBe(400);
      expect(JSON.parse(answer).error).toEqual({
        code: -32_700,
        message: 'Parse error: the body is nested deeper than 500 levels',
      });
    }
    const { status, body } = await post(`[${'1,'.repeat(2_000_000)}1]`);
    expect(status).toBe(413);
    expect(JSON.parse(body).error.message).toBe('Payload too large: a batch may have 1024 messages');
    await isWell();
  });
});
