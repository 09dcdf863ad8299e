// Load on the built `heddle serve --http`: 64 concurrent SDK clients of both eras, 20 000 calls of a page of items from
// the embedded service, after 5 000 to warm up. Fails on any error, or when memory grows: RSS at the end ÷ RSS at 10 %
// must be at most 1.2. Both are medians of several samples, because V8 collects garbage irregularly.
// Linux only (it reads /proc). Usage: npm run build && node bench/http-load.mjs [calls]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const clientCount = 64;
const warmUpCount = 5_000;
const callCount = Number(process.argv[2] ?? 20_000);
const command = fileURLToPath(new URL('../dist/heddle.js', import.meta.url));

const folder = mkdtempSync(join(tmpdir(), 'heddle-load-'));
const server = spawn(process.execPath, [command, 'serve', '--http', '--port', '0', '--data-dir', folder], {
  env: { PATH: process.env.PATH, HOME: folder },
});
let said = '';
const url = await new Promise((resolve, reject) => {
  server.once('exit', (code) => reject(new Error(`the server ended with ${code}: ${said}`)));
  server.stderr.setEncoding('utf8').on('data', (text) => {
    said += text;
    const line = /^listening on (\S+)$/m.exec(said);
    if (line) resolve(line[1]);
  });
});

const clients = await Promise.all(
  Array.from({ length: clientCount }, async (_, index) => {
    const mode = index % 2 === 0 ? { pin: '2026-07-28' } : 'legacy';
    const client = new Client({ name: 'load', version: '1.0.0' }, { versionNegotiation: { mode } });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    return client;
  }),
);

let times = [];
let errors = [];
let memory = [];

/** Makes `count` calls by all clients at once and samples memory a hundred times on the way. */
async function load(count) {
  let begun = 0;
  await Promise.all(
    clients.map(async (client) => {
      while (begun < count) {
        begun += 1;
        const sentAt = performance.now();
        try {
          const args = { queue_id: 'support-triage', limit: 50, include_position: true };
          const result = await client.callTool({ name: 'query_queue_items', arguments: args });
          if (result.isError || result.structuredContent.items.length === 0) throw new Error(JSON.stringify(result));
        } catch (error) {
          errors.push(error);
        }
        times.push(performance.now() - sentAt);
        if (times.length % Math.floor(count / 100) === 0) memory.push(rss());
      }
    }),
  );
}

// Every heap grows until it fits its work; the warm-up keeps that growth out of the measurement.
await load(warmUpCount);
if (errors.length > 0) throw errors[0];
[times, errors, memory] = [[], [], []];
const startedAt = performance.now();
await load(callCount);
const seconds = (performance.now() - startedAt) / 1000;
await Promise.all(clients.map((client) => client.close()));

server.removeAllListeners('exit');
const ended = once(server, 'exit');
server.kill('SIGTERM');
const [exitCode] = await ended;
rmSync(folder, { recursive: true, force: true });

times.sort((a, b) => a - b);
const at = (share) => Math.round(times[Math.floor(share * (times.length - 1))] * 10) / 10;
const rssAtTenth = median(memory.slice(5, 15));
const rssAtEnd = median(memory.slice(-10));
const report = {
  clients: clientCount,
  calls: times.length,
  errors: errors.length,
  calls_per_second: Math.round(times.length / seconds),
  p50_ms: at(0.5),
  p99_ms: at(0.99),
  rss_mb_at_10_percent: Math.round(rssAtTenth / 1024),
  rss_mb_at_end: Math.round(rssAtEnd / 1024),
  rss_ratio: Math.round((rssAtEnd / rssAtTenth) * 100) / 100,
  exit_code: exitCode,
};
console.log(JSON.stringify(report, null, 2));
if (errors.length > 0) console.error(errors[0]);
process.exit(errors.length > 0 || report.rss_ratio > 1.2 || exitCode !== 0 ? 1 : 0);

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}

/** Reads the resident memory of the server in kB. */
function rss() {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))[1]);
}
