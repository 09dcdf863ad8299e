// One table for readers who know none of the terms below it: what heddle costs beside servers that do less, and what each promises.
import { median, shown, table } from './lib/statistics.mjs';

const promises = {
  heddle:
    'arguments and responses of the service checked, secrets removed, sizes and times limited, safe requests repeated, a table for the model',
  floor: 'nothing: JSON-RPC by hand, no SDK, no schema',
  'SDK v2': "arguments and result checked with zod, as in the SDK's tutorial",
  'SDK v1': "arguments and result checked with zod, as in the SDK's tutorial",
  fastmcp: 'arguments checked with zod; the result as JSON text only',
};

/** Renders the first table of the report from the measurements of one run. */
export function reportOverview({ start, calls }) {
  const p50 = (name, limit, transport) => {
    const { subjects } = calls.find((line) => line.limit === limit && line.concurrency === 1);
    const measured = subjects[`${name}, ${transport}`];
    return shown(measured && median(measured.p50));
  };
  const rows = Object.entries(promises).map(([name, text]) => {
    const { list, firstPaused, listedMb } = start.subjects[name];
    const times = ['stdio', 'HTTP'].flatMap((transport) => [1, 50, 1000].map((limit) => p50(name, limit, transport)));
    return [name, shown(list), shown(firstPaused), ...times, shown(listedMb), text];
  });
  const head = ['server', 'start', 'first call', '1 item', '50', '1,000', 'HTTP, 1 item', '50', '1,000', 'MB', 'does'];
  return `## At a glance

Five servers offer the same tool over the same service, which returns a page of a queue. Milliseconds from the start of the process to the
list of tools, of the first call (300 ms after the list; a model takes longer), and of a call with 1, 50 and 1,000 items, over stdio and over HTTP; megabytes of memory when
the tools are listed.

${table(head, rows)}`;
}
