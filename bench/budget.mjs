// The lines of the budget (design §11), and what was measured for each.
import { shown, table } from './lib/statistics.mjs';

/**
 * The verdict on a line. A time may be over by the noise of the machine; counts and memory have none. A floor below its
 * own lowest possible value shows that the run was too disturbed to say anything.
 */
function verdict(measured, budget, { floor, exact }) {
  if (measured === undefined || Number.isNaN(measured)) return '–';
  if (floor !== undefined && floor < 1) return 'no verdict: the floor is below 1';
  if (measured <= budget) return 'met';
  return !exact && measured <= budget * 1.15 ? 'not met, within noise (15 %)' : 'not met';
}

function line(what, measured, budget, floor, designFloor, exact = false) {
  const ratioFloor = what.includes('/') ? floor : undefined;
  const said = verdict(measured, budget, { floor: ratioFloor, exact });
  return [
    what,
    exact ? measured?.toFixed(3) : shown(measured),
    String(budget),
    said,
    floor === undefined ? '–' : shown(floor),
    designFloor ?? '–',
  ];
}

/** The table of the budget from the measurements of one run. */
export function reportBudget({ start, calls, tokens }) {
  const at = (limit, concurrency) =>
    calls.find((one) => one.limit === limit && one.concurrency === concurrency).subjects;
  const { heddle, floor } = start.subjects;
  const call = (transport, limit, budget, designFloor) =>
    line(
      `${transport} call p50 / bare, ${limit === 1 ? '1 item' : `${limit} items`}`,
      at(limit, 1)[`heddle, ${transport}`].p50Ratio,
      budget,
      at(limit, 1)[`floor, ${transport}`].p50Ratio,
      designFloor,
    );
  const cpu = (transport, budget, designFloor) =>
    line(
      `${transport} CPU a call / bare, concurrency 32, 50 items`,
      at(50, 32)[`heddle, ${transport}`].cpuRatio,
      budget,
      at(50, 32)[`floor, ${transport}`].cpuRatio,
      designFloor,
    );
  const real = tokens.results.filter(({ what }) => /real items|the same/.test(what));
  const rows = [
    line('cold start to `initialize` / `node -e 0`', heddle.initializeRatio, 1.7, floor.initializeRatio, '1.1'),
    line('the same in processor time', heddle.cpuRatio, 1.7, floor.cpuRatio),
    line('first tool call at once after the list, ms', heddle.firstAtOnce, 20, floor.firstAtOnce),
    line('first tool call 300 ms after the list, ms', heddle.firstPaused, 20, floor.firstPaused),
    call('stdio', 1, 2.0, '1.5'),
    call('stdio', 50, 2.2, '2.2'),
    call('stdio', 1000, 2.5, '3.6'),
    cpu('stdio', 2.5, '2.5'),
    call('HTTP', 1, 3.0, '1.9'),
    call('HTTP', 50, 3.0, '2.5'),
    call('HTTP', 1000, 3.0, '3.9'),
    cpu('HTTP', 4.0, '2.6'),
    line('memory at start (list of tools answered), MB', heddle.listedMb, 62, floor.listedMb, '43', true),
    line('memory 300 ms later, warmed up, MB', heddle.settledMb, 62, floor.settledMb, undefined, true),
    ...real.map(({ what, o200k }) =>
      line(`tokens, ${what} / compact JSON (o200k)`, o200k.text / o200k.compact, 0.45, undefined, undefined, true),
    ),
  ];
  return `## Budget

${table(['line', 'measured', 'budget', 'verdict', 'floor here', 'floor in the design'], rows)}`;
}
