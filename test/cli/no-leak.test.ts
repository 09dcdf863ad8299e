import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type FakeService, type RecordedRequest, sendResponse, startFakeService } from '../support/fake-service.ts';
import { command, emptyHome, temporaryFolder } from '../support/heddle.ts';

type Plant = (request: RecordedRequest, said: string) => void;

const json =
  (
    status: number,
    body: (said: string) => unknown,
    headers: (said: string) => Record<string, string> = () => ({}),
  ): Plant =>
  (request, said) =>
    sendResponse(request, status, JSON.stringify(body(said)), headers(said));
const raw =
  (status: number, type: string, body: (said: string) => string): Plant =>
  (request, said) =>
    sendResponse(request, status, body(said), { 'content-type': type });
const ascii = (said: string): string => encodeURIComponent(said);

/** Answers of a service, or of something in its place, that writes down what it was sent. */
const plants: Plant[] = [
  json(
    401,
    (said) => ({ reason: `bad credentials ${said}` }),
    (said) => ({ 'www-authenticate': ascii(said) }),
  ),
  json(
    403,
    (said) => ({ detail: `not for ${said}` }),
    (said) => ({ 'set-cookie': `sid=${ascii(said)}` }),
  ),
  json(404, (said) => ({ error: { message: said, code: said } })),
  json(409, (said) => ({ message: JSON.stringify({ headers: { authorization: said } }) })),
  json(422, (said) => ({ detail: [{ loc: ['header', said], msg: `is ${said}`, type: said, input: said }] })),
  json(400, (said) => said),
  json(
    302,
    () => ({}),
    (said) => ({ location: `http://elsewhere.example/?token=${ascii(said)}` }),
  ),
  raw(400, 'text/plain', (said) => `refused ${said}`),
  raw(500, 'text/html', (said) => `<h1>${said}</h1>`),
  raw(200, 'text/html', (said) => `${'-'.repeat(110)}${said}`),
  raw(200, 'application/json', (said) => `{"items": [${JSON.stringify(said)}`),
  json(200, (said) => ({ items: [{ [said]: said }] })),
  json(200, (said) => ({ items: said, [said]: 1 })),
  json(200, (said) => ({ items: [item(said)], id: 'r', choices: [{ index: 0, message: { content: said } }] })),
  raw(
    200,
    'text/event-stream',
    (said) => `data: {"choices":[{"index":0,"delta":{"content":${JSON.stringify(said)}}}]}\n\n`,
  ),
  raw(200, 'text/event-stream', (said) => `data: {"error":{"message":${JSON.stringify(said)}}}\n\n`),
  ({ socket }, said) => void socket.end(`HTTP/1.1 200 OK\r\nx-\x01: ${ascii(said)}\r\n\r\n`),
];

function item(said: string): Record<string, unknown> {
  const times = { call_started_at: said, created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z' };
  const names = { id: 'i', project_id: 'a/b', queue_id: 'q', call_id: said, call_op_name: said, call_trace_id: 't' };
  return {
    ...names,
    ...times,
    display_fields: [said],
    annotation_state: 'unstarted',
    created_by: said,
    extra: { [said]: said },
  };
}

/** Throws, when told to, what nobody catches: an error that quotes everything. */
const crash = `data:text/javascript,process.on('SIGUSR2',()=>{throw new Error(Object.values(process.env).join(' '))})`;

/** All that a command wrote which crashed while the service had its request. */
async function crashOutput(service: FakeService, environment: Record<string, string>): Promise<string> {
  const child = spawn(process.execPath, [command, 'call', 'query_queue_items', '{"queue_id":"q"}'], {
    env: environment,
  });
  service.respond = () => child.kill('SIGUSR2');
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  expect(code).toBe(1);
  expect(stderr).toContain('unexpected failure: Error:');
  return stdout + stderr;
}

/** All that a server process wrote, after every plant was met by both schemes and something was thrown past everything. */
async function everythingWritten(password: string, token: string): Promise<{ written: string; answers: number }> {
  const service = await startFakeService();
  const pair = Buffer.from(`mia:${password}`, 'utf8').toString('base64');
  const said = [password, token, pair, `Basic ${pair}`, `Bearer ${token}`].join(' ');
  let next = 0;
  service.respond = (request) => {
    // Each plant is met by both schemes; what is tried again meets the next one.
    plants[Math.floor(next++ / 2) % plants.length]!(request, said);
  };
  const environment = emptyHome(temporaryFolder(), {
    HEDDLE_BASE_URL: service.url,
    HEDDLE_PROJECT: 'a/b',
    HEDDLE_USERNAME: 'mia',
    HEDDLE_PASSWORD: password,
    HEDDLE_TOKEN: token,
    HEDDLE_LOG_LEVEL: 'debug',
    HEDDLE_TIMEOUT_MS: '5000',
    HEDDLE_INFERENCE_TIMEOUT_MS: '5000',
    NODE_OPTIONS: `--import=${JSON.stringify(crash)}`,
  });
  const child = spawn(process.execPath, [command], { env: environment });
  let stderr = '';
  const thrown = new Promise<void>((resolve) => {
    child.stderr.on('data', (bytes: Buffer) => {
      stderr += bytes;
      if (stderr.includes(' error uncaught ')) resolve();
    });
  });
  const lines: string[] = [];
  let answered = (): void => {};
  createInterface(child.stdout).on('line', (line) => {
    lines.push(line);
    answered();
  });
  const call = async (id: number, name: string, args: unknown): Promise<void> => {
    const answer = new Promise<void>((resolve) => {
      answered = resolve;
    });
    child.stdin.write(
      `${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } })}\n`,
    );
    await answer;
  };
  const initialize = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } };
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params: initialize })}\n`);
  for (let id = 1; next < 2 * plants.length; id += 2) {
    await call(id, 'query_queue_items', { queue_id: 'q' });
    await call(id + 1, 'run_inference', { model: 'm', stream: true });
  }
  child.kill('SIGUSR2');
  await thrown;
  child.stdin.end();
  await once(child, 'close');
  return { written: lines.join('\n') + stderr + (await crashOutput(service, environment)), answers: lines.length };
}

/** Long and varied enough that its first characters are nowhere by chance. */
const unlikely = (text: string): boolean => new Set(text.slice(0, 9)).size >= 7 && !/[\0\s]/.test(text);
const visible = fc
  .string({
    unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
    minLength: 12,
    maxLength: 40,
  })
  .filter(unlikely);
const anything = fc.string({ unit: 'grapheme', minLength: 12, maxLength: 40 }).filter(unlikely);

test('no secret that a service writes down is in logs, results or crash output', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(anything, visible, async (password, token) => {
      const { written, answers } = await everythingWritten(password, token);
      expect(answers).toBeGreaterThan(plants.length);
      expect(written.split('[secret]').length).toBeGreaterThan(plants.length);
      const pair = Buffer.from(`mia:${password}`, 'utf8').toString('base64');
      // The beginnings too: a text that is cut inside a secret must not end in a part of it.
      const begun = [password.slice(0, 9), token.slice(0, 9)];
      for (const secret of [...begun, pair, encodeURIComponent(password), encodeURIComponent(token)]) {
        const escaped = JSON.stringify(secret).slice(1, -1);
        for (const form of [secret, escaped, JSON.stringify(escaped).slice(1, -1)]) {
          const at = written.indexOf(form);
          expect(at < 0 ? '' : written.slice(Math.max(0, at - 200), at + 200)).toBe('');
        }
      }
    }),
    // Shrinking would start hundreds of processes for a counterexample that is readable as it is.
    { numRuns: 12, endOnFailure: true },
  );
});
