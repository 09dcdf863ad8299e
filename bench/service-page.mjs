// A page of 50 items at offset 20 000 of a queue of 100 000, from the embedded service over HTTP, in medians.
// Run with: node --import tsx bench/service-page.mjs [items] [repetitions]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'undici';
import { openStore, startService } from '../src/service/index.ts';

const items = Number(process.argv[2] ?? 100_000);
const repetitions = Number(process.argv[3] ?? 51);
const states = ['unstarted', 'in_progress', 'completed', 'skipped'];
const operations = ['review.fix', 'review.feat', 'review.docs', 'review.change', 'review.test'];

function* lines() {
  let seed = 42;
  const random = (below) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * below);
  };
  for (let index = 0; index < items; index += 1) {
    yield JSON.stringify({
      call_id: `call-${index}`,
      call_op_name: operations[random(operations.length)],
      call_trace_id: `trace-${index}`,
      // Seconds of about two days, so that some share a time.
      call_started_at: new Date(1_750_000_000_000 + random(150_000) * 1000).toISOString(),
      call_ended_at: new Date(1_750_200_000_000).toISOString(),
      display_fields: ['inputs.question', 'output.answer'],
      added_by: index % 5000 === 0 ? 'rare' : 'importer',
      annotation_state: states[random(10) < 7 ? 0 : 1 + random(3)],
      call: { inputs: { question: `Question ${index}` }, output: { answer: `Answer ${index}` } },
    });
  }
}

const byStart = [{ field: 'call_started_at', direction: 'desc' }];
const byOperation = [
  { field: 'call_op_name', direction: 'asc' },
  { field: 'call_started_at', direction: 'desc' },
];
const byCreation = [
  { field: 'created_at', direction: 'desc' },
  { field: 'call_started_at', direction: 'asc' },
];
const unstarted = { annotation_states: ['unstarted'] };
const page = { limit: 50, offset: 20_000 };
const cases = {
  'offset 20 000, sorted': { ...page, sort_by: byStart },
  'offset 20 000, sorted, positions': { ...page, sort_by: byStart, include_position: true },
  'offset 20 000, sorted, one state': { ...page, sort_by: byStart, filter: unstarted },
  'offset 20 000, sorted, one state, positions': {
    ...page,
    sort_by: byStart,
    filter: unstarted,
    include_position: true,
  },
  'offset 20 000, default order (all created at once), one state, positions': {
    ...page,
    filter: unstarted,
    include_position: true,
  },
  'first page, one state, positions': { limit: 50, sort_by: byStart, filter: unstarted, include_position: true },
  'rare filter over the whole queue, positions': {
    limit: 50,
    sort_by: byStart,
    filter: { added_by: 'rare' },
    include_position: true,
  },
  'rare filter over the whole queue': { limit: 50, sort_by: byStart, filter: { added_by: 'rare' } },
  'two keys (operation, start desc), one state': { ...page, sort_by: byOperation, filter: unstarted },
  'two keys (operation, start desc), one state, positions': {
    ...page,
    sort_by: byOperation,
    filter: unstarted,
    include_position: true,
  },
  'two keys (creation desc, start), one state, positions': {
    ...page,
    sort_by: byCreation,
    filter: unstarted,
    include_position: true,
  },
  'two keys (operation, start desc), rare filter, positions': {
    limit: 50,
    sort_by: byOperation,
    filter: { added_by: 'rare' },
    include_position: true,
  },
};

const folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
const dataFile = join(folder, 'data', 'heddle.db');
try {
  const store = await openStore(dataFile);
  let started = performance.now();
  await store.importItems(lines(), { projectId: 'bench/page', queueId: 'queue' });
  console.log(`import of ${items} items: ${((performance.now() - started) / 1000).toFixed(1)} s`);
  await store.close();

  const account = { name: 'bench', password: 'bench-password', token: 'bench-token' };
  const service = await startService({ dataFile, account });
  const client = new Client(service.url);
  const authorization = `Basic ${Buffer.from(`${account.name}:${account.password}`).toString('base64')}`;
  const times = Object.fromEntries(Object.keys(cases).map((name) => [name, []]));
  for (let repetition = 0; repetition < repetitions; repetition += 1) {
    for (const [name, request] of Object.entries(cases)) {
      started = performance.now();
      const { statusCode, body } = await client.request({
        method: 'POST',
        path: '/annotation_queues/queue/items/query',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify({ project_id: 'bench/page', ...request }),
      });
      const answer = await body.json();
      if (statusCode !== 200 || answer.items.length === 0) throw new Error(`${name}: ${JSON.stringify(answer)}`);
      times[name].push(performance.now() - started);
    }
  }
  for (const [name, measured] of Object.entries(times)) {
    measured.sort((a, b) => a - b);
    const at = (share) => measured[Math.floor(share * (measured.length - 1))].toFixed(1).padStart(6);
    console.log(`p50 ${at(0.5)} ms   p95 ${at(0.95)} ms   ${name}`);
  }
  await client.close();
  await service.close();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
