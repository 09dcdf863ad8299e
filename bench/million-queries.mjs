// Calls tools on a queue of 1,000,000 recorded calls with 100,000 judgements, and measures how long a client waits: with every filter and
// every order, at the beginning, deep in the queue and past its end, and with names that nobody has. Claims end after a minute. A tool may send several requests.
// Prints the calls that take longer than a second, or the slowest ten if they are fewer.
// Run with: npm run build && node bench/million-queries.mjs --data=FOLDER
import { createHash } from 'node:crypto';
import { createWriteStream, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { Client } from 'undici';
import { cpuOf, said, start, stop } from './lib/processes.mjs';
import { StdioConnection } from './lib/protocol.mjs';
import { shown, table } from './lib/statistics.mjs';
import { cleanEnvironment, heddle, home, run } from './lib/subjects.mjs';

const usage = `node bench/million-queries.mjs --data=FOLDER [FLAGS]
--data=FOLDER     where the data is kept for the next run; filling it takes some minutes
--database=URL    keeps the data in an empty database of PostgreSQL instead
--items=1000000   number of items, when the folder is filled
--ratings         fills the folder with values from 1 to 5 drawn at random, on most of which annotators differ
--only=TEXT       asks only the queries whose names have this text
--digests         prints a digest of each answer`;
const { values: flags } = parseArgs({
  options: {
    data: { type: 'string' },
    database: { type: 'string' },
    items: { type: 'string', default: '1000000' },
    ratings: { type: 'boolean' },
    only: { type: 'string', default: '' },
    digests: { type: 'boolean' },
  },
});
if (flags.data === undefined) {
  console.error(usage);
  process.exit(2);
}

const project = 'bench/million';
const environment = {
  ...cleanEnvironment,
  HEDDLE_DATA_DIR: flags.data,
  ...(flags.database && { HEDDLE_DATABASE_URL: flags.database }),
};
const annotators = ['ana', 'ben'];
const operations = ['review.fix', 'review.feat', 'review.docs', 'review.change', 'review.test'];
const states = ['in_progress', 'completed', 'skipped'];
const firstStart = 1_750_000_000_000;
const secondsOfStarts = 150_000;

/** Returns a function that draws whole numbers below a bound, the same ones in each run. */
function randomNumbers() {
  let seed = 42;
  return (below) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * below);
  };
}

/** Writes the items as lines: a hundredth of the calls failed, a five-thousandth was added by somebody else. */
async function writeItems(file, count) {
  const random = randomNumbers();
  const stream = createWriteStream(file);
  for (let index = 0; index < count; index += 1) {
    const startedAt = firstStart + random(secondsOfStarts) * 1000;
    const line = {
      call_id: `call-${index}`,
      call_op_name: operations[random(operations.length)],
      call_trace_id: `trace-${Math.floor(index / 5)}`,
      call_started_at: new Date(startedAt).toISOString(),
      call_ended_at: new Date(startedAt + 100 + random(10_000)).toISOString(),
      display_fields: ['inputs.question', 'output.answer'],
      added_by: index % 5000 === 0 ? 'rare' : 'importer',
      annotation_state: random(10) < 7 ? 'unstarted' : states[random(3)],
      call: {
        inputs: { question: `Question ${index}` },
        output: { answer: `Answer ${index}`, score: random(1000) },
        ...(random(100) === 0 && { exception: 'TimeoutError: no answer' }),
      },
    };
    if (!stream.write(`${JSON.stringify(line)}\n`)) await new Promise((resolve) => stream.once('drain', resolve));
  }
  stream.end();
  await finished(stream);
}

function connectionTo(url, password, user) {
  const client = new Client(url, { headersTimeout: 0, bodyTimeout: 0 });
  const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  const ask = async (path, body) => {
    const headers = { authorization, 'content-type': 'application/json' };
    const response = await client.request({ method: 'POST', path, headers, body: JSON.stringify(body) });
    const text = await response.body.text();
    if (response.statusCode !== 200) throw new Error(`${path}: ${text.slice(0, 500)}`);
    return JSON.parse(text);
  };
  return { ask, close: () => client.close() };
}

async function startService() {
  const child = start([heddle, 'service', 'start', '--port', '0'], environment, ['ignore', 'ignore', 'pipe']);
  const [url] = await said(child, 'stderr', /http:\/\/[\w.:]+/);
  return { child, url };
}

/** Fills the folder: imports the items, and judges and completes every twentieth item by each annotator. */
async function fill(count) {
  mkdirSync(flags.data, { recursive: true });
  const source = join(home, 'items.jsonl');
  await writeItems(source, count);
  console.error(`importing ${count.toLocaleString('en')} items`);
  const field = `quality:${flags.ratings ? 'number' : 'string'}`;
  const target = ['--project', project, '--queue', 'queue', '--field', field];
  await run(['service', 'import', source, ...target], environment);
  rmSync(source);
  const passwords = {};
  for (const user of annotators) {
    const account = await run(['service', 'add-user', user, '--all-projects'], environment);
    passwords[user] = /password:\s+(\S+)/.exec(account)[1];
  }
  const { child, url } = await startService();
  // The list of queues is one JSON text a line.
  const ana = connectionTo(url, passwords.ana, 'ana');
  const [annotation_ref] = (await ana.ask('/annotation_queues/query', { project_id: project })).scorer_refs;
  await ana.close();
  for (const user of annotators) {
    const random = randomNumbers();
    const named = () => (random(20) === 0 && user === 'ben' ? 'rare' : 'common');
    // Both draw from the same numbers, of which ben takes every second one.
    const rating = () => 1 + (user === 'ben' ? [random(5), random(5)][1] : random(5));
    const { ask, close } = connectionTo(url, passwords[user], user);
    const judged = Array.from({ length: count / 20 }, (_, at) => at * 20);
    for (let from = 0; from < judged.length; from += 1000) {
      const batch = judged.slice(from, from + 1000).map((index) => ({
        project_id: project,
        weave_ref: `weave:///${project}/call/call-${index}`,
        feedback_type: 'wandb.annotation.quality',
        annotation_ref,
        payload: { value: flags.ratings ? rating() : named() },
        queue_id: 'queue',
      }));
      await ask('/feedback/batch/create', { batch });
      const call_ids = batch.map(({ weave_ref }) => weave_ref.split('/').at(-1));
      const items = await ask('/annotation_queues/queue/items/query', { project_id: project, filter: { call_ids } });
      const updates = items.items.map(({ id }) => ({ item_id: id, annotation_state: 'completed' }));
      await ask('/annotation_queues/queue/progress', { project_id: project, updates });
    }
    await close();
    console.error(`${judged.length.toLocaleString('en')} judgements of ${user}`);
  }
  await stop(child);
  writeFileSync(join(flags.data, 'accounts.json'), JSON.stringify({ count, passwords }), { mode: 0o600 });
}

const timeAt = (share) => new Date(firstStart + secondsOfStarts * 1000 * share).toISOString();

/** Filters of items by name. */
function itemFilters(count) {
  const ids = Array.from({ length: 200 }, (_, at) => `call-${at * Math.floor(count / 200)}`);
  const onCalls = {
    none: {},
    unstarted: { annotation_states: ['unstarted'] },
    operation: { call_op_name: 'review.fix' },
    'added by few': { added_by: 'rare' },
    '200 ids': { ids },
    'text of few': { text: 'Question 77' },
    'text of many': { text: 'Question 7' },
    'text of none': { text: 'xylophone' },
    failed: { has_error: true },
    'not failed': { has_error: false },
    'started after the middle': { started_after: timeAt(0.5) },
    'started before the middle': { started_before: timeAt(0.5) },
    'started before all': { started_before: timeAt(-1) },
    'started after all': { started_after: timeAt(2) },
    'latency above half': { latency_above: 5 },
    'latency above all': { latency_above: 1000 },
    'an operation that no call has': { call_op_name: 'review.fxi' },
    'an id that no item has': { ids: ['call-x'] },
    'added by nobody': { added_by: 'nobody' },
  };
  const onJudgements = {
    'judged by ben': { judged_by: 'ben' },
    'judged by all names': { judged_by: '*' },
    'judged by me': { judged_by: 'me' },
    field: { field: 'quality' },
    'rare value': { field: 'quality', value: 'rare' },
    'common value': { field: 'quality', value: 'common' },
    'judged by two': { judged_at_least: 2 },
    'judged by three': { judged_at_least: 3 },
    disputed: { disagreement: true },
    'not disputed': { disagreement: false },
    'unjudged by me': { unjudged_by_me: true },
    'judged by a name that nobody has': { judged_by: 'bne' },
    'a field that nobody judged': { field: 'qualty' },
    'a value that nobody gave': { field: 'quality', value: 'none' },
  };
  const both = Object.entries(onJudgements).flatMap(([name, filter]) => [
    [`${name}, unstarted`, { ...filter, annotation_states: ['unstarted'] }],
    [`${name}, operation`, { ...filter, call_op_name: 'review.fix' }],
    [`${name}, not failed`, { ...filter, has_error: false }],
    [`${name}, started after the middle`, { ...filter, started_after: timeAt(0.5) }],
  ]);
  return { ...onCalls, ...onJudgements, ...Object.fromEntries(both) };
}

/** The calls of tools by name. */
function casesOf(count) {
  const cases = {};
  const queue_id = 'queue';
  const deep = { offset: Math.floor(count / 5) };
  const orders = {
    'by operation, most disputed first': {
      sort_by: [
        { field: 'call_op_name', direction: 'asc' },
        { field: 'disagreement', direction: 'desc' },
      ],
    },
    'most disputed first': { sort_by: [{ field: 'disagreement', direction: 'desc' }] },
    'in order': {},
    'newest first': { sort_by: [{ field: 'created_at', direction: 'desc' }] },
    'by start': { sort_by: [{ field: 'call_started_at', direction: 'desc' }] },
    'by two keys': {
      sort_by: [
        { field: 'call_op_name', direction: 'asc' },
        { field: 'call_started_at', direction: 'desc' },
      ],
    },
    'by latency': { sort_by: [{ field: 'latency', direction: 'desc' }] },
  };
  for (const [named, filter] of Object.entries(itemFilters(count))) {
    // Of filters with two conditions, two orders show enough.
    for (const [ordered, order] of Object.entries(orders).slice(named.includes(', ') ? -2 : 0)) {
      const page = { queue_id, filter, limit: 50, ...order };
      const name = `items: ${named}; ${ordered}`;
      cases[name] = ['query_queue_items', page];
      cases[`${name}, positions`] = ['query_queue_items', { ...page, include_position: true }];
      cases[`${name}, deep`] = ['query_queue_items', { ...page, ...deep }];
    }
    cases[`items: ${named}; past the end`] = ['query_queue_items', { queue_id, filter, offset: 2 * count }];
    cases[`items: ${named}; with calls and judgements`] = [
      'query_queue_items',
      { queue_id, filter, limit: 50, include_call: true, include_judgements: true },
    ];
    for (const by of [['state'], ['operation', 'state'], ['annotator', 'field'], ['day']])
      cases[`summary: ${named}; by ${by.join(' and ')}`] = ['summarize_queue', { queue_id, filter, by }];
    cases[`summary: ${named}; disagreements`] = ['summarize_queue', { queue_id, filter, disagreements: 20 }];
    cases[`board: ${named}`] = ['review_queue', { queue_id, filter }];
    cases[`board: ${named}; first page`] = ['review_queue', { queue_id, filter, limit: 20 }];
    for (const order of ['oldest', 'newest'])
      cases[`claim: ${named}; ${order}`] = ['claim_queue_items', { queue_id, filter, order, n: 5, minutes: 1 }];
  }
  cases.board = ['review_queue', { queue_id }];
  for (const [named, filter] of Object.entries({ 'to do': {}, operation: { call_op_name: 'review.fix' } }))
    for (const view of ['unfinished_by_me', 'disagreement', 'lacks_value']) {
      const page = { queue_id, filter: { ...filter, [view]: true }, limit: 20 };
      cases[`board: ${named}, ${view}`] = ['review_queue', page];
      cases[`board: ${named}, ${view}; deep`] = ['review_queue', { ...page, offset: 1000 }];
    }
  cases['add: of a filter, dry run'] = [
    'add_queue_items',
    { queue_id, filter: { op_name: 'review.fix' }, dry_run: true },
  ];
  cases['add: two calls, dry run'] = ['add_queue_items', { queue_id, call_ids: ['call-1', 'call-2'], dry_run: true }];
  const change = { annotation_state: 'skipped' };
  cases['update: added by few, dry run'] = [
    'update_queue_items',
    { queue_id, filter: { added_by: 'rare' }, change, dry_run: true },
  ];
  const items = Array.from({ length: 100 }, (_, at) => ({ call_id: `call-${at}`, ...change }));
  cases['update: 100 calls, dry run'] = ['update_queue_items', { queue_id, items, dry_run: true }];
  cases.queues = ['list_queues', {}];
  cases['claim: of two reviewers'] = ['claim_queue_items', { queue_id, reviewers_per_item: 2, n: 5, minutes: 1 }];
  const callFilters = {
    none: {},
    operation: { op_name: 'review.fix' },
    failed: { has_error: true },
    'not failed': { has_error: false },
    'started after the middle': { started_after: timeAt(0.5) },
    'started before the middle': { started_before: timeAt(0.5) },
    'started before all': { started_before: timeAt(-1) },
    trace: { trace_id: 'trace-7' },
    'latency above half': { latency_above: 5 },
    'latency above all': { latency_above: 1000 },
    'text of all': { text: 'Question' },
    'text of none': { text: 'xylophone' },
    'an operation that no call has': { op_name: 'review.fxi' },
    'failed, operation': { has_error: true, op_name: 'review.fix' },
    'not failed, after the middle': { has_error: false, started_after: timeAt(0.5) },
  };
  const callOrders = {
    'in order': {},
    'oldest first': { sort_by: [{ field: 'started_at', direction: 'asc' }] },
    'by operation': { sort_by: [{ field: 'op_name', direction: 'asc' }] },
    'by latency': { sort_by: [{ field: 'latency', direction: 'desc' }] },
    'by score': { sort_by: [{ field: 'output.score', direction: 'desc' }] },
  };
  for (const [named, filter] of Object.entries(callFilters)) {
    for (const [ordered, order] of Object.entries(callOrders))
      cases[`calls: ${named}; ${ordered}`] = ['query_calls', { filter, ...order }];
    cases[`calls: ${named}; deep`] = ['query_calls', { filter, ...deep }];
    cases[`calls: ${named}; past the end`] = ['query_calls', { filter, offset: 2 * count }];
    cases[`calls: ${named}; totals`] = ['query_calls', { filter, totals: true }];
  }
  return cases;
}

if (!existsSync(join(flags.data, 'accounts.json'))) await fill(Number(flags.items));
const { count, passwords } = JSON.parse(readFileSync(join(flags.data, 'accounts.json'), 'utf8'));
const { child, url } = await startService();
const server = new StdioConnection([heddle], {
  ...cleanEnvironment,
  HEDDLE_BASE_URL: url,
  HEDDLE_USERNAME: 'ana',
  HEDDLE_PASSWORD: passwords.ana,
  HEDDLE_PROJECT: project,
  HEDDLE_MAX_RESULT_CHARS: '200000',
});
await server.initialize();
server.initialized();
const measured = [];
for (const [name, [tool, args]] of Object.entries(casesOf(count))) {
  if (!name.includes(flags.only)) continue;
  const cpuBefore = cpuOf(child);
  const startedAt = performance.now();
  const { isError, content } = await server.call(tool, args);
  const { text } = content[0];
  const seconds = (performance.now() - startedAt) / 1000;
  const cpuSeconds = (cpuOf(child) - cpuBefore) / 1000;
  const digest = createHash('sha256')
    .update(text.replaceAll(/\d{4}-\d{2}-\d{2}T\S+/g, ''))
    .digest('hex')
    .slice(0, 8);
  measured.push({ name, seconds, cpuSeconds });
  // Unknown names are refused.
  const hasFailed = isError && !/ that no|by nobody/.test(name);
  if (flags.digests || seconds > 1 || hasFailed)
    console.error(
      `${seconds.toFixed(2)}  ${name}  ${flags.digests ? digest : ''} ${hasFailed ? 'FAILED ' : ''}${text.slice(0, 80).replaceAll('\n', ' ')}`,
    );
}
await server.close();
await stop(child);
rmSync(home, { recursive: true, force: true });
const slowest = measured.toSorted((a, b) => b.seconds - a.seconds);
const above = slowest.filter(({ seconds }) => seconds > 1);
console.log(`${measured.length} queries, ${above.length} above a second. The slowest:\n`);
console.log(
  table(
    ['query', 's', "s of the service's processor time"],
    slowest
      .slice(0, Math.max(10, above.length))
      .map(({ name, seconds, cpuSeconds }) => [name, shown(seconds), shown(cpuSeconds)]),
  ),
);
