// The lines of the budget (design §11), and what was measured for each.
import { shown, table } from './lib/statistics.mjs';
import { least } from './lib/subjects.mjs';

/**
 * The verdict on a line. A time may be over by the noise of the machine; counts and memory have none. A floor below its
 * own lowest possible value shows that the run was too disturbed to say anything.
 */
function verdict(measured, budget, { floor, leastRatio, exact }) {
  if (measured === undefined || Number.isNaN(measured)) return '–';
  if (floor !== undefined && floor < 1) return 'no verdict: the floor is below 1';
  if (measured <= budget) return 'met';
  if (leastRatio > budget) return 'not met, and out of reach: the least is above it';
  return !exact && measured <= budget * 1.15 ? 'not met, within noise (15 %)' : 'not met';
}

function line(what, measured, budget, { floor, leastRatio, designFloor, exact = false } = {}) {
  const ratioFloor = what.includes('/') ? floor : undefined;
  return [
    what,
    exact ? measured?.toFixed(3) : shown(measured),
    String(budget),
    verdict(measured, budget, { floor: ratioFloor, leastRatio, exact }),
    leastRatio === undefined ? '–' : shown(leastRatio),
    floor === undefined ? '–' : shown(floor),
    designFloor ?? '–',
  ];
}

/** The table of the budget from the measurements of one run. */
export function reportBudget({ start, calls, tokens }) {
  const at = (limit, concurrency) => calls.find((one) => one.limit === limit && one.concurrency === concurrency);
  const { heddle, floor } = start.subjects;
  /** One line about calls, by the part of a subject that has the ratio and the one that has what it is to bare. */
  const ofCalls = (what, transport, { limit, concurrency }, [ratio, absolute], budget, designFloor) => {
    const { subjects, promised } = at(limit, concurrency);
    return line(`${transport} ${what}`, subjects[`heddle, ${transport}`][ratio], budget, {
      floor: subjects[`floor, ${transport}`][ratio],
      leastRatio: subjects[`${least}, ${transport}`][ratio] + promised / subjects.bare[absolute],
      designFloor,
    });
  };
  const call = (transport, limit, budget, designFloor) => {
    const what = `call p50 / bare, ${limit === 1 ? '1 item' : `${limit} items`}`;
    return ofCalls(what, transport, { limit, concurrency: 1 }, ['p50Ratio', 'p50'], budget, designFloor);
  };
  const cpu = (transport, budget, designFloor) => {
    const what = 'CPU a call / bare, concurrency 32, 50 items';
    return ofCalls(what, transport, { limit: 50, concurrency: 32 }, ['cpuRatio', 'cpu'], budget, designFloor);
  };
  // Pages of items; the values of calls are free text beside them.
  const real = tokens.results.filter(({ what }) => /real items|with positions/.test(what));
  const rows = [
    line('cold start to `initialize` / `node -e 0`', heddle.initializeRatio, 1.7, {
      floor: floor.initializeRatio,
      designFloor: '1.1',
    }),
    line('first tool call at once after the list, ms', heddle.firstAtOnce, 20, { floor: floor.firstAtOnce }),
    line('first tool call 300 ms after the list, ms', heddle.firstPaused, 20, { floor: floor.firstPaused }),
    call('stdio', 1, 2.0, '1.5'),
    call('stdio', 50, 2.2, '2.2'),
    call('stdio', 1000, 2.5, '3.6'),
    cpu('stdio', 2.5, '2.5'),
    call('HTTP', 1, 3.0, '1.9'),
    call('HTTP', 50, 3.0, '2.5'),
    call('HTTP', 1000, 3.0, '3.9'),
    cpu('HTTP', 4.0, '2.6'),
    line('memory at start (list of tools answered), MB', heddle.listedMb, 62, {
      floor: floor.listedMb,
      designFloor: '43',
      exact: true,
    }),
    ...real.map(({ what, o200k }) =>
      line(`tokens, ${what} / compact JSON (o200k)`, o200k.text / o200k.compact, 0.45, { exact: true }),
    ),
  ];
  return `## Budget

${table(['line', 'measured', 'budget', 'verdict', 'least', 'floor here', 'floor in the design'], rows)}

Least is what no server on the SDK can get below that keeps heddle's promises: SDK v2 alone, with the text, and on top
the time that the check of the answer's shape and the look for secrets take by themselves.`;
}
