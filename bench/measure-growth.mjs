// Latency by page size and concurrency, for the plot; latency by queue size comes from the embedded service.
import { median } from './lib/statistics.mjs';
import { measureCalls } from './measure-calls.mjs';

const pageSizes = { 1: { 1: 120 }, 10: { 1: 100 }, 50: { 1: 80 }, 200: { 1: 40 }, 1000: { 1: 12 } };
const concurrencies = { 50: { 1: 80, 2: 120, 4: 160, 8: 200, 16: 240, 32: 320 } };
const shownSubjects = ['heddle', 'floor'];

/** The three panels of the plot. */
export async function measureGrowth(stubUrl, rounds, service, log) {
  const bySize = await measureCalls(stubUrl, rounds, log, pageSizes, shownSubjects);
  const byConcurrency = await measureCalls(stubUrl, rounds, log, concurrencies, shownSubjects);
  const series = (lines, x) =>
    Object.fromEntries(
      Object.keys(lines[0].subjects).map((name) => [
        name,
        lines.map((line) => [line[x], median(line.subjects[name].p50)]).sort((a, b) => a[0] - b[0]),
      ]),
    );
  const cases = [
    'first page',
    'deep, sorted',
    'deep, sorted, one state, positions',
    'filter that has an index (trace)',
    'filter on few items, without an index',
  ];
  return [
    { title: 'Page size, one call at a time', xLabel: 'items of a page', series: series(bySize, 'limit') },
    { title: 'Concurrency, pages of 50', xLabel: 'calls at once', series: series(byConcurrency, 'concurrency') },
    {
      title: 'Queue size, embedded service, pages of 50',
      xLabel: 'items in the queue',
      series: Object.fromEntries(
        cases.map((name) => [name, service.map(({ items, cases: measured }) => [items, measured[name].service])]),
      ),
    },
  ];
}
