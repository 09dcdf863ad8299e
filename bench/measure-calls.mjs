// The cost of a call over stdio and HTTP, compared with the same request to the service without a server in between.
import { Pool } from 'undici';
import { cpuOf } from './lib/processes.mjs';
import { successOf } from './lib/protocol.mjs';
import { median, medianRatio, quantile, rotated, shown, table } from './lib/statistics.mjs';
import { openHttp, openStdio, queue, queueCall, servers, serviceEnvironment } from './lib/subjects.mjs';

/** Calls in one block by page size and concurrency: enough to time, few enough to take turns. */
const blocks = {
  1: { 1: 150, 32: 640 },
  50: { 1: 100, 32: 320 },
  1000: { 1: 16, 32: 64 },
};

/** Rounds that are not counted: with fewer, the processor time of small calls is mostly that of compiling. */
const warmUps = 4;

/** Servers that are also measured in revision 2026-07-28; the others speak only older ones. */
const knowsNewest = ['heddle', 'heddle, other build', 'SDK v2'];

/** The lower limit: undici and JSON.parse, nothing else. */
function bare(stubUrl) {
  const pool = new Pool(stubUrl, { connections: 32 });
  return {
    async call(_, { limit }) {
      const { body } = await pool.request({
        method: 'POST',
        path: `/annotation_queues/${queue}/items/query`,
        headers: { 'content-type': 'application/json', authorization: 'Basic YTpi' },
        body: JSON.stringify({ project_id: 'bench/page', limit }),
      });
      return JSON.parse(await body.text());
    },
    close: () => pool.destroy(),
  };
}

/** Measures one block: latencies in ms, calls a second, processor time a call in ms. */
async function block(subject, limit, concurrency, count) {
  const latencies = [];
  const cpu = () => (subject.child ? cpuOf(subject.child) : process.cpuUsage());
  const before = cpu();
  const started = performance.now();
  let left = count;
  const lane = async () => {
    while (left-- > 0) {
      const sent = performance.now();
      successOf(await subject.call(...queueCall(limit)));
      latencies.push(performance.now() - sent);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
  const seconds = (performance.now() - started) / 1000;
  const used = subject.child ? cpu() - before : ownCpu(before);
  return { latencies, rate: count / seconds, cpu: used / count };
}

function ownCpu(before) {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/**
 * Measures calls for each size and concurrency; within each of the `rounds` every subject takes its turn. `p50` and `cpu` have a
 * value for each round.
 */
export async function measureCalls(stubUrl, rounds, log, sizes = blocks, names = Object.keys(servers)) {
  const env = serviceEnvironment(stubUrl);
  const subjects = { bare: bare(stubUrl) };
  for (const name of names) {
    subjects[`${name}, stdio`] = await openStdio(name, env);
    if (!servers[name].http) continue;
    subjects[`${name}, HTTP`] = await openHttp(name, env);
    if (knowsNewest.includes(name)) subjects[`${name}, HTTP 2026-07-28`] = await openHttp(name, env, '2026-07-28');
  }
  const lines = [];
  for (const [limit, counts] of Object.entries(sizes)) {
    for (const [concurrency, count] of Object.entries(counts)) {
      const line = { limit: Number(limit), concurrency: Number(concurrency), subjects: {} };
      const found = Object.fromEntries(Object.keys(subjects).map((name) => [name, []]));
      for (let round = -warmUps; round < rounds; round += 1) {
        for (const [name, subject] of rotated(Object.entries(subjects), round + warmUps)) {
          const one = await block(subject, line.limit, line.concurrency, count);
          if (round >= 0) found[name].push(one);
        }
      }
      for (const [name, blocksOf] of Object.entries(found)) line.subjects[name] = summary(blocksOf);
      lines.push(line);
      log(`calls: ${limit} items, concurrency ${concurrency}`);
    }
  }
  for (const subject of Object.values(subjects)) await subject.close();
  return lines;
}

function summary(rounds) {
  return {
    p50: rounds.map(({ latencies }) => median(latencies)),
    p99: quantile(
      rounds.flatMap(({ latencies }) => latencies),
      0.99,
    ),
    rate: median(rounds.map(({ rate }) => rate)),
    cpu: rounds.map(({ cpu }) => cpu),
  };
}

/** Renders the measurement as Markdown. */
export function reportCalls(lines) {
  const parts = lines.map(({ limit, concurrency, subjects }) => {
    const { bare } = subjects;
    const rows = Object.entries(subjects).map(([name, { p50, p99, rate, cpu }]) => [
      name,
      `${shown(median(p50))} (${shown(medianRatio(p50, bare.p50), 'x')})`,
      shown(p99),
      rate.toFixed(0),
      `${shown(median(cpu))} (${shown(medianRatio(cpu, bare.cpu), 'x')})`,
    ]);
    const items = limit === 1 ? '1 item' : `${limit} items`;
    return `### ${items}, concurrency ${concurrency}\n\n${table(['server', 'p50 ms', 'p99 ms', 'calls/s', 'CPU ms a call'], rows)}`;
  });
  return `## Calls

\`query_queue_items\` on the stub. In brackets the ratio to bare: undici's Pool and \`JSON.parse\` in the bench itself.
The floor and the tutorials send the data twice, structured and as JSON text; heddle sends it structured and as the
compact table; fastmcp sends it once, as text. HTTP means revision 2025-11-25 unless 2026-07-28 is named. CPU is the
processor time of the server process; for bare, of the bench. Four rounds before those that count are for warming up.

${parts.join('\n\n')}`;
}
