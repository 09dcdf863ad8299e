// What include_call costs at the embedded service over HTTP: a page of 50 items, one call, the page and its 50 calls.
// Client and service share a process, as they do when no service is configured. CPU time is what other load does not change.
// Run with: node --import tsx bench/service-calls.mjs [repetitions] [calls at once]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'undici';
import { openStore, startService } from '../src/service/index.ts';

const repetitions = Number(process.argv[2] ?? 101);
const connections = Number(process.argv[3] ?? 50);
const project_id = 'bench/calls';
const call_ids = Array.from({ length: 50 }, (_, index) => `call-${index}`);

const folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
const dataFile = join(folder, 'data', 'heddle.db');
try {
  const store = await openStore(dataFile);
  const lines = call_ids.map((call_id) =>
    JSON.stringify({
      call_id,
      call_op_name: 'support.answer',
      call_trace_id: `trace-${call_id}`,
      call_started_at: '2026-01-12T09:00:00Z',
      display_fields: ['inputs.question', 'output.answer'],
      call: { inputs: { question: 'Why? '.repeat(40) }, output: { answer: 'Because. '.repeat(40) } },
    }),
  );
  await store.importItems(lines, { projectId: project_id, queueId: 'queue' });
  // A stored account, as the standalone service has them; the implicit one of a process costs less.
  const { name, password } = await store.addUser('bench');
  await store.close();

  const service = await startService({ data: dataFile });
  const pool = new Pool(service.url, { connections });
  const authorization = `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
  const post = async (path, body) => {
    const answer = await pool.request({
      method: 'POST',
      path,
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ project_id, ...body }),
    });
    const value = await answer.body.json();
    if (answer.statusCode !== 200) throw new Error(JSON.stringify(value));
    return value;
  };
  const page = () => post('/annotation_queues/queue/items/query', { limit: 50 });
  const read = (id) => post('/call/read', { id });
  const cases = {
    'page of 50 items': page,
    'one call': () => read('call-25'),
    '50 calls at once': () => Promise.all(call_ids.map(read)),
    'page, then its 50 calls at once': async () => {
      const { items } = await page();
      await Promise.all(items.map(({ call_id }) => read(call_id)));
    },
  };
  const times = Object.fromEntries(Object.keys(cases).map((name) => [name, []]));
  const cpu = Object.fromEntries(Object.keys(cases).map((name) => [name, []]));
  for (let repetition = -20; repetition < repetitions; repetition += 1) {
    for (const [name, run] of Object.entries(cases)) {
      const before = process.cpuUsage();
      const started = performance.now();
      await run();
      if (repetition < 0) continue;
      times[name].push(performance.now() - started);
      const { user, system } = process.cpuUsage(before);
      cpu[name].push((user + system) / 1000);
    }
  }
  for (const [name, measured] of Object.entries(times)) {
    const at = (values, share) =>
      values
        .sort((a, b) => a - b)
        [Math.floor(share * (values.length - 1))].toFixed(2)
        .padStart(7);
    console.log(`p50 ${at(measured, 0.5)} ms   p95 ${at(measured, 0.95)} ms   CPU ${at(cpu[name], 0.5)} ms   ${name}`);
  }
  await pool.close();
  await service.close();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
