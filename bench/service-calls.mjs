// The cost of include_call (budget: a page of 50 items with their calls takes at most twice as long as a page plus one read
// call): heddle on stdio with the embedded service, and with a service that responds 20 ms late.
// Run with: npm run build && node bench/service-calls.mjs [rounds]
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Pool } from 'undici';
import { said, start, stop } from './lib/processes.mjs';
import { StdioConnection, successOf } from './lib/protocol.mjs';
import { median, rotated, shown, table } from './lib/statistics.mjs';
import { cleanEnvironment, heddle, home, run } from './lib/subjects.mjs';

const rounds = Number(process.argv[2] ?? 101);
const warmUp = 20;
const delayMs = 20;
const project = 'bench/calls';
// Fifty long calls exceed the default size of a result; measure the whole page.
const environment = { ...cleanEnvironment, HEDDLE_PROJECT: project, HEDDLE_MAX_RESULT_CHARS: '200000' };

const cases = (queue_id, call_id) => ({
  page: ['query_queue_items', { queue_id, limit: 50 }],
  call: ['read_call', { call_id }],
  both: ['query_queue_items', { queue_id, limit: 50, include_call: true }],
});

const words = (count, word) => `${word} `.repeat(count).trim();
const itemOf = (queue, index, display_fields, call) => ({
  call_id: `${queue}-${index}`,
  call_op_name: `support.${queue}`,
  call_trace_id: `trace-${index}`,
  call_started_at: new Date(Date.UTC(2026, 0, 12, 9, index)).toISOString(),
  display_fields,
  call,
});

/** Queues by name, each with the shape of its items. */
const queues = {
  /** A code change to review: a few short values. */
  short: (index) =>
    itemOf('short', index, ['inputs.subject', 'inputs.files', 'output.insertions', 'output.deletions'], {
      inputs: {
        repository: 'example/project',
        subject: `fix: handle the case number ${index} of a very long list of cases`,
        files: [`src/case-${index}.ts`, `test/case-${index}.test.ts`],
      },
      output: { insertions: 10 + index, deletions: index },
    }),
  /** A call of a chat model, about 5 kB; a page shows the question and the beginning of the answer. */
  long: (index) =>
    itemOf('long', index, ['inputs.question', 'output.choices[0].message.content'], {
      attributes: { environment: 'production', client: { name: 'support-bot', version: '4.2.0' } },
      inputs: {
        question: words(30, `Why ${index}?`),
        messages: [
          { role: 'system', content: words(300, 'Be kind.') },
          { role: 'user', content: words(30, `Why ${index}?`) },
        ],
      },
      output: {
        id: `reply-${index}`,
        choices: [{ index: 0, message: { role: 'assistant', content: words(150, 'Because.') }, finish_reason: 'stop' }],
      },
      summary: { usage: { model: { prompt_tokens: 700, completion_tokens: 300 } } },
    }),
};

async function fill() {
  for (const [queue, item] of Object.entries(queues)) {
    const file = join(home, `${queue}.jsonl`);
    writeFileSync(file, Array.from({ length: 50 }, (_, index) => JSON.stringify(item(index))).join('\n'));
    await run(['service', 'import', file, '--project', project, '--queue', queue], environment);
  }
}

/** Forwards requests with a delay. */
async function delayed(url) {
  const pool = new Pool(url, { connections: 64 });
  const proxy = createServer(async (request, response) => {
    const body = [];
    for await (const part of request) body.push(part);
    await setTimeout(delayMs);
    const { method, url: path, headers } = request;
    const { authorization, 'content-type': type } = headers;
    const answer = await pool.request({
      method,
      path,
      headers: { authorization, ...(type && { 'content-type': type }) },
      ...(body.length > 0 && { body: Buffer.concat(body) }),
    });
    response.writeHead(answer.statusCode, answer.headers);
    answer.body.pipe(response);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    url: `http://127.0.0.1:${proxy.address().port}`,
    close: async () => {
      proxy.closeAllConnections();
      proxy.close();
      await pool.destroy();
    },
  };
}

/** Measures the three calls on a queue in turn; medians in ms. */
async function measure(queue, more = {}) {
  const server = new StdioConnection([heddle], { ...environment, ...more });
  await server.initialize();
  server.initialized();
  const times = { page: [], call: [], both: [] };
  for (let round = -warmUp; round < rounds; round += 1) {
    for (const [name, [tool, args]] of rotated(Object.entries(cases(queue, `${queue}-25`)), round + warmUp)) {
      const started = performance.now();
      const { structuredContent } = successOf(await server.call(tool, args));
      const took = performance.now() - started;
      const { items = [] } = structuredContent;
      const whole = items.length === 50 && items.every(({ call_values }) => call_values || name === 'page');
      if (!whole && name !== 'call')
        throw new Error(`${name}: ${items.length} items, like ${JSON.stringify(items[0])}`);
      if (round >= 0) times[name].push(took);
    }
  }
  await server.close();
  return Object.fromEntries(Object.entries(times).map(([name, values]) => [name, median(values)]));
}

/** Renders a row of the table with its verdict. */
async function row(name, queue, more) {
  const { page, call, both } = await measure(queue, more);
  const ratio = both / (2 * (page + call));
  return [name, ...[page, call, both].map((ms) => shown(ms, ' ms')), shown(ratio), ratio <= 1 ? 'met' : 'not met'];
}

try {
  await fill();
  const account = await run(['service', 'add-user', 'bench', '--all-projects'], environment);
  const secret = (name) => new RegExp(`^${name}: *(\\S+)$`, 'm').exec(account)[1];
  const service = start([heddle, 'service', 'start', '--port', '0'], environment, ['ignore', 'ignore', 'pipe']);
  const [, url] = await said(service, 'stderr', /listening on (\S+)/);
  const proxy = await delayed(url);
  const late = { HEDDLE_BASE_URL: proxy.url, HEDDLE_USERNAME: 'bench', HEDDLE_PASSWORD: secret('password') };
  const rows = [];
  for (const queue of Object.keys(queues)) {
    rows.push(await row(`embedded, ${queue} calls`, queue));
    rows.push(await row(`${delayMs} ms away, ${queue} calls`, queue, late));
  }
  await proxy.close();
  await stop(service);
  console.log(table(['service', 'page of 50', 'one call', 'page with its calls', 'of the budget', ''], rows));
} finally {
  rmSync(home, { recursive: true, force: true });
}
