// Time from process start to the first responses, compared with `node -e 0`, and memory.
import { setTimeout } from 'node:timers/promises';
import { cpuOf, memoryOf, said, start } from './lib/processes.mjs';
import { StdioConnection, successOf } from './lib/protocol.mjs';
import { median, medianRatio, rotated, shown, table } from './lib/statistics.mjs';
import { cleanEnvironment, queueCall, servers, serviceEnvironment } from './lib/subjects.mjs';

/** Pause between the list of tools and the first call, in ms; a model takes far longer. */
const pauseMs = 300;

/** Measures one start; with `pause` the client waits before the first call. */
async function startOnce(args, env, pause, call) {
  const started = performance.now();
  const since = () => performance.now() - started;
  const connection = new StdioConnection(args, env);
  await connection.initialize();
  const initialize = since();
  const cpu = cpuOf(connection.child);
  connection.initialized();
  await connection.request('tools/list');
  const list = since();
  const listedMb = memoryOf(connection.child).now;
  if (pause) await setTimeout(pauseMs);
  const settledMb = memoryOf(connection.child).now;
  const calls = [];
  for (let index = 0; index < 10; index += 1) {
    const before = performance.now();
    successOf(await connection.call(...call));
    calls.push(performance.now() - before);
  }
  await connection.close();
  return { initialize, cpu, list, listedMb, settledMb, first: calls[0], next: median(calls.slice(1)) };
}

/** Measures `node -e 0`: wall and processor time in ms. */
async function bareStart() {
  const started = performance.now();
  const child = start(['-e', 'const { user, system } = process.cpuUsage(); console.log(user + system)'], {}, [
    'ignore',
    'pipe',
    'ignore',
  ]);
  const [microseconds] = await said(child, 'stdout', /\d+(?=\n)/);
  return { wall: performance.now() - started, cpu: Number(microseconds) / 1000 };
}

/** Measures `rounds` starts of each subject; subjects take turns. */
export async function measureStart(stubUrl, rounds, log) {
  const env = serviceEnvironment(stubUrl);
  const remote = queueCall(1);
  const subjects = Object.entries(servers).map(([name, { stdio }]) => ({ name, args: stdio, env, call: remote }));
  subjects.splice(1, 0, {
    name: 'heddle, embedded service',
    args: servers.heddle.stdio,
    env: { ...cleanEnvironment, HEDDLE_BASE_URL: '' },
    call: ['query_queue_items', { queue_id: 'support-triage', limit: 1 }],
  });
  const measured = Object.fromEntries(subjects.map(({ name }) => [name, { bare: [], atOnce: [], paused: [] }]));
  for (let round = -1; round < rounds; round += 1) {
    for (const { name, args, env, call } of rotated(subjects, round + 1)) {
      // Measured next to each subject, so both meet the same load.
      const node = await bareStart();
      const atOnce = await startOnce(args, env, false, call);
      const paused = await startOnce(args, env, true, call);
      // The first round fills the disk cache and creates the data file of the embedded service.
      if (round < 0) continue;
      measured[name].bare.push(node);
      measured[name].atOnce.push(atOnce);
      measured[name].paused.push(paused);
    }
    log(`start: round ${round + 1} of ${rounds}`);
  }
  const bare = Object.values(measured).flatMap((one) => one.bare);
  return {
    nodeMs: median(bare.map(({ wall }) => wall)),
    nodeCpu: median(bare.map(({ cpu }) => cpu)),
    subjects: Object.fromEntries(subjects.map(({ name }) => [name, of(measured[name])])),
  };

  function of({ bare, atOnce, paused }) {
    const walls = bare.map(({ wall }) => wall);
    const all = (part) => atOnce.map((one, round) => median([one[part], paused[round][part]]));
    return {
      initialize: median(all('initialize')),
      initializeRatio: medianRatio(all('initialize'), walls),
      cpu: median(all('cpu')),
      cpuRatio: medianRatio(
        all('cpu'),
        bare.map(({ cpu }) => cpu),
      ),
      list: median(all('list')),
      listRatio: medianRatio(all('list'), walls),
      listedMb: median(atOnce.map(({ listedMb }) => listedMb)),
      settledMb: median(paused.map(({ settledMb }) => settledMb)),
      firstAtOnce: median(atOnce.map(({ first }) => first)),
      firstPaused: median(paused.map(({ first }) => first)),
      next: median(paused.map(({ next }) => next)),
    };
  }
}

/** Renders the measurement as Markdown. */
export function reportStart({ nodeMs, nodeCpu, subjects }) {
  const rows = Object.entries(subjects).map(([name, one]) => [
    name,
    `${shown(one.initialize)} (${shown(one.initializeRatio, 'x')})`,
    `${shown(one.cpu)} (${shown(one.cpuRatio, 'x')})`,
    `${shown(one.list)} (${shown(one.listRatio, 'x')})`,
    shown(one.listedMb),
    shown(one.settledMb),
    shown(one.firstAtOnce),
    shown(one.firstPaused),
    shown(one.next),
  ]);
  return `## Start

Milliseconds from the start of the process; in brackets the ratio to \`node -e 0\` (${shown(nodeMs)} ms, ${shown(nodeCpu)} ms of processor time, which a busy machine changes least). The list of
tools is asked for after the reply to \`initialize\`. Memory is resident megabytes: when the list has arrived, and
${pauseMs} ms later. First call: sent at once after the list, and after ${pauseMs} ms.

${table(
  [
    'server',
    'initialize',
    'CPU to initialize',
    'tools/list',
    'MB listed',
    'MB settled',
    'first call at once',
    'first call paused',
    'calls 2–10',
  ],
  rows,
)}`;
}
