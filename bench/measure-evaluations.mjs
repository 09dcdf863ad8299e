// Evaluations that the embedded service runs: predictions of a model that takes 50 ms for each, 16 at a time.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { WebSocket } from 'undici';
import { cpuOf, memoryOf, said, start, stop } from './lib/processes.mjs';
import { shown, table } from './lib/statistics.mjs';
import { cleanEnvironment, heddle, home } from './lib/subjects.mjs';

const project_id = 'bench/evaluations';
const latencyMs = 50;
const concurrency = 16;
/** The first run is not reported: it loads and compiles what the others use. Then from small to large, so that each peak of memory is its own. */
const sizes = [64, 1000, 10_000, 10_000];

/** Runs evaluations of 1,000 rows and twice of 10,000 rows of about 1 kB, each with two scorers, and reads time and memory. */
export async function measureEvaluations(run, log) {
  const env = { ...cleanEnvironment, HEDDLE_DATA_DIR: join(home, 'evaluations') };
  const account = await run(['service', 'add-user', 'bench', '--all-projects'], env);
  const password = /password:\s+(\S+)/.exec(account)[1];
  const model = await startModel();
  const withModel = { ...env, HEDDLE_MODEL_PROVIDER_URL: model.url };
  const args = ['--inspect=127.0.0.1:0', heddle, 'service', 'start', '--port', '0'];
  const child = start(args, withModel, ['ignore', 'ignore', 'pipe']);
  const [[inspector], [url]] = await Promise.all([
    said(child, 'stderr', /ws:\/\/\S+/),
    said(child, 'stderr', /http:\/\/127\.0\.0\.1:\d+/),
  ]);
  const authorization = `Basic ${Buffer.from(`bench:${password}`).toString('base64')}`;
  const post = async (path, body) => {
    const headers = { authorization, 'content-type': 'application/json' };
    const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    return response.json();
  };
  const store = async (object_id, base, leaf, val) => {
    const marks = { _type: leaf, _class_name: leaf, _bases: [base, 'Object', 'BaseModel'] };
    const { digest } = await post('/obj/create', { obj: { project_id, object_id, val: { ...val, ...marks } } });
    return `weave:///${project_id}/object/${object_id}:${digest}`;
  };
  const model_ref = await store('helper', 'LLMStructuredCompletionModel', 'LLMStructuredCompletionModel', {
    llm_model_id: 'small',
    default_params: { messages_template: [{ role: 'user', content: '{question} {context}' }] },
  });
  const scorers = [
    await store('exact', 'Scorer', 'HeddleScorer', { kind: 'equals', expected: 'expected' }),
    await store('shape', 'Scorer', 'HeddleScorer', { kind: 'matches', pattern: '^answer' }),
  ];
  const results = [];
  for (const size of sizes) {
    const rows = Array.from({ length: size }, (_, index) => ({
      question: `${index}`,
      context: 'x'.repeat(1000),
      expected: `answer ${index}`,
    }));
    const { digest } = await post('/table/create', { table: { project_id, rows } });
    const dataset = await store('rows', 'Dataset', 'Dataset', { rows: `weave:///${project_id}/table/${digest}` });
    const definition = { name: `of ${size}`, dataset, scorers };
    const { evaluation_ref } = await post(`/v2/${project_id}/evaluations`, definition);
    const askedBefore = model.asked;
    const cpuBefore = cpuOf(child);
    const memoryBefore = memoryOf(child).now;
    const { call_id } = await post('/evaluations/evaluate_model', {
      project_id,
      evaluation_ref,
      model_ref,
      concurrency,
    });
    let status;
    do {
      await setTimeout(250);
      ({ status } = await post('/evaluations/status', { project_id, call_id }));
    } while (status.code === 'running');
    const { call } = await post('/call/read', { project_id, id: call_id });
    const { exact } = call.output;
    if (exact.true_count !== size || model.asked - askedBefore !== size) {
      throw new Error(`${model.asked - askedBefore} of ${size} predictions, ${exact.true_count} of them right`);
    }
    results.push({
      size,
      ms: Date.parse(call.ended_at) - Date.parse(call.started_at),
      idealMs: Math.ceil(size / concurrency) * latencyMs,
      cpuMs: cpuOf(child) - cpuBefore,
      memoryBefore,
      peakMb: memoryOf(child).peak,
      liveMb: await liveHeapOf(inspector),
    });
    const { ms, idealMs, peakMb } = results.at(-1);
    log(`evaluation of ${size} rows: ${ms} ms, ideal ${idealMs} ms, ${Math.round(peakMb)} MB`);
  }
  model.close();
  await stop(child);
  return results.slice(1);
}

/** Collects garbage in a process and resolves to the megabytes of its heap that are still in use. */
async function liveHeapOf(inspector) {
  const socket = new WebSocket(inspector);
  await once(socket, 'open');
  const ask = async (id, method) => {
    socket.send(JSON.stringify({ id, method }));
    for (;;) {
      const [{ data }] = await once(socket, 'message');
      const reply = JSON.parse(data);
      if (reply.id === id) return reply.result;
    }
  };
  await ask(1, 'HeapProfiler.collectGarbage');
  const { usedSize } = await ask(2, 'Runtime.getHeapUsage');
  socket.close();
  return usedSize / 2 ** 20;
}

/** Starts a model provider that takes the same time for every reply. */
async function startModel() {
  const model = { asked: 0 };
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    model.asked += 1;
    const [number] = JSON.parse(text).messages[0].content.split(' ');
    await setTimeout(latencyMs);
    const message = { role: 'assistant', content: `answer ${number}` };
    const usage = { prompt_tokens: 300, completion_tokens: 2, total_tokens: 302 };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }], usage }));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  model.url = `http://127.0.0.1:${server.address().port}/v1`;
  model.close = () => {
    server.closeAllConnections();
    server.close();
  };
  return model;
}

/** Renders the measurements as Markdown. */
export function reportEvaluations(results) {
  const rows = results.map(({ size, ms, idealMs, cpuMs, memoryBefore, peakMb, liveMb }) => [
    size.toLocaleString('en'),
    (ms / 1000).toFixed(2),
    (ms / idealMs).toFixed(2),
    (cpuMs / 1000).toFixed(1),
    shown(memoryBefore),
    shown(peakMb),
    shown(liveMb),
  ]);
  return `## Evaluations

Runs of the embedded service on SQLite with a model that takes ${latencyMs} ms for each reply, ${concurrency} at a time, and two scorers that
compare, after a first run of ${sizes[0]} rows. Rows have about 1 kB. The ideal is the waiting for the model alone. Node keeps memory that it
has had as a reserve; what a run leaves behind is the live heap after it, once its garbage is collected.

${table(['predictions', 'seconds', 'times the ideal', 's of processor time', 'MB before', 'MB at most so far', 'MB of live heap after'], rows)}`;
}
