// Where the time of heddle goes, by V8's own profiler and the build's source maps: what proves that a line of the budget
// can or cannot be met.
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { serverChunks } from '../scripts/server-chunks.mjs';
import { StdioConnection, successOf } from './lib/protocol.mjs';
import { table } from './lib/statistics.mjs';
import { heddle, home, queueCall, serviceEnvironment } from './lib/subjects.mjs';

/** A build like the one in dist/, and the source map of each of its chunks by file name. */
async function mappedBuild() {
  const folder = join(home, 'profiled');
  const [digest] = readdirSync(join(dirname(heddle), 'chunks'), { withFileTypes: true }).filter((one) =>
    one.isDirectory(),
  );
  const chunks = join(folder, 'chunks', digest.name);
  mkdirSync(chunks, { recursive: true });
  copyFileSync(heddle, join(folder, 'heddle.js'));
  const { texts } = await serverChunks({ sourcemap: true });
  const maps = new Map();
  for (const [name, text] of Object.entries(texts)) {
    if (name.endsWith('.map')) maps.set(name.slice(0, -'.map'.length), new SourceMap(JSON.parse(text)));
    else writeFileSync(join(chunks, name), text);
  }
  return { command: join(folder, 'heddle.js'), maps };
}

/** What a function is part of; undefined for one of V8 itself, which works for whoever calls it. */
function partOf({ functionName, url, lineNumber, columnNumber }, maps) {
  if (functionName === '(garbage collector)') return 'garbage collection';
  if (functionName === '(idle)') return 'idle';
  if (functionName === '(program)' || functionName === '(root)') return 'V8 outside of functions';
  if (url.startsWith('node:')) return /\/(cjs|esm)\/|realm|vm$/.test(url) ? 'Node: loading modules' : 'Node';
  const map = maps.get(url.split('/').at(-1));
  if (!map) return url.endsWith('heddle.js') ? 'heddle: entry and kept code' : undefined;
  const { originalSource = '' } = map.findEntry(lineNumber, columnNumber);
  const packageName = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(originalSource)?.[1];
  if (packageName?.startsWith('@modelcontextprotocol')) return 'MCP SDK';
  if (packageName) return packageName;
  const layer = /src\/(\w+)\//.exec(originalSource)?.[1];
  return layer ? `heddle: ${layer}` : 'loading of parts of the bundle';
}

/** Milliseconds by part, of the samples between two times of the system's clock in microseconds. */
function timesByPart({ nodes, samples, timeDeltas, startTime }, maps, [from, to]) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const partsById = new Map();
  const visit = (id, part) => {
    const { callFrame, children = [] } = byId.get(id);
    const own = partOf(callFrame, maps) ?? part;
    partsById.set(id, own);
    for (const child of children) visit(child, own);
  };
  visit(nodes[0].id);
  const times = new Map();
  let at = startTime;
  samples.forEach((id, index) => {
    at += timeDeltas[index];
    if (at < from || at > to) return;
    const part = partsById.get(id);
    times.set(part, (times.get(part) ?? 0) + timeDeltas[index] / 1000);
  });
  times.delete('idle');
  return times;
}

const now = () => Number(process.hrtime.bigint() / 1000n);

/** Profiles one server process through `work`, which says when the time of interest begins and ends. */
async function profile(stubUrl, { command, maps }, work) {
  const folder = mkdtempSync(join(home, 'profile-'));
  const flags = ['--cpu-prof', `--cpu-prof-dir=${folder}`, '--cpu-prof-interval=100'];
  // Code that is kept while profiling, for profiling.
  const env = { ...serviceEnvironment(stubUrl), XDG_CACHE_HOME: dirname(command) };
  const connection = new StdioConnection([...flags, command], env);
  const span = await work(connection);
  connection.child.stdin.end();
  await once(connection.child, 'exit');
  const [file] = readdirSync(folder);
  return timesByPart(JSON.parse(readFileSync(join(folder, file), 'utf8')), maps, span);
}

async function start(connection) {
  const from = now() - 1e6;
  await connection.initialize();
  const to = now();
  connection.initialized();
  await connection.request('tools/list');
  return [from, to];
}

function firstCall(pauseMs) {
  return async (connection) => {
    await start(connection);
    await setTimeout(pauseMs);
    const from = now();
    successOf(await connection.call(...queueCall(1)));
    return [from, now()];
  };
}

function calls(limit, count) {
  return async (connection) => {
    await start(connection);
    const many = async (left) => {
      for (; left > 0; left--) successOf(await connection.call(...queueCall(limit)));
    };
    await many(count / 2);
    const from = now();
    await many(count);
    return [from, now()];
  };
}

/** What is profiled: the work, how often it is done in one process, and in how many processes. */
const subjects = {
  'start, to the reply to `initialize`': { work: start, each: 1, processes: 7 },
  'first call, at once after the list': { work: firstCall(0), each: 1, processes: 7 },
  'first call, 300 ms after the list': { work: firstCall(300), each: 1, processes: 7 },
  '1 item': { work: calls(1, 2_000), each: 2_000, processes: 1 },
  '50 items': { work: calls(50, 1_000), each: 1_000, processes: 1 },
  '1 000 items': { work: calls(1000, 200), each: 200, processes: 1 },
};

/** Profiles of heddle on stdio, one request at a time: start, first call, small, middle and large pages. */
export async function measureProfiles(stubUrl, log) {
  const build = await mappedBuild();
  // The first process keeps the code that the others start with.
  await profile(stubUrl, build, calls(1, 10));
  const found = {};
  for (const [name, { work, each, processes }] of Object.entries(subjects)) {
    const sum = new Map();
    for (let left = processes; left > 0; left--) {
      for (const [part, ms] of await profile(stubUrl, build, work)) {
        sum.set(part, (sum.get(part) ?? 0) + ms / each / processes);
      }
    }
    found[name] = [...sum].sort((a, b) => b[1] - a[1]);
    log(`profile: ${name}`);
  }
  return found;
}

/** The Markdown of the profiles. */
export function reportProfiles(found) {
  const sections = Object.entries(found).map(([name, parts]) => {
    const total = parts.reduce((sum, [, ms]) => sum + ms, 0);
    const rows = parts
      .filter(([, ms]) => ms > total / 200)
      .map(([part, ms]) => [part, ms.toFixed(3), `${((ms / total) * 100).toFixed(1)} %`]);
    return `### ${name}\n\n${table(['part', 'ms', 'share'], [...rows, ['all', total.toFixed(3), '']])}`;
  });
  return `## Profiles

heddle on stdio under \`--cpu-prof\`, one request at a time: milliseconds of one start or call in which its main thread was
busy, by the package or folder that a function comes from. What V8 does for a function, like reading and writing JSON,
counts for that function. Profiling itself makes everything slower.

${sections.join('\n\n')}`;
}
