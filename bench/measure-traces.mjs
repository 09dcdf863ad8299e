// Spans of OpenTelemetry: four programs send at once to one service.
import { once } from 'node:events';
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cpuOf, memoryOf, said, start, stop } from './lib/processes.mjs';
import { shown, table } from './lib/statistics.mjs';
import { cleanEnvironment, heddle, home } from './lib/subjects.mjs';

const project_id = 'bench/traces';
const senders = 4;
const clientFile = fileURLToPath(new URL('traces-client.mjs', import.meta.url));

/** Sends this many spans from four programs, and counts the calls that are there afterwards. */
export async function measureTraces(spans, run, log) {
  const folder = join(home, 'traces');
  mkdirSync(folder, { recursive: true });
  const env = { ...cleanEnvironment, HEDDLE_DATA_DIR: folder };
  const account = await run(['service', 'add-user', 'bench', '--all-projects'], env);
  const key = /password:\s+(\S+)/.exec(account)[1];
  const child = start([heddle, 'service', 'start', '--port', '0'], env, ['ignore', 'ignore', 'pipe']);
  const [url] = await said(child, 'stderr', /http:\/\/[\w.:]+/);
  const startedAt = performance.now();
  let acknowledged = 0;
  let logged = 0;
  await Promise.all(
    Array.from({ length: senders }, async () => {
      const sender = start([clientFile, url, project_id, String(Math.ceil(spans / senders))], { WANDB_API_KEY: key }, [
        'ignore',
        'pipe',
        'inherit',
      ]);
      sender.stdout.on('data', (text) => {
        for (const line of String(text).trim().split('\n')) acknowledged += Number(line);
        if (acknowledged - logged < spans / 10) return;
        logged = acknowledged;
        log(`traces: ${acknowledged.toLocaleString('en')} spans`);
      });
      const [code] = await once(sender, 'close');
      if (code !== 0) throw new Error(`a sender of spans ended with ${code}`);
    }),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  const response = await fetch(`${url}/calls/query_stats`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`bench:${key}`)}`, 'content-type': 'application/json' },
    body: JSON.stringify({ project_id }),
  });
  const { count } = await response.json();
  if (count !== acknowledged) throw new Error(`${acknowledged} spans were acknowledged and ${count} calls are there`);
  const files = readdirSync(folder).filter((name) => name.startsWith('heddle.db'));
  const measured = {
    spans: acknowledged,
    seconds,
    load: loadavg()[1],
    cpuSeconds: cpuOf(child) / 1000,
    peakMb: memoryOf(child).peak,
    bytes: files.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0),
  };
  await stop(child);
  rmSync(folder, { recursive: true, force: true });
  return measured;
}

/** Renders the measurement as Markdown. */
export function reportTraces({ spans, seconds, load, cpuSeconds, peakMb, bytes }) {
  const rounded = (value) => Math.round(value).toLocaleString('en');
  const facts = [
    ['calls a second', rounded(spans / seconds)],
    ['seconds in all', rounded(seconds)],
    ["seconds of the service's processor time", rounded(cpuSeconds)],
    ['MB of memory at most', rounded(peakMb)],
    ['bytes on disk a call', rounded(bytes / spans)],
    ['load of the machine, average of 5 minutes at the end', shown(load)],
  ];
  return `## Spans of OpenTelemetry

${rounded(spans)} spans by ${senders} programs at once into one service on SQLite, in protobuf and batches of 512. A span has about 1.2 kB, with
messages, tokens and models of the GenAI conventions.

${table(['', ''], facts)}`;
}
