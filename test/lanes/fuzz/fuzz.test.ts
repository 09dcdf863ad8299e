import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { temporaryData } from '../../support/embedded-service.ts';
import { sendResponse, startFakeService } from '../../support/fake-service.ts';
import { type Attack, attackOn } from '../../support/fuzz-attacks.ts';
import { bodyChange, importFile, protocolText, serviceRequest, tracesRequest } from '../../support/fuzz-inputs.ts';
import { goodResponse } from '../../support/good-responses.ts';
import { command, emptyHome, run, temporaryFolder } from '../../support/heddle.ts';
import { ask, jsonHeaders, startHttpProcess } from '../../support/http-server.ts';
import { LineProcess } from '../../support/line-client.ts';
import { startScriptedModel } from '../../support/scripted-model.ts';
import { addAccount, startServiceProcess } from '../../support/service-process.ts';
import { tally } from '../../support/tally.ts';

/*
 * Sends generated input to stdio, HTTP, the embedded service and import, and attacks with stored values and replies of models, during
 * which another account is to be answered. Each input follows from a seed:
 *   HEDDLE_FUZZ_MINUTES  how long, for the five together; half a minute by default, also in CI
 *   HEDDLE_FUZZ_SEED     the first seed, where a run is to be repeated
 *   HEDDLE_FUZZ_ONLY     one face and one seed, like "stdio 1234", to repeat a failure
 * A failure names its seed. Put it into fuzz-seeds.txt, which every run begins with.
 */

const minutes = Number(process.env.HEDDLE_FUZZ_MINUTES ?? 0.5);
const firstSeed = Number(process.env.HEDDLE_FUZZ_SEED ?? Date.now() % 2 ** 31);
/** Longest time that an input or another account may take, on a machine that is idle. On a busy one the processor time of the target counts. */
const hangMs = 2_000;
/** Time that counts even if the target has hardly used the processor. */
const maxBusyMs = 20_000;
const seedsFile = new URL('fuzz-seeds.txt', import.meta.url);
const faces = ['stdio', 'http', 'service', 'import', 'attack'] as const;
type Face = (typeof faces)[number];

const kept = readFileSync(seedsFile, 'utf8')
  .split('\n')
  .filter((line) => /^\w+ \d+/.test(line));
const only = process.env.HEDDLE_FUZZ_ONLY;

const secrets = { password: 'password-of-the-user', token: 'token-of-the-user' };

/** A running target. `send` sends the input of a seed, and returns everything that came back. */
interface Target {
  send: (seed: number) => Promise<string>;
  /** Throws if the process has ended, and returns everything that it has logged since the last call. */
  check: () => string;
  /** Time that input without content takes, in milliseconds; only import starts a process for each input. An attack may take any time. */
  idleMs?: number;
  /** Returns the processor time in milliseconds that was spent on all inputs so far; undefined where the system does not tell it. */
  spentMs: () => number | undefined;
  /** Milliseconds after which an input counts as hung. */
  endMs?: number;
}

/** Measures a time, and the processor time that is spent meanwhile; returns the message if it was too long. */
function stopwatch({ spentMs }: Pick<Target, 'spentMs'>): (limitMs: number, what: string) => string | undefined {
  const startedAt = performance.now();
  const before = spentMs();
  return (limitMs, what) => {
    const ms = Math.round(performance.now() - startedAt);
    const spent = before === undefined ? ms : spentMs()! - before;
    const isSlow = ms > limitMs && (spent > limitMs || ms > limitMs + maxBusyMs);
    return isSlow ? `it took ${ms} ms, ${Math.round(spent)} of them at work, ${what}` : undefined;
  };
}

/** Returns the processor time of a process in milliseconds; undefined where the system does not tell it. */
function processorMs(pid: number | undefined): number | undefined {
  if (pid === undefined || process.platform !== 'linux') return undefined;
  // The name of the process, in parentheses, may contain spaces.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function sample<T>(arbitrary: fc.Arbitrary<T>, seed: number, count = 1): T[] {
  // Later samples are less simple.
  return fc.sample(arbitrary, { seed, numRuns: count + 10 }).slice(10);
}

/** Starts a service that returns the headers it gets, and whose bodies follow from a seed. */
async function startHostileService() {
  const service = await startFakeService();
  const hostile = { service, changes: [(body: string) => body] };
  let requests = 0;
  service.respond = (request) => {
    const { body, contentType } = goodResponse(request);
    const change = hostile.changes[requests % hostile.changes.length]!;
    requests += 1;
    service.requests.length = 0;
    const changed = change(body).replaceAll('strange', `strange ${request.headers.authorization}`);
    sendResponse(request, 200, Buffer.from(changed), { 'content-type': contentType });
  };
  return hostile;
}

async function startStdio(): Promise<Target> {
  const { service, ...hostile } = await startHostileService();
  const environment = { ...service.environment, HEDDLE_PASSWORD: secrets.password, HEDDLE_TOKEN: secrets.token };
  const client = new LineProcess(temporaryFolder(), {
    ...environment,
    HEDDLE_TIMEOUT_MS: '1500',
    HEDDLE_INFERENCE_TIMEOUT_MS: '1500',
  });
  let output = '';
  client.child.stdout!.on('data', (bytes) => {
    output += bytes;
  });
  await client.initialize();
  return {
    spentMs: () => processorMs(client.child.pid),
    async send(seed) {
      hostile.changes.splice(0, hostile.changes.length, ...sample(bodyChange, seed, 3));
      client.write(`${sample(protocolText, seed, 3).join('\n')}\n`);
      await client.ask({ id: `after ${seed}`, method: 'ping' });
      // The calls of this input end before the next one begins.
      await client.ask({ id: `list ${seed}`, method: 'tools/list' });
      const received = output;
      output = '';
      return received;
    },
    check() {
      if (client.child.exitCode !== null || client.child.signalCode !== null) throw new Error('the process has ended');
      expect(client.noise).toEqual([]);
      const { stderr } = client;
      client.stderr = '';
      return stderr;
    },
  };
}

async function startHttpTarget(): Promise<Target> {
  const { service, ...hostile } = await startHostileService();
  const environment = { ...service.environment, HEDDLE_PASSWORD: secrets.password, HEDDLE_TOKEN: secrets.token };
  const { url, child, output } = await startHttpProcess([], {
    ...environment,
    HEDDLE_LOG_FORMAT: 'json',
    HEDDLE_TIMEOUT_MS: '1500',
    HEDDLE_INFERENCE_TIMEOUT_MS: '1500',
  });
  return {
    spentMs: () => processorMs(child.pid),
    async send(seed) {
      hostile.changes.splice(0, hostile.changes.length, ...sample(bodyChange, seed, 3));
      const headers = { ...jsonHeaders, 'mcp-session-id': 'session' };
      const [body] = sample(protocolText, seed);
      const { status, body: text, headers: received } = await ask(url, { headers, body });
      if (status >= 500) throw new Error(`status ${status}: ${text}`);
      expect((await ask(url.replace('/mcp', '/healthz'), { method: 'GET' })).status).toBe(200);
      return JSON.stringify(received) + text;
    },
    check() {
      if (child.exitCode !== null || child.signalCode !== null) throw new Error('the process has ended');
      const { stderr } = output;
      output.stderr = '';
      return stderr;
    },
  };
}

async function startServiceTarget(): Promise<Target> {
  const home = emptyHome(temporaryFolder(), { HEDDLE_LOG_FORMAT: 'json' });
  const { password, token } = await addAccount('ada', home);
  const line = { call_id: 'c1', call_op_name: 'op', call_trace_id: 't', call_started_at: '2026-01-01T00:00:00Z' };
  const lines = JSON.stringify({
    ...line,
    display_fields: ['inputs.question'],
    call: { inputs: { question: 'Why?' } },
  });
  await run(['service', 'import', '-', '--queue', 'q', '--project', 'a/b'], home, lines);
  const { url, child, stderr } = await startServiceProcess(home);
  const basic = `Basic ${Buffer.from(`ada:${password}`).toString('base64')}`;
  let logged = 0;
  return {
    spentMs: () => processorMs(child.pid),
    async send(seed) {
      const { method, path, auth, body } = sample(serviceRequest, seed)[0]!;
      const authorization = auth === 'basic' ? basic : `Bearer ${token}`;
      const headers = { 'content-type': 'application/json', authorization };
      const { status, body: text } = await ask(url + path, { method, headers, body });
      if (status >= 500) throw new Error(`${method} ${path.slice(0, 200)}: status ${status}: ${text}`);
      expect((await ask(`${url}/health`, { method: 'GET' })).status).toBe(200);
      const spans = sample(tracesRequest, seed)[0]!;
      const response = await fetch(`${url}/otel/v1/traces`, {
        method: 'POST',
        headers: { 'content-type': spans.type, authorization: basic, project_id: 'a/b' },
        body: new Uint8Array(spans.bytes),
      });
      const answer = await response.text();
      if (response.status >= 500) throw new Error(`spans: status ${response.status}: ${answer}`);
      return (text + answer).replaceAll(password, secrets.password).replaceAll(token, secrets.token);
    },
    check() {
      if (child.exitCode !== null || child.signalCode !== null) throw new Error('the process has ended');
      const fresh = stderr().slice(logged);
      logged += fresh.length;
      return fresh;
    },
  };
}

/** Has a process tell the processor time that it has used when it ends. */
const tellSpentMs = `import { writeSync } from 'node:fs';
process.once('exit', () => writeSync(3, String((process.cpuUsage().user + process.cpuUsage().system) / 1000)));`;

async function startImport(): Promise<Target> {
  const folder = temporaryFolder();
  const environment = emptyHome(folder, { HEDDLE_PASSWORD: secrets.password });
  const file = join(folder, 'lines');
  const empty = (): Promise<unknown> =>
    run(['service', 'import', '-', '--queue', 'q', '--project', 'a/b'], environment);
  await empty();
  const startedAt = performance.now();
  await empty();
  let spentMs = 0;
  return {
    spentMs: () => spentMs,
    // The machine may become busier meanwhile.
    idleMs: 3 * (performance.now() - startedAt),
    async send(seed) {
      writeFileSync(file, sample(importFile, seed)[0]!);
      const child = spawn(process.execPath, [command, 'service', 'import', file, '--queue', 'q', '--project', 'a/b'], {
        env: { ...environment, NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(tellSpentMs)}` },
        stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      });
      child.stdio[3]!.on('data', (text) => {
        spentMs += Number(text);
      });
      let output = '';
      for (const stream of [child.stdout, child.stderr]) {
        stream!.on('data', (bytes) => {
          output += bytes;
        });
      }
      const [code] = await once(child, 'close');
      if (code !== 0 && code !== 1) throw new Error(`import ended with ${code}: ${output}`);
      if (code === 1) expect(output).toMatch(/invalid lines?|Line \d+ of|is not UTF-8|Nothing was stored/);
      return output;
    },
    check: () => '',
  };
}

/** Starts the service with two accounts, and a model whose reply follows from a seed. */
async function startAttackTarget(): Promise<Target> {
  let reply: Attack['reply'] = '';
  const model = await startScriptedModel((_, response) => void response.end(reply));
  const home = emptyHome(temporaryFolder(), {
    HEDDLE_LOG_FORMAT: 'json',
    HEDDLE_MODEL_PROVIDER_URL: model.url,
    ...(process.env.HEDDLE_TEST_DATABASE_URL && { HEDDLE_DATABASE_URL: await temporaryData() }),
  });
  const [attacker, other] = [await addAccount('ada', home), await addAccount('ben', home)];
  const { url, child, stderr } = await startServiceProcess(home);
  let logged = 0;
  const post = async ({ username, password }: typeof attacker, path: string, body: string) => {
    const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
    const headers = { 'content-type': 'application/json', authorization };
    const response = await fetch(url + path, { method: 'POST', headers, body });
    const text = await response.text();
    if (response.status >= 500 && response.status !== 503) {
      throw new Error(`${path}: status ${response.status}: ${text.slice(0, 500)}`);
    }
    return { status: response.status, text };
  };
  const send = async (project_id: string, requests: Attack['requests']): Promise<string> => {
    const ids = { RUN: 'none', PREDICTION: 'none', DIGEST0: 'none', DIGEST1: 'none' };
    let received = '';
    for (const request of requests) {
      const fill = (text: string) =>
        Object.entries(ids).reduce((filled, [name, id]) => filled.replaceAll(name, id), text);
      const { status, text } = await post(attacker, fill(request.path), fill(request.body));
      // Every character of a long result was sent by the attacker.
      received += text.slice(0, 1_000_000);
      const isMade = status === 200 && /\/(evaluation_runs|predictions|evaluate_model|obj\/create)$/.test(request.path);
      const { evaluation_run_id, prediction_id, call_id, digest } = isMade ? JSON.parse(text) : {};
      ids.RUN = evaluation_run_id ?? call_id ?? ids.RUN;
      ids.PREDICTION = prediction_id ?? ids.PREDICTION;
      if (digest !== undefined) ids[ids.DIGEST0 === 'none' ? 'DIGEST0' : 'DIGEST1'] = digest;
      for (let code = 'running'; call_id !== undefined && code === 'running'; ) {
        const answer = await post(attacker, '/evaluations/status', JSON.stringify({ project_id, call_id }));
        code = JSON.parse(answer.text).status.code;
        await setTimeout(20);
      }
    }
    return received;
  };
  const spentMs = () => processorMs(child.pid);
  return {
    spentMs,
    idleMs: Number.POSITIVE_INFINITY,
    endMs: 300_000,
    async send(seed) {
      const project_id = `p/s${seed}`;
      const [attack] = sample(attackOn(project_id), seed);
      reply = attack!.reply;
      let isDone = false;
      const attacking = send(project_id, attack!.requests).finally(() => {
        isDone = true;
      });
      attacking.catch(() => {});
      do {
        for (const path of ['/health', '/annotation_queues/query']) {
          const slowness = stopwatch({ spentMs });
          const queues = JSON.stringify({ project_id: 'other/project' });
          const { status } = await (path === '/health' ? fetch(url + path) : post(other, path, queues));
          if (status !== 200) throw new Error(`${path} of another account: status ${status}`);
          const slow = slowness(hangMs, `until ${path} of another account was answered`);
          if (slow) throw new Error(slow);
        }
        await setTimeout(5);
      } while (!isDone);
      return (await attacking)
        .replaceAll(attacker.password, secrets.password)
        .replaceAll(attacker.token, secrets.token);
    },
    check() {
      if (child.exitCode !== null || child.signalCode !== null) throw new Error('the process has ended');
      const fresh = stderr().slice(logged);
      logged += fresh.length;
      return fresh;
    },
  };
}

const start: Record<Face, () => Promise<Target>> = {
  stdio: startStdio,
  http: startHttpTarget,
  service: startServiceTarget,
  import: startImport,
  attack: startAttackTarget,
};

const forbidden = new RegExp(
  [
    ...Object.values(secrets),
    Buffer.from(`mia:${secrets.password}`).toString('base64'),
    '"level":"error"',
    String.raw`^\s+at .*:\d+:\d+\)?$`,
  ].join('|'),
  'm',
);

/** Sends the input of a seed, and checks what holds for any input. */
async function attempt(target: Target, seed: number): Promise<void> {
  const timer = new AbortController();
  const slowness = stopwatch(target);
  const hung = new Promise<string>((_, reject) => {
    const endMs = target.endMs ?? 30_000;
    setTimeout(endMs, undefined, { signal: timer.signal }).then(
      () => reject(new Error(`no answer within ${endMs / 1000} seconds`)),
      () => {},
    );
  });
  try {
    const received = await Promise.race([target.send(seed), hung]);
    const found = forbidden.exec(received + target.check());
    if (found) throw new Error(`it shows ${found[0]}`);
  } finally {
    timer.abort();
  }
  const slow = slowness(hangMs + (target.idleMs ?? 0), 'for this input');
  if (slow) throw new Error(slow);
}

/**
 * Runs the input of a seed, and returns the target for the next one. Slow input counts if it is slow three times, because
 * the machine may be busy.
 */
async function fuzz(face: Face, seed: number, target: Target, attemptsLeft = 2): Promise<Target> {
  try {
    await attempt(target, seed);
    return target;
  } catch (error) {
    const { message } = error as Error;
    if (/^it took/.test(message) && attemptsLeft > 0) return fuzz(face, seed, await start[face](), attemptsLeft - 1);
    if (/ended/.test(message)) tally('crashed', 1);
    if (/^it took|^no answer/.test(message)) tally('hung', 1);
    throw new Error(`HEDDLE_FUZZ_ONLY="${face} ${seed}" repeats this: ${message}`);
  }
}

describe('generated input', () => {
  it.each(faces)(
    'neither crashes nor hangs %s, and reveals no secret',
    async (face) => {
      const chosen = (only === undefined ? kept : [only]).filter((line) => line.startsWith(`${face} `));
      let target = await start[face]();
      for (const line of chosen) target = await fuzz(face, Number(line.split(' ')[1]), target);
      if (only !== undefined) return;
      const endsAt = performance.now() + (minutes * 60_000) / faces.length;
      let inputs = 0;
      for (; performance.now() < endsAt; inputs += 1) target = await fuzz(face, firstSeed + inputs, target);
      tally('property runs', inputs);
      console.log(`${face}: ${inputs} inputs from seed ${firstSeed}, ${chosen.length} kept seeds`);
      expect(inputs).toBeGreaterThan(0);
    },
    minutes * 60_000 + 300_000,
  );
});
