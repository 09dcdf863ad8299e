// The performance budget: what heddle may cost beside the tutorial server of SDK v2, measured in the same run.
import { shown, table } from './lib/statistics.mjs';

/** A ratio within this share above its budget may be noise of the machine. */
const noise = 1.15;

function verdict(measured, budget) {
  if (measured === undefined || Number.isNaN(measured)) return '–';
  if (measured <= budget) return 'met';
  return measured <= budget * noise ? 'not met, within noise (15 %)' : 'not met';
}

function line(name, measured, budget) {
  return [name, shown(measured), String(budget), verdict(measured, budget)];
}

/** Renders the budget as Markdown from the measurements of one run. */
export function reportBudget({ start, calls, tokens }) {
  const { heddle, 'SDK v2': tutorial } = start.subjects;
  const call = (transport, limit) => {
    const { subjects } = calls.find((one) => one.limit === limit && one.concurrency === 1);
    const ratio = subjects[`heddle, ${transport}`].p50 / subjects[`SDK v2, ${transport}`].p50;
    return line(`${transport} call, ${limit === 1 ? '1 item' : `${limit} items`}, p50 / SDK v2`, ratio, 1);
  };
  const realItems = tokens.results.filter(({ what }) => /real items|with positions/.test(what));
  const rows = [
    line('cold start to `initialize` / SDK v2', heddle.initialize / tutorial.initialize, 0.4),
    line('first call 300 ms after the list / SDK v2', heddle.firstPaused / tutorial.firstPaused, 0.7),
    line('memory when the tools are listed / SDK v2', heddle.listedMb / tutorial.listedMb, 1),
    ...['stdio', 'HTTP'].flatMap((transport) => [1, 50, 1000].map((limit) => call(transport, limit))),
    ...realItems.flatMap(({ what, o200k }) => [
      line(`tokens of the text, ${what} / compact JSON (o200k)`, o200k.text / o200k.json, 0.3),
      line(`tokens of the structured form, ${what} / compact JSON (o200k)`, o200k.structured / o200k.json, 0.36),
    ]),
  ];
  return `## Budget

${table(['line', 'measured', 'budget', 'verdict'], rows)}`;
}
