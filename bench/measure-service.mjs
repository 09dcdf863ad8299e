// The embedded service on small and large queues, run as users run it (`heddle service …`), compared with the same SQL by
// hand.
import { createWriteStream, mkdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { Client } from 'undici';
import { memoryOf, said, start, stop } from './lib/processes.mjs';
import { openByHand } from './lib/sql-by-hand.mjs';
import { quantile, shown, table } from './lib/statistics.mjs';
import { cleanEnvironment, heddle, home } from './lib/subjects.mjs';

const projectId = 'bench/page';
const states = ['unstarted', 'in_progress', 'completed', 'skipped'];
const operations = ['review.fix', 'review.feat', 'review.docs', 'review.change', 'review.test'];
const byStart = [{ field: 'call_started_at', direction: 'desc' }];
const byOperation = [{ field: 'call_op_name', direction: 'asc' }, ...byStart];
const byCreation = [
  { field: 'created_at', direction: 'desc' },
  { field: 'call_started_at', direction: 'asc' },
];
const unstarted = { annotation_states: ['unstarted'] };

/** Pages of 50 by name; "deep" pages skip a fifth of the queue. */
function casesOf(items) {
  const deep = { limit: 50, offset: Math.floor(items / 5) };
  const first = { limit: 50 };
  return {
    'first page': first,
    'first page, positions': { ...first, include_position: true },
    'first page, sorted, one state, positions': {
      ...first,
      sort_by: byStart,
      filter: unstarted,
      include_position: true,
    },
    'deep, sorted': { ...deep, sort_by: byStart },
    'deep, sorted, positions': { ...deep, sort_by: byStart, include_position: true },
    'deep, sorted, one state': { ...deep, sort_by: byStart, filter: unstarted },
    'deep, sorted, one state, positions': { ...deep, sort_by: byStart, filter: unstarted, include_position: true },
    'deep, default order (all created at once), one state, positions': {
      ...deep,
      filter: unstarted,
      include_position: true,
    },
    'filter that has an index (trace)': { ...first, filter: { call_trace_id: 'trace-7' } },
    'filter on few items, without an index': { ...first, sort_by: byStart, filter: { added_by: 'rare' } },
    'filter on few items, without an index, positions': {
      ...first,
      sort_by: byStart,
      filter: { added_by: 'rare' },
      include_position: true,
    },
    'deep, two keys (operation, start desc), one state': { ...deep, sort_by: byOperation, filter: unstarted },
    'deep, two keys (operation, start desc), one state, positions': {
      ...deep,
      sort_by: byOperation,
      filter: unstarted,
      include_position: true,
    },
    'deep, two keys (creation desc, start), one state, positions': {
      ...deep,
      sort_by: byCreation,
      filter: unstarted,
      include_position: true,
    },
  };
}

async function writeItems(file, items) {
  let seed = 42;
  const random = (below) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * below);
  };
  const stream = createWriteStream(file);
  for (let index = 0; index < items; index += 1) {
    const line = JSON.stringify({
      call_id: `call-${index}`,
      call_op_name: operations[random(operations.length)],
      call_trace_id: `trace-${index}`,
      // Seconds of about two days, so some items share a time.
      call_started_at: new Date(1_750_000_000_000 + random(150_000) * 1000).toISOString(),
      call_ended_at: new Date(1_750_200_000_000).toISOString(),
      display_fields: ['inputs.question', 'output.answer'],
      added_by: index % 5000 === 0 ? 'rare' : 'importer',
      annotation_state: states[random(10) < 7 ? 0 : 1 + random(3)],
      call: { inputs: { question: `Question ${index}` }, output: { answer: `Answer ${index}` } },
    });
    if (!stream.write(`${line}\n`)) await new Promise((resolve) => stream.once('drain', resolve));
  }
  stream.end();
  await finished(stream);
}

/** Times one case after a warm-up: `count` times, or for two seconds. */
async function timed(work, repetitions) {
  await work();
  const times = [];
  const until = performance.now() + 2_000;
  do {
    const started = performance.now();
    await work();
    times.push(performance.now() - started);
  } while (times.length < repetitions && performance.now() < until);
  return times;
}

async function measureSize(items, repetitions, run, log) {
  const folder = join(home, `service-${items}`);
  mkdirSync(folder, { recursive: true });
  const source = join(folder, 'items.jsonl');
  await writeItems(source, items);
  const env = { HEDDLE_DATA_DIR: folder };
  let started = performance.now();
  await run(['service', 'import', source, '--project', projectId, '--queue', 'queue'], env);
  const importSeconds = (performance.now() - started) / 1000;
  rmSync(source);
  const account = await run(['service', 'add-user', 'bench', '--all-projects'], env);
  const password = /password:\s+(\S+)/.exec(account)[1];

  started = performance.now();
  const child = start([heddle, 'service', 'start', '--port', '0'], { ...cleanEnvironment, ...env }, [
    'ignore',
    'ignore',
    'pipe',
  ]);
  const [url] = await said(child, 'stderr', /http:\/\/[\w.:]+/);
  const client = new Client(url);
  const ask = async (request) => {
    const { statusCode, body } = await client.request({
      method: 'POST',
      path: '/annotation_queues/queue/items/query',
      headers: {
        authorization: `Basic ${Buffer.from(`bench:${password}`).toString('base64')}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ project_id: projectId, ...request }),
    });
    const answer = JSON.parse(await body.text());
    if (statusCode !== 200) throw new Error(JSON.stringify(answer));
    return answer.items;
  };
  await ask({ limit: 1 });
  const startMs = performance.now() - started;

  const cases = {};
  const requests = Object.entries(casesOf(items));
  for (const [name, request] of requests) {
    const ids = (await ask(request)).map(({ id }) => id).join();
    const times = await timed(() => ask(request), repetitions);
    cases[name] = { ids, service: quantile(times, 0.5) };
  }
  // Last, because it blocks the bench for so long that the service would close an idle connection.
  const byHand = await openByHand(join(folder, 'heddle.db'));
  for (const [name, request] of requests) {
    let rows;
    const times = await timed(() => {
      rows = byHand.page(projectId, 'queue', request);
      return JSON.stringify(rows);
    }, repetitions);
    if (rows.map(({ id }) => id).join() !== cases[name].ids)
      throw new Error(`${name}: not the page that SQL by hand gives`);
    cases[name].hand = quantile(times, 0.5);
  }
  const { peak } = memoryOf(child);
  byHand.close();
  await client.close();
  await stop(child);
  const megabytes = statSync(join(folder, 'heddle.db')).size / 1024 / 1024;
  rmSync(folder, { recursive: true, force: true });
  log(`service: ${items} items`);
  return { items, importSeconds, startMs, megabytes, peak, cases };
}

/** Measures queues of the given sizes, one after the other. */
export async function measureService(sizes, repetitions, run, log) {
  const measured = [];
  for (const items of sizes) measured.push(await measureSize(items, repetitions, run, log));
  return measured;
}

/** Renders the measurement as Markdown. */
export function reportService(measured) {
  const sizes = measured.map(({ items }) => items.toLocaleString('en'));
  const files = measured.map(({ items, importSeconds, startMs, megabytes, peak }) => [
    items.toLocaleString('en'),
    `${shown(importSeconds)} s, ${Math.round(items / importSeconds).toLocaleString('en')} items/s`,
    megabytes.toFixed(0),
    startMs.toFixed(0),
    shown(peak),
  ]);
  const pages = Object.keys(measured[0].cases).map((name) => [
    name,
    ...measured.map(({ cases }) => `${shown(cases[name].service)} / ${shown(cases[name].hand)}`),
  ]);
  return `## Embedded service

Import is the whole command, file to disk. Start is from the start of the process to its first answer.

${table(['items', 'import', 'file MB', 'start ms', 'MB at most'], files)}

Milliseconds for a page of 50 items over HTTP / the same SQL by hand in the bench's process, prepared once, its rows as
JSON. For positions by hand is ROW_NUMBER over the whole queue. Medians.

${table(['page', ...sizes], pages)}`;
}
