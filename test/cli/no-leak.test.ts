import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { caseCount } from '../support/cases.ts';
import { type FakeService, type RecordedRequest, sendResponse, startFakeService } from '../support/fake-service.ts';
import { emptyHome, startCommand, temporaryFolder } from '../support/heddle.ts';

/** Sends a response that contains the secrets. */
type LeakyResponse = (request: RecordedRequest, secrets: string) => void;

const json =
  (
    status: number,
    body: (secrets: string) => unknown,
    headers: (secrets: string) => Record<string, string> = () => ({}),
  ): LeakyResponse =>
  (request, secrets) =>
    sendResponse(request, status, JSON.stringify(body(secrets)), headers(secrets));
const raw =
  (status: number, type: string, body: (secrets: string) => string): LeakyResponse =>
  (request, secrets) =>
    sendResponse(request, status, body(secrets), { 'content-type': type });
const ascii = (secrets: string): string => encodeURIComponent(secrets);

/** Responses of a service that repeats the credentials it was sent. */
const leakyResponses: LeakyResponse[] = [
  json(
    401,
    (secrets) => ({ reason: `bad credentials ${secrets}` }),
    (secrets) => ({ 'www-authenticate': ascii(secrets) }),
  ),
  json(
    403,
    (secrets) => ({ detail: `not for ${secrets}` }),
    (secrets) => ({ 'set-cookie': `sid=${ascii(secrets)}` }),
  ),
  json(404, (secrets) => ({ error: { message: secrets, code: secrets } })),
  json(409, (secrets) => ({ message: JSON.stringify({ headers: { authorization: secrets } }) })),
  json(422, (secrets) => ({
    detail: [{ loc: ['header', secrets], msg: `is ${secrets}`, type: secrets, input: secrets }],
  })),
  json(400, (secrets) => secrets),
  json(
    302,
    () => ({}),
    (secrets) => ({ location: `http://elsewhere.example/?token=${ascii(secrets)}` }),
  ),
  raw(400, 'text/plain', (secrets) => `refused ${secrets}`),
  raw(500, 'text/html', (secrets) => `<h1>${secrets}</h1>`),
  raw(200, 'text/html', (secrets) => `${'-'.repeat(110)}${secrets}`),
  raw(200, 'application/json', (secrets) => `{"items": [${JSON.stringify(secrets)}`),
  json(200, (secrets) => ({ items: [{ [secrets]: secrets }] })),
  json(200, (secrets) => ({ items: secrets, [secrets]: 1 })),
  json(200, (secrets) => ({ items: [item(secrets)], id: 'r', choices: [{ index: 0, message: { content: secrets } }] })),
  raw(
    200,
    'text/event-stream',
    (secrets) => `data: {"choices":[{"index":0,"delta":{"content":${JSON.stringify(secrets)}}}]}\n\n`,
  ),
  raw(200, 'text/event-stream', (secrets) => `data: {"error":{"message":${JSON.stringify(secrets)}}}\n\n`),
  ({ socket }, secrets) => void socket.end(`HTTP/1.1 200 OK\r\nx-\x01: ${ascii(secrets)}\r\n\r\n`),
];

function item(secrets: string): Record<string, unknown> {
  const times = { call_started_at: secrets, created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z' };
  const names = {
    id: 'i',
    project_id: 'a/b',
    queue_id: 'q',
    call_id: secrets,
    call_op_name: secrets,
    call_trace_id: 't',
  };
  return {
    ...names,
    ...times,
    display_fields: [secrets],
    annotation_state: 'unstarted',
    created_by: secrets,
    extra: { [secrets]: secrets },
  };
}

/** Returns an error that quotes the whole environment. */
const crashOf = (environment: Record<string, string>): Error => new Error(Object.values(environment).join(' '));

/** Runs a command that crashes while the service has its request, and returns its output. */
async function crashOutput(service: FakeService, environment: Record<string, string>): Promise<string> {
  const requested = new Promise<RecordedRequest>((resolve) => {
    service.respond = resolve;
  });
  const command = startCommand(['call', 'query_queue_items', '{"queue_id":"q"}'], environment);
  const request = await requested;
  command.crash(crashOf(environment));
  sendResponse(request, 404);
  const { code, stdout, stderr } = await command.finished;
  expect(code).toBe(1);
  expect(stderr).toContain('unexpected failure: Error:');
  return stdout + stderr;
}

/** Returns the output of a server that received every response with both schemes and an uncaught error, and of a crash. */
async function collectOutput(password: string, token: string): Promise<{ written: string; responseCount: number }> {
  const service = await startFakeService();
  const pair = Buffer.from(`mia:${password}`, 'utf8').toString('base64');
  const secrets = [password, token, pair, `Basic ${pair}`, `Bearer ${token}`].join(' ');
  let next = 0;
  service.respond = (request) => {
    // Each response is sent twice, for the two schemes; a retry gets the next one.
    leakyResponses[Math.floor(next++ / 2) % leakyResponses.length]!(request, secrets);
  };
  const environment = emptyHome(temporaryFolder(), {
    HEDDLE_BASE_URL: service.url,
    HEDDLE_PROJECT: 'a/b',
    HEDDLE_USERNAME: 'mia',
    HEDDLE_PASSWORD: password,
    HEDDLE_TOKEN: token,
    HEDDLE_LOG_LEVEL: 'debug',
  });
  const input = new PassThrough();
  const server = startCommand(['serve'], environment, input);
  let responseCount = 0;
  let notifyResponse = (): void => {};
  createInterface(server.stdout).on('line', () => {
    responseCount += 1;
    notifyResponse();
  });
  const call = async (id: number, name: string, args: unknown): Promise<void> => {
    const response = new Promise<void>((resolve) => {
      notifyResponse = resolve;
    });
    input.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } })}\n`);
    await response;
  };
  const initialize = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } };
  input.write(`${JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params: initialize })}\n`);
  for (let id = 1; next < 2 * leakyResponses.length; id += 2) {
    await call(id, 'query_queue_items', { queue_id: 'q' });
    await call(id + 1, 'run_inference', { model: 'm', stream: true });
  }
  server.crash(crashOf(environment));
  await server.reports(/ error uncaught /);
  input.end();
  const { stdout, stderr } = await server.finished;
  return { written: stdout + stderr + (await crashOutput(service, environment)), responseCount };
}

/** Selects texts whose beginning cannot occur in the output by chance. */
const isDistinctive = (text: string): boolean => new Set(text.slice(0, 9)).size >= 7 && !/[\0\s]/.test(text);
const visible = fc
  .string({
    unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
    minLength: 12,
    maxLength: 40,
  })
  .filter(isDistinctive);
const anything = fc.string({ unit: 'grapheme', minLength: 12, maxLength: 40 }).filter(isDistinctive);

describe('heddle', () => {
  it('keeps secrets that a service repeats out of logs, results and crash output', async () => {
    await fc.assert(
      fc.asyncProperty(anything, visible, async (password, token) => {
        const { written, responseCount } = await collectOutput(password, token);
        expect(responseCount).toBeGreaterThan(leakyResponses.length);
        expect(written.split('[secret]').length).toBeGreaterThan(leakyResponses.length);
        const pair = Buffer.from(`mia:${password}`, 'utf8').toString('base64');
        // The beginnings are checked too: a text that is cut off must not end with part of a secret.
        const beginnings = [password.slice(0, 9), token.slice(0, 9)];
        for (const secret of [...beginnings, pair, encodeURIComponent(password), encodeURIComponent(token)]) {
          const escaped = JSON.stringify(secret).slice(1, -1);
          for (const form of [secret, escaped, JSON.stringify(escaped).slice(1, -1)]) {
            const at = written.indexOf(form);
            expect(at < 0 ? '' : written.slice(Math.max(0, at - 200), at + 200)).toBe('');
          }
        }
      }),
      // Shrinking would take minutes, and the counterexample is readable without it.
      { numRuns: caseCount(12), endOnFailure: true },
    );
  });
});
