// The performance budget: what heddle may cost beside the tutorial server of SDK v2, measured in the same run.
import { medianRatio, shown, table } from './lib/statistics.mjs';

/** A ratio of times or of memory within this share above its budget may be noise of the machine. */
const machineNoise = 1.15;

function verdict(measured, budget, noise) {
  if (measured === undefined || Number.isNaN(measured)) return '–';
  if (measured <= budget) return 'met';
  return measured <= budget * noise ? 'not met, within noise (15 %)' : 'not met';
}

function line(name, measured, budget, noise = machineNoise) {
  return [name, shown(measured), String(budget), verdict(measured, budget, noise)];
}

/** Renders the budget as Markdown from the measurements of one run. */
export function reportBudget({ start, calls, tokens }) {
  const { heddle, 'SDK v2': tutorial } = start.subjects;
  const call = (transport, limit, budget, part = 'p50', concurrency = 1) => {
    const { subjects } = calls.find((one) => one.limit === limit && one.concurrency === concurrency);
    const ratio = medianRatio(subjects[`heddle, ${transport}`][part], subjects[`SDK v2, ${transport}`][part]);
    const figure = part === 'cpu' ? 'processor time' : part;
    const items = `${limit === 1 ? '1 item' : `${limit} items`}${concurrency === 1 ? '' : `, ${concurrency} at once`}`;
    return line(`${transport} call, ${items}, ${figure} / SDK v2`, ratio, budget);
  };
  const realItems = tokens.results.filter(({ what }) => /real items|with positions/.test(what));
  const rows = [
    line('cold start to `initialize` / SDK v2', heddle.initialize / tutorial.initialize, 0.4),
    line('first call 300 ms after the list / SDK v2', heddle.firstPaused / tutorial.firstPaused, 0.7),
    line('memory when the tools are listed / SDK v2', heddle.listedMb / tutorial.listedMb, 0.8),
    call('stdio', 1, 1.7),
    call('stdio', 50, 1.35),
    call('stdio', 1000, 1),
    call('stdio', 1000, 1.4, 'cpu'),
    call('HTTP', 1, 0.9),
    call('HTTP', 50, 0.9),
    call('HTTP', 1000, 1),
    call('HTTP', 1, 0.7, 'cpu', 32),
    ...realItems.flatMap(({ what, o200k }) => [
      line(`tokens of the text, ${what} / compact JSON (o200k)`, o200k.text / o200k.json, 0.3, 1),
      line(`tokens of the structured form, ${what} / compact JSON (o200k)`, o200k.structured / o200k.json, 0.36, 1),
    ]),
  ];
  return `## Budget

${table(['line', 'measured', 'budget', 'verdict'], rows)}`;
}
