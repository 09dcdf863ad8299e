// Recorded calls: four programs record at once into one service, then the queries that npm weave and heddle's tools send are
// timed.
import { once } from 'node:events';
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { Client } from 'undici';
import { cpuOf, memoryOf, said, start, stop } from './lib/processes.mjs';
import { median, quantile, shown, table } from './lib/statistics.mjs';
import { cleanEnvironment, heddle, home } from './lib/subjects.mjs';

const project_id = 'bench/recorded';
const clients = 4;
const clientFile = fileURLToPath(new URL('recording-client.mjs', import.meta.url));
const newestFirst = [{ field: 'started_at', direction: 'desc' }];

const field = (name) => ({ $getField: name });
const literal = (value) => ({ $literal: value });
const contains = (name, text, more = {}) => ({ $contains: { input: field(name), substr: literal(text), ...more } });
const startedFrom = (time) => ({ $gte: [field('started_at'), literal(Date.parse(time) / 1000)] });
const hasNoError = { $eq: [field('exception'), literal(null)] };
/** The condition of the tools for a plain name of an operation. */
const isNamed = (name) => ({ $or: [{ $eq: [field('op_name'), literal(name)] }, contains('op_name', `/op/${name}:`)] });
const judgementType = 'wandb.annotation.quality';
const isIn = (queue) => ({ $eq: [field('annotation_queue_items.queue_id'), literal(queue)] });
const referenceOf = (id) => `weave:///${project_id}/call/${id}`;
const feedback = ($expr) => ({ path: '/feedback/query', body: { project_id, query: { $expr } } });
const newestFeedback = { sort_by: [{ field: 'created_at', direction: 'desc' }], limit: 20 };
const hasText = (text) => ({
  $or: ['inputs', 'output'].map((name) => contains(name, text, { case_insensitive: true })),
});

const hasValue = (value) => ({ $eq: [field(`feedback.[${judgementType}].payload.value`), literal(value)] });

/** Requests by what they ask for. They need the calls that were recorded first, last and in the middle, and two queues. */
function casesOf({ oldest, newest, middle, few, many, judged }) {
  const stream = (request) => ({ path: '/calls/stream_query', body: { project_id, ...request } });
  // The default fields of the tool query_calls.
  const columns = ['op_name', 'started_at', 'exception', 'inputs', 'output'];
  const page = (request) => stream({ sort_by: newestFirst, limit: 21, columns, ...request });
  const matching = ($expr) => page({ query: { $expr } });
  const count = (request) => ({ path: '/calls/query_stats', body: { project_id, ...request } });
  const ids = newest.map(({ id }) => id);
  const { trace_id, started_at } = middle;
  return {
    'newest 21 (query_calls)': page({}),
    'newest 21, operation with a fifth of the calls': matching(isNamed('retrieve')),
    'newest 21, operation with one call in 10,000': matching(isNamed('escalate')),
    'newest 21, operation without calls': matching(isNamed('nothing')),
    'newest 21, operation by reference, all versions': page({
      filter: { op_names: [`weave:///${project_id}/op/escalate:*`] },
    }),
    'newest 21, failed': matching({ $not: [hasNoError] }),
    'newest 21, not failed': matching(hasNoError),
    'newest 21, started after the middle': matching(startedFrom(started_at)),
    'newest 21, started before the middle': matching({ $not: [startedFrom(started_at)] }),
    'newest 21, started before all': matching({ $not: [startedFrom(oldest[0].started_at)] }),
    'newest 21, started before the middle, operation with one call in 10,000': matching({
      $and: [isNamed('escalate'), { $not: [startedFrom(started_at)] }],
    }),
    'newest 21, failed, operation with one call in 10,000': matching({
      $and: [isNamed('escalate'), { $not: [hasNoError] }],
    }),
    'calls of a trace': page({ filter: { trace_ids: [trace_id] } }),
    'calls of a parent': stream({ filter: { parent_ids: [middle.id] } }),
    'roots of traces, newest 21': page({ filter: { trace_roots_only: true } }),
    '100 calls by id': stream({ filter: { call_ids: ids.slice(0, 100) }, limit: 100 }),
    'one call (getCall)': stream({ filter: { call_ids: [middle.id] }, include_costs: true, limit: 1000 }),
    'one call (/call/read)': { path: '/call/read', body: { project_id, id: middle.id } },
    'first 1,000 (getCalls)': stream({ filter: {}, include_costs: false, limit: 1000 }),
    'count of all': count({}),
    'count, operation with a fifth of the calls': count({ query: { $expr: isNamed('retrieve') } }),
    'count, operation with one call in 10,000': count({ query: { $expr: isNamed('escalate') } }),
    'count, failed': count({ query: { $expr: { $not: [hasNoError] } } }),
    'count, not failed': count({ query: { $expr: hasNoError } }),
    'count, started after the middle': count({ query: { $expr: startedFrom(started_at) } }),
    'count, started before the middle': count({ query: { $expr: { $not: [startedFrom(started_at)] } } }),
    'text that every call has, newest 21': matching(hasText('refund')),
    'text that no call has, newest 21': matching(hasText('xylophone')),
    'count, text that no call has': count({ query: { $expr: hasText('xylophone') } }),
    'count, text that every call has, up to 1,000': count({ query: { $expr: hasText('refund') }, limit: 1000 }),
    'sorted by a nested member, first 21': page({ sort_by: [{ field: 'output.score', direction: 'desc' }] }),
    'sorted by two members, first 21': page({
      sort_by: [
        { field: 'op_name', direction: 'asc' },
        { field: 'started_at', direction: 'desc' },
      ],
    }),
    'sorted by latency, first 21': page({ sort_by: [{ field: 'summary.weave.latency_ms', direction: 'desc' }] }),
    'sorted by a nested member, first 21 of an operation': page({
      sort_by: [{ field: 'output.score', direction: 'desc' }],
      query: { $expr: isNamed('judge') },
    }),
    'sorted by latency, first 21 of those that failed': page({
      sort_by: [{ field: 'summary.weave.latency_ms', direction: 'desc' }],
      query: { $expr: { $not: [hasNoError] } },
    }),
    'newest 21 of a queue with 100 calls': matching(isIn(few)),
    [`newest 21 of a queue with ${judged} calls`]: matching(isIn(many)),
    [`count of a queue with ${judged} calls`]: count({ query: { $expr: isIn(many) } }),
    [`newest 21 with a judgement that a tenth of ${judged} has`]: matching(hasValue('rare')),
    [`newest 21 with a judgement that most of ${judged} have`]: matching(hasValue('common')),
    'newest 21 with a judgement that none has': matching(hasValue('unknown')),
    [`count with a judgement that a tenth of ${judged} has`]: count({ query: { $expr: hasValue('rare') } }),
    [`count with a judgement that most of ${judged} have`]: count({ query: { $expr: hasValue('common') } }),
    'sorted by judgement, first 21': page({
      sort_by: [{ field: `feedback.[${judgementType}].payload.value`, direction: 'asc' }],
    }),
    'totals by operation (query_calls)': { path: '/calls/totals', body: { project_id } },
    [`first 50 items of a queue with ${judged}`]: {
      path: `/annotation_queues/${many}/items/query`,
      body: { project_id, limit: 50 },
    },
    'feedback of a call': feedback({ $eq: [field('weave_ref'), literal(referenceOf(newest[0].id))] }),
    'newest 20 judgements of a field': {
      path: '/feedback/query',
      body: { ...feedback({ $eq: [field('feedback_type'), literal(judgementType)] }).body, ...newestFeedback },
    },
    [`summary of ${judged} items with ${judged} judgements (summarize_queue)`]: {
      path: `/annotation_queues/${many}/items/summary`,
      body: { project_id, judgement_types: ['wandb.annotation.'] },
    },
  };
}

/** Records calls with several clients at once. Resolves to the acknowledgements, and the times of a page meanwhile. */
async function record(url, key, calls, ask, log) {
  const startedAt = performance.now();
  const acknowledged = [];
  let recorded = 0;
  let logged = 0;
  const perClient = Math.ceil(calls / clients / 5) * 5;
  const programs = Array.from({ length: clients }, async () => {
    const child = start([clientFile, url, project_id, String(perClient)], { WANDB_API_KEY: key }, [
      'ignore',
      'pipe',
      'inherit',
    ]);
    child.stdout.on('data', (text) => {
      for (const line of String(text).trim().split('\n')) recorded += Number(line);
      acknowledged.push({ ms: performance.now() - startedAt, recorded });
      if (recorded - logged < calls / 10) return;
      logged = recorded;
      log(`recording: ${recorded.toLocaleString('en')} calls`);
    });
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`a recording client ended with ${code}`);
  });
  const done = Promise.all(programs);
  let isDone = false;
  done
    .catch(() => {})
    .then(() => {
      isDone = true;
    });
  const meanwhile = { pages: [], queues: [], changes: [] };
  const timeOf = async (times, request) => {
    const asked = performance.now();
    await ask(request);
    times.push(performance.now() - asked);
  };
  while (!isDone) {
    const page = { project_id, sort_by: newestFirst, limit: 21, columns: ['id'] };
    await timeOf(meanwhile.pages, { path: '/calls/stream_query', body: page });
    await timeOf(meanwhile.queues, { path: '/annotation_queues/query', body: { project_id } });
    const object = { project_id, object_id: 'note', val: { written: meanwhile.changes.length } };
    await timeOf(meanwhile.changes, { path: '/obj/create', body: { obj: object } });
    await Promise.race([setTimeout(1000), done]);
  }
  await done;
  return { acknowledged, ...meanwhile };
}

/** Puts calls into a queue, and 100 of them into another, and judges them all. Resolves to the ids of the queues. */
async function judge(ask, calls, log) {
  const post = async (path, body) => JSON.parse(await ask({ path, body }));
  const val = { name: 'quality', field_schema: { type: 'string' } };
  const object = { project_id, object_id: 'quality', val, builtin_object_class: 'AnnotationSpec' };
  const { digest } = await post('/obj/create', { obj: object });
  const annotation_ref = `weave:///${project_id}/object/quality:${digest}`;
  const ids = calls.map(({ id }) => id);
  const queueOf = async (name, call_ids) => {
    const { id } = await post('/annotation_queues', { project_id, name, scorer_refs: [annotation_ref] });
    await post(`/annotation_queues/${id}/items`, { project_id, call_ids, display_fields: ['output'] });
    return id;
  };
  const few = await queueOf('few', ids.slice(0, 100));
  const many = await queueOf('many', ids);
  for (let start = 0; start < ids.length; start += 1000) {
    const batch = ids.slice(start, start + 1000).map((id, index) => ({
      project_id,
      weave_ref: referenceOf(id),
      feedback_type: judgementType,
      annotation_ref,
      payload: { value: index % 10 === 0 ? 'rare' : 'common' },
      queue_id: many,
      creator: 'bench',
    }));
    await post('/feedback/batch/create', { batch });
  }
  log(`recording: ${ids.length.toLocaleString('en')} judgements`);
  return { few, many, judged: ids.length.toLocaleString('en') };
}

/** Returns calls a second between two shares of all calls. */
function rateBetween(acknowledged, from, to) {
  const total = acknowledged.at(-1).recorded;
  const at = (share) => acknowledged.find(({ recorded }) => recorded >= share * total);
  const [first, last] = [from === 0 ? { ms: 0, recorded: 0 } : at(from), at(to)];
  return ((last.recorded - first.recorded) / (last.ms - first.ms)) * 1000;
}

/** Returns the bytes of a database on PostgreSQL, without its log. */
async function bytesOfDatabase(database) {
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  const { rows } = await client.query('SELECT pg_database_size(current_database()) AS bytes');
  await client.end();
  return Number(rows[0].bytes);
}

function bytesIn(folder) {
  return readdirSync(folder)
    .filter((name) => name.startsWith('heddle.db'))
    .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

/** Times a query after a warm-up, for up to `maxMs`. */
async function timed(work, repetitions, maxMs) {
  const times = [];
  const until = performance.now() + maxMs;
  await work();
  do {
    const started = performance.now();
    await work();
    times.push(performance.now() - started);
  } while (times.length < repetitions && performance.now() < until);
  return times;
}

/**
 * Records this many calls, and times queries of them.
 * @param database URL of an empty database on PostgreSQL; SQLite if undefined.
 * @param textIndex whether the service keeps an index of texts.
 */
export async function measureRecording(calls, { repetitions, database, textIndex }, run, log) {
  const folder = join(home, 'recording');
  mkdirSync(folder, { recursive: true });
  const env = {
    ...cleanEnvironment,
    HEDDLE_DATA_DIR: folder,
    ...(database && { HEDDLE_DATABASE_URL: database }),
    ...(textIndex && { HEDDLE_TEXT_INDEX: 'on' }),
  };
  const account = await run(['service', 'add-user', 'bench', '--all-projects'], env);
  const key = /password:\s+(\S+)/.exec(account)[1];
  const child = start([heddle, 'service', 'start', '--port', '0'], env, ['ignore', 'ignore', 'pipe']);
  const [url] = await said(child, 'stderr', /http:\/\/[\w.:]+/);
  const client = new Client(url, { headersTimeout: 0, bodyTimeout: 0 });
  const authorization = `Basic ${Buffer.from(`bench:${key}`).toString('base64')}`;
  const ask = async ({ path, body }) => {
    const headers = { authorization, 'content-type': 'application/json' };
    const response = await client.request({ method: 'POST', path, headers, body: JSON.stringify(body) });
    const text = await response.body.text();
    if (response.statusCode !== 200) throw new Error(`${path}: ${text.slice(0, 500)}`);
    return text;
  };
  const { acknowledged, pages, queues, changes } = await record(url, key, calls, ask, log);
  const recording = {
    calls: acknowledged.at(-1).recorded,
    seconds: acknowledged.at(-1).ms / 1000,
    tenths: Array.from({ length: 10 }, (_, tenth) => rateBetween(acknowledged, tenth / 10, (tenth + 1) / 10)),
    load: loadavg()[1],
    cpuSeconds: cpuOf(child) / 1000,
    bytes: database ? await bytesOfDatabase(database) : bytesIn(folder),
    engine: database ? 'PostgreSQL' : 'SQLite',
    peakMb: memoryOf(child).peak,
    pageMs: median(pages),
    slowestPageMs: quantile(pages, 1),
    queuesMs: median(queues),
    slowestQueuesMs: quantile(queues, 1),
    changeMs: median(changes),
    slowestChangeMs: quantile(changes, 1),
  };
  const count = JSON.parse(await ask({ path: '/calls/query_stats', body: { project_id } })).count;
  if (count !== recording.calls) throw new Error(`${recording.calls} calls were acknowledged and ${count} are there`);
  const found = async (request) => {
    const body = { project_id, columns: ['id', 'trace_id', 'started_at', 'op_name'], ...request };
    const text = await ask({ path: '/calls/stream_query', body });
    return text.trim().split('\n').map(JSON.parse);
  };
  const isRoot = { trace_roots_only: true };
  const [middle] = await found({ filter: isRoot, limit: 1, offset: Math.floor(recording.calls / 10) });
  const known = {
    oldest: await found({ limit: 1 }),
    newest: await found({ limit: 100, sort_by: newestFirst }),
    middle,
  };
  Object.assign(known, await judge(ask, await found({ limit: 100_000, columns: ['id'] }), log));
  const queries = {};
  for (const [name, request] of Object.entries(casesOf(known))) {
    const text = await ask(request);
    const rows = request.path === '/calls/stream_query' ? text.split('\n').filter(Boolean).length : text;
    const times = await timed(() => ask(request), repetitions, 3_000);
    queries[name] = { ms: median(times), rows };
    log(`recording, ${name}: ${shown(queries[name].ms)} ms (${String(rows).slice(0, 40)})`);
  }
  const peakOfQueriesMb = memoryOf(child).peak;
  await client.close();
  await stop(child);
  rmSync(folder, { recursive: true, force: true });
  return { ...recording, peakOfQueriesMb, queries };
}

/** Renders the measurement as Markdown. */
export function reportRecording(measured) {
  const { calls, seconds, tenths, load, cpuSeconds, bytes, engine, peakMb, peakOfQueriesMb } = measured;
  const { pageMs, slowestPageMs, queuesMs, slowestQueuesMs, changeMs, slowestChangeMs } = measured;
  // A tenth that is smaller than a batch has no rate.
  const rounded = (value) => (Number.isFinite(value) ? Math.round(value).toLocaleString('en') : '–');
  const facts = [
    ['calls a second', rounded(calls / seconds)],
    ['calls a second, each tenth of the calls', tenths.map(rounded).join(', ')],
    ['load of the machine, average of 5 minutes at the end', shown(load)],
    ['seconds in all', rounded(seconds)],
    ["seconds of the service's processor time", rounded(cpuSeconds)],
    ['bytes on disk a call', rounded(bytes / calls)],
    ['MB of memory at most, while recording', rounded(peakMb)],
    ['MB of memory at most, with the queries after it', rounded(peakOfQueriesMb)],
    ['ms for a page of 21 while recording, median', rounded(pageMs)],
    ['ms for a page of 21 while recording, slowest', rounded(slowestPageMs)],
    ['ms for the list of queues while recording, median', rounded(queuesMs)],
    ['ms for the list of queues while recording, slowest', rounded(slowestQueuesMs)],
    ['ms to store an object while recording, median', rounded(changeMs)],
    ['ms to store an object while recording, slowest', rounded(slowestChangeMs)],
  ];
  const queries = Object.entries(measured.queries).map(([name, { ms }]) => [name, shown(ms)]);
  return `## Recorded calls

${rounded(calls)} calls by ${clients} programs at once into one service on ${engine}, in batches as npm weave 0.11.1 sends them when more
calls wait than one batch holds. Inputs and output of a call have about 1 kB.

${table(['recording', ''], facts)}

Milliseconds over HTTP, medians.

${table(['query', 'ms'], queries)}`;
}
