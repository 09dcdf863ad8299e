// Where the time of a server goes, by V8's own profiler: what proves that a line of the budget can or cannot be met.
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StdioConnection, successOf } from './lib/protocol.mjs';
import { table } from './lib/statistics.mjs';
import { heddle, queueCall, serviceEnvironment } from './lib/subjects.mjs';

/** What a function is part of, by its name or its file; the first that fits. */
const parts = [
  ['garbage collection', /^\(garbage collector\)/],
  ['idle', /^\(idle\)/],
  [
    'reading and compiling modules',
    /compileSourceTextModule|compileFunction|wrapSafe|\/esm\/|cjs\/loader|realm:|internalBinding|evaluate |instantiate|readPackage|openFileHandle|getFileContents|: *stat|async_run|link /,
  ],
  ['stdin, stdout, sockets', /writeUtf8String|writev|net|stream|readable|writable|onStreamRead|node:buffer|Buffer/],
  ['HTTP client (undici)', /undici|wasm-function|sockets|client-h1|execute /i],
  ['JSON', /JSON|serialize|stringify|parseJson/],
  ['schemas (zod)', /zod|safeParse|runChecks|handleCatchall|inst\.|_parse|\.parse /],
  ['result: size, secrets, text', /compactTable|cell|escapeInvisible|callTool|redact|render|flat|resultOf/],
];

/** Profiles one server process through `work`; shares of its busy time by part, and the functions that take most. */
async function profile(stubUrl, work) {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-profile-'));
  const flags = ['--cpu-prof', `--cpu-prof-dir=${folder}`, '--cpu-prof-interval=200'];
  const connection = new StdioConnection([...flags, heddle], serviceEnvironment(stubUrl));
  await connection.initialize();
  connection.initialized();
  await connection.request('tools/list');
  await work(connection);
  connection.child.stdin.end();
  await once(connection.child, 'exit');
  const [file] = readdirSync(folder);
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(join(folder, file), 'utf8'));
  rmSync(folder, { recursive: true });
  const names = new Map(
    nodes.map(({ id, callFrame: { functionName, url } }) => [
      id,
      `${functionName || '(anonymous)'} ${url.split('/').slice(-2).join('/')}`,
    ]),
  );
  const byName = new Map();
  samples.forEach((id, index) => {
    const name = names.get(id);
    byName.set(name, (byName.get(name) ?? 0) + timeDeltas[index]);
  });
  const busy = [...byName].filter(([name]) => !name.startsWith('(idle)'));
  const total = busy.reduce((sum, [, time]) => sum + time, 0);
  const byPart = new Map();
  for (const [name, time] of busy) {
    const part = parts.find(([, pattern]) => pattern.test(name))?.[0] ?? 'the rest';
    byPart.set(part, (byPart.get(part) ?? 0) + time);
  }
  const shares = (entries, count) =>
    [...entries]
      .sort((a, b) => b[1] - a[1])
      .slice(0, count)
      .map(([name, time]) => [name.trim(), `${((time / total) * 100).toFixed(1)} %`, (time / 1000).toFixed(1)]);
  return { parts: shares(byPart, 10), functions: shares(busy, 12) };
}

function calls(limit, count) {
  return async (connection) => {
    let left = count;
    const lane = async () => {
      while (left-- > 0) successOf(await connection.call(...queueCall(limit)));
    };
    await Promise.all(Array.from({ length: 32 }, lane));
  };
}

/** Profiles of heddle on stdio: its start, small, middle and large pages. */
export async function measureProfiles(stubUrl, log) {
  const found = {
    'start, up to the list of tools': await profile(stubUrl, async () => {}),
    '3 000 calls, 1 item': await profile(stubUrl, calls(1, 3_000)),
    '1 500 calls, 50 items': await profile(stubUrl, calls(50, 1_500)),
    '150 calls, 1 000 items': await profile(stubUrl, calls(1000, 150)),
  };
  log('profiles taken');
  return found;
}

/** The Markdown of the profiles. */
export function reportProfiles(found) {
  const sections = Object.entries(found).map(
    ([name, { parts: byPart, functions }]) =>
      `### ${name}\n\n${table(['part', 'share', 'ms'], byPart)}\n\n${table(['function', 'share', 'ms'], functions)}`,
  );
  return `## Profiles

heddle on stdio under \`--cpu-prof\`; shares of the time in which its main thread was busy, by function name.

${sections.join('\n\n')}`;
}
