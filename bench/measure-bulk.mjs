// Changes of many items with one tool call, at a service that takes 50 ms for every response.
import { writeFileSync } from 'node:fs';
import { createServer, request as send } from 'node:http';
import { join } from 'node:path';
import { said, start, stop } from './lib/processes.mjs';
import { shown, table } from './lib/statistics.mjs';
import { cleanEnvironment, heddle, home, openStdio } from './lib/subjects.mjs';

const items = 1000;
const latencyMs = 50;
const concurrency = 8;

const changes = [
  { queue: 'states', name: 'set the state', change: { annotation_state: 'skipped' } },
  {
    queue: 'judged',
    name: 'judge and set the state',
    change: { judgements: { good: true }, annotation_state: 'completed' },
  },
];

/**
 * Measures how long one call takes that sets the state of 1,000 items, and the same with a judgement each, at a service that
 * sets many states with one request and at one that sets one.
 */
export async function measureBulk(run, log) {
  const dataDir = join(home, 'bulk');
  const environment = { ...cleanEnvironment, HEDDLE_DATA_DIR: dataDir };
  const file = join(home, 'bulk.jsonl');
  const line = (index) => ({
    call_id: `call-${index}`,
    call_op_name: 'answer',
    call_trace_id: `trace-${index}`,
    call_started_at: '2026-01-01T00:00:00Z',
  });
  writeFileSync(file, Array.from({ length: items }, (_, index) => JSON.stringify(line(index))).join('\n'));
  const account = await run(['service', 'add-user', 'bench', '--all-projects'], environment);
  const password = /^password: *(\S+)$/m.exec(account)[1];
  const service = start([heddle, 'service', 'start', '--port', '0'], environment);
  const [url] = await said(service, 'stderr', /http:\/\/127\.0\.0\.1:\d+/);
  const results = [];
  for (const isTogether of [false, true]) {
    const slow = await startDelay(url, (path) => !isTogether && /^\/annotation_queues\/[^/]+\/progress$/.test(path));
    const connection = await openStdio('heddle', {
      ...cleanEnvironment,
      HEDDLE_BASE_URL: slow.url,
      HEDDLE_USERNAME: 'bench',
      HEDDLE_PASSWORD: password,
      HEDDLE_PROJECT: 'bench/bulk',
    });
    for (const { queue, name, change } of changes) {
      const queue_id = isTogether ? `${queue}-together` : queue;
      await run(['service', 'import', file, '--project', 'bench/bulk', '--queue', queue_id], environment);
      const startedAt = performance.now();
      const bulk = { queue_id, filter: {}, change, confirm: true };
      const { structuredContent, content } = await connection.call('update_queue_items', bulk);
      const ms = performance.now() - startedAt;
      if (structuredContent?.counts.done !== items) throw new Error(`bulk change: ${JSON.stringify(content)}`);
      log(`bulk change of ${items} items, ${queue_id}: ${Math.round(ms)} ms`);
      results.push({ name, isTogether, ms });
    }
    slow.close();
    await connection.close();
  }
  await stop(service);
  return results;
}

/** Renders the measurements as Markdown. The ideal is the waiting of the requests for the states alone. */
export function reportBulk(results) {
  const idealMs = (items / concurrency) * latencyMs;
  const rows = results.map(({ name, isTogether, ms }) => [
    name,
    isTogether ? '250 states' : '1 state',
    shown(ms),
    isTogether ? '' : shown(ms / idealMs),
  ]);
  return `## Bulk changes

One call of update_queue_items with a filter changes ${items} items, at ${latencyMs} ms for every response. The ideal is
${shown(idealMs)} ms where a request sets one state: ${items} requests, ${concurrency} at a time.

${table(['change', 'a request sets', 'ms', '/ ideal'], rows)}`;
}

/** Starts a server that passes requests on, but for those to a missing path, and holds every response back. */
async function startDelay(target, isMissing) {
  const server = createServer((incoming, response) => {
    if (isMissing(incoming.url)) {
      incoming.resume();
      setTimeout(() => {
        response.writeHead(404, { 'content-type': 'application/json' });
        response.end('{"detail":"Not Found"}');
      }, latencyMs);
      return;
    }
    const options = { method: incoming.method, headers: incoming.headers };
    const outgoing = send(target + incoming.url, options, (answer) => {
      setTimeout(() => {
        response.writeHead(answer.statusCode, answer.headers);
        answer.pipe(response);
      }, latencyMs);
    });
    incoming.pipe(outgoing);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}
