// Memory while paging through a long queue, and while receiving very large replies.
import { cpuOf, memoryOf } from './lib/processes.mjs';
import { StdioConnection, successOf } from './lib/protocol.mjs';
import { shown, table } from './lib/statistics.mjs';
import { heddle, queueCall, serviceEnvironment } from './lib/subjects.mjs';

const pageSize = 1_000;

/** Pages through `items` items, 1 000 at a time, and samples resident megabytes at each tenth of the way. */
async function pageThrough(env, items) {
  const connection = new StdioConnection([heddle], env);
  const tenths = [];
  const started = performance.now();
  let seen = 0;
  let offset = 0;
  while (offset !== undefined && offset < items) {
    const { structuredContent } = successOf(await connection.call(...queueCall(pageSize, { offset })));
    seen += structuredContent.items.length;
    offset = structuredContent.next_offset;
    if (Math.floor((seen * 10) / items) > tenths.length) tenths.push(memoryOf(connection.child).now);
  }
  const seconds = (performance.now() - started) / 1000;
  const { peak } = memoryOf(connection.child);
  await connection.close();
  return { items: seen, seconds, tenths, peak };
}

/** Requests one inference reply of `bytes` bytes; reports the outcome and the peak memory. */
async function largeReply(env, bytes) {
  const connection = new StdioConnection([heddle], env);
  await connection.call('run_inference', { model: 'small', messages: [] });
  const before = memoryOf(connection.child).now;
  const cpuBefore = cpuOf(connection.child);
  const result = await connection.call('run_inference', { model: `bytes:${bytes}`, messages: [] });
  const { peak } = memoryOf(connection.child);
  const cpu = cpuOf(connection.child) - cpuBefore;
  const text = result.content[0].text;
  const outcome = result.isError
    ? `error ${JSON.parse(text.slice(text.indexOf('\n{') + 1)).code}`
    : `result of ${JSON.stringify(result).length} characters`;
  await connection.close();
  return { bytes, before, peak, cpu, outcome };
}

/** Measures memory over `items` paged items and for two large replies. */
export async function measureMemory(stubUrl, items, log) {
  const raised = serviceEnvironment(stubUrl);
  const { HEDDLE_MAX_RESULT_CHARS: _, ...usual } = raised;
  const paging = await pageThrough(raised, items);
  log('memory: paged through');
  const replies = [];
  for (const megabytes of [1, 30, 50]) replies.push(await largeReply(usual, megabytes * 1024 * 1024));
  log('memory: large replies');
  return { paging, replies };
}

/** Renders the measurement as Markdown. */
export function reportMemory({ paging: { items, seconds, tenths, peak }, replies }) {
  const rows = replies.map((one) => [
    `${one.bytes / 1024 / 1024} MB`,
    one.outcome,
    shown(one.before),
    shown(one.peak),
    one.cpu.toFixed(0),
  ]);
  return `## Memory

Paging through ${items.toLocaleString('en')} items, ${pageSize.toLocaleString('en')} at a time, took ${shown(seconds)} s.
Resident megabytes at each tenth of the way: ${tenths.map((one) => one.toFixed(0)).join(', ')}; the most at any time was
${shown(peak)}.

One inference reply in one piece, with the default HEDDLE_MAX_RESULT_CHARS. An answer is taken up to 32 MiB, which is
also the service's own limit for requests; beyond it the reading stops and the call is an error.

${table(['reply', 'outcome', 'MB before', 'MB at most', 'CPU ms'], rows)}`;
}
