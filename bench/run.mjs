// `npm run bench`: measures the performance budget in one run and writes bench/results.md and growth.svg.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import './lib/install.mjs';

const usage = `node bench/run.mjs [FLAGS]    measures all parts; writes bench/results.md and growth.svg
--quick           takes under three minutes: fewer rounds, no queue of a million, 20,000 recorded calls and spans, no plot, no
                  foreign text; prints
--only=start,…    measures some parts; prints
--rounds=0.5      halves the number of rounds
--recorded=5000   records that many calls and spans
--database=URL    records to an empty database of PostgreSQL
--text-index      records with an index of texts
BENCH_OTHER=PATH  adds another build of heddle to compare with`;
const options = {
  quick: { type: 'boolean' },
  only: { type: 'string' },
  rounds: { type: 'string', default: '1' },
  recorded: { type: 'string' },
  database: { type: 'string' },
  'text-index': { type: 'boolean' },
  help: { type: 'boolean' },
};
const flags = readFlags();
const here = new URL('.', import.meta.url);

const { startStub } = await import('./lib/processes.mjs');
const { home, run } = await import('./lib/subjects.mjs');
const parts = {
  start: await import('./measure-start.mjs'),
  calls: await import('./measure-calls.mjs'),
  tokens: await import('./measure-tokens.mjs'),
  memory: await import('./measure-memory.mjs'),
  bulk: await import('./measure-bulk.mjs'),
  board: await import('./measure-board.mjs'),
  service: await import('./measure-service.mjs'),
  recording: await import('./measure-recording.mjs'),
  traces: await import('./measure-traces.mjs'),
  evaluations: await import('./measure-evaluations.mjs'),
  growth: await import('./measure-growth.mjs'),
  text: await import('./measure-text.mjs'),
};
const { reportBudget } = await import('./budget.mjs');
const { reportOverview } = await import('./overview.mjs');
const { plot } = await import('./plot.mjs');

const wanted =
  flags.only?.split(',') ?? Object.keys(parts).filter((part) => !flags.quick || !['growth', 'text'].includes(part));
const effort = flags.quick
  ? { start: 4, calls: 2, paged: 50_000, queues: [1_000, 100_000], pages: 5, recorded: 20_000, growth: 1 }
  : {
      start: 15,
      calls: 7,
      paged: 1_000_000,
      queues: [1_000, 10_000, 100_000, 1_000_000],
      pages: 11,
      recorded: 1_000_000,
      growth: 3,
    };
for (const count of ['start', 'calls', 'pages', 'growth'])
  effort[count] = Math.max(1, Math.round(effort[count] * Number(flags.rounds)));
if (flags.recorded) effort.recorded = Number(flags.recorded);
const startedAt = performance.now();
const [loadBefore] = loadavg();
const log = (text) => console.error(`${((performance.now() - startedAt) / 1000).toFixed(0).padStart(4)} s  ${text}`);

const stub = await startStub();
const failed = [];
/** Measures a part if it is wanted. A part that fails does not stop the others. */
const measurePart = async (part, measure) => {
  if (!wanted.includes(part)) return undefined;
  try {
    return await measure(parts[part]);
  } catch (error) {
    failed.push(`${part}: ${error.message}`);
    log(`FAILED ${error.stack}`);
    return undefined;
  }
};
try {
  const measured = {
    start: await measurePart('start', ({ measureStart }) => measureStart(stub.url, effort.start, log)),
    calls: await measurePart('calls', ({ measureCalls }) => measureCalls(stub.url, effort.calls, log)),
    tokens: await measurePart('tokens', ({ measureTokens }) => measureTokens(stub.url, run, log)),
    memory: await measurePart('memory', ({ measureMemory }) => measureMemory(stub.url, effort.paged, log)),
    bulk: await measurePart('bulk', ({ measureBulk }) => measureBulk(run, log)),
    board: await measurePart('board', ({ measureBoard }) => measureBoard(run, log)),
    service: await measurePart('service', ({ measureService }) =>
      measureService(effort.queues, effort.pages, run, log),
    ),
    recording: await measurePart('recording', ({ measureRecording }) =>
      measureRecording(
        effort.recorded,
        { repetitions: effort.pages, database: flags.database, textIndex: flags['text-index'] },
        run,
        log,
      ),
    ),
    traces: await measurePart('traces', ({ measureTraces }) => measureTraces(effort.recorded, run, log)),
    evaluations: await measurePart('evaluations', ({ measureEvaluations }) => measureEvaluations(run, log)),
    text: await measurePart('text', ({ measureText }) => measureText(log)),
  };
  const budgeted = measured.start && measured.calls && measured.tokens;
  const growth =
    measured.service &&
    (await measurePart('growth', ({ measureGrowth }) => measureGrowth(stub.url, effort.growth, measured.service, log)));
  const report = [
    heading(),
    failed.length > 0 && `**Failed: ${failed.join('; ')}**`,
    measured.start && measured.calls && reportOverview(measured),
    budgeted && reportBudget(measured),
    budgeted && existsSync(new URL('notes.md', here)) && readFileSync(new URL('notes.md', here), 'utf8').trim(),
    measured.start && parts.start.reportStart(measured.start),
    measured.calls && parts.calls.reportCalls(measured.calls),
    growth && '## Growth\n\n![Latency against page size, concurrency and queue size](growth.svg)',
    measured.tokens && parts.tokens.reportTokens(measured.tokens),
    measured.memory && parts.memory.reportMemory(measured.memory),
    measured.bulk && parts.bulk.reportBulk(measured.bulk),
    measured.board && parts.board.reportBoard(measured.board),
    measured.service && parts.service.reportService(measured.service),
    measured.recording && parts.recording.reportRecording(measured.recording),
    measured.traces && parts.traces.reportTraces(measured.traces),
    measured.evaluations && parts.evaluations.reportEvaluations(measured.evaluations),
    measured.text && parts.text.reportText(measured.text),
  ];
  const text = `${report.filter(Boolean).join('\n\n')}\n`;
  // Only a whole run is kept.
  if (flags.only || flags.quick) {
    process.stdout.write(text);
  } else {
    writeFileSync(new URL('results.md', here), text);
    console.error('written: bench/results.md');
  }
  if (growth && !flags.quick) writeFileSync(new URL('growth.svg', here), plot(growth));
} finally {
  stub.child.kill('SIGKILL');
  rmSync(home, { recursive: true, force: true });
}
process.exit(failed.length > 0 ? 1 : 0);

/** Returns the flags; prints the usage and ends the process if it was asked for, or for a flag that does not exist. */
function readFlags() {
  try {
    const { values } = parseArgs({ options });
    if (!values.help) return values;
    console.log(usage);
    process.exit(0);
  } catch (error) {
    console.error(`${error.message}\n${usage}`);
    process.exit(2);
  }
}

function heading() {
  const version = (name) =>
    JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, here), 'utf8')).version;
  const [{ model }] = cpus();
  const names = ['@modelcontextprotocol/server', '@modelcontextprotocol/sdk', 'fastmcp', 'undici'];
  return `# Results of \`npm run bench\`

${new Date().toISOString().slice(0, 10)} · ${cpus().length} cores, ${model.trim()}, ${(totalmem() / 2 ** 30).toFixed(0)} GB · ${process.platform} ${release()} · Node ${process.version} · ${names.map((name) => `${name} ${version(name)}`).join(' · ')}

One run, the subjects in turn, medians of ${effort.start} starts and ${effort.calls} rounds of calls; ratios are medians of the ratios within one round. Differences below 15 % are
noise. The machine was ${loadText()}${flags.quick ? '; this was a quick run, whose numbers are rougher still' : ''}.`;
}

/** Describes the load of the machine: on a busy one, every line with more processes than bare looks worse. */
function loadText() {
  const load = `load average ${loadBefore.toFixed(1)} before and ${loadavg()[0].toFixed(1)} after the run`;
  return loadBefore > cpus().length / 2 ? `busy with other work (${load})` : `idle (${load})`;
}
