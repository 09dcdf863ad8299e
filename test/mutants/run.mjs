// Changes the source at random places, one at a time, and runs the tests against each change: a change that no test
// notices shows what the tests do not check. Writes one JSON line per mutant to --out and skips those already in it.
//
//   node test/mutants/run.mjs [--count 100] [--seed 1] [--lanes] [--out mutants.jsonl] [--report FILE] [--list]
//
// It runs tests of `npm test`; with --lanes, a mutant that survives them then meets tests of the lanes.
import { execFileSync, spawn } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { mutationsOf, sample } from './mutate.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const rooms = ['src/contract', 'src/client', 'src/tools', 'src/mcp', 'src/service/operations'];
/** Tests of each room in `npm test`. Those with the name of the changed file run first, those of the files that import it next. */
const testsOf = {
  'src/contract': ['contract', 'pins', 'service/operations', 'service/public-service', 'tools'],
  'src/client': ['client', 'tools', 'faults/table', 'faults/calls-of-a-page', 'faults/cancellation', 'runtime/logs'],
  'src/tools': ['pins', 'tools', 'hostile/items', 'mcp/stdio', 'mcp/prompts'],
  'src/mcp': ['mcp', 'pins', 'hostile', 'runtime', 'telemetry', 'faults/progress', 'tools'],
  'src/service/operations': ['service', 'hostile/sql', 'tools'],
};
/** Tests of each room in the lanes. */
const laneTestsOf = {
  'src/contract': ['package/generated'],
  'src/client': ['connections'],
  'src/tools': ['package/generated', 'agent-benchmark'],
  'src/mcp': ['package/generated', 'connections', 'hostile'],
  'src/service/operations': ['storage', 'hostile'],
};
/** Tests that are quick and find much. They run first. */
const quick = /^test\/(contract|client|service\/query)\b/;
/** Single tests that show more of the machine than of a change. */
const skipped = '^(?!.*(1000 versions|200 MB|in bounded memory))';
const maxRunMs = 4 * 60_000;

const { values: options } = parseArgs({
  options: {
    count: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    lanes: { type: 'boolean', default: false },
    out: { type: 'string', default: 'mutants.jsonl' },
    report: { type: 'string' },
    list: { type: 'boolean', default: false },
  },
});

const tracked = git('ls-files', '--cached', '--others', '--exclude-standard').filter((file) =>
  existsSync(join(root, file)),
);
const mutants = sample(tracked.filter(isMutated).flatMap(mutantsOf), Number(options.count), Number(options.seed));
async function run() {
  const known = existsSync(options.out) ? readFileSync(options.out, 'utf8').trim().split('\n').filter(Boolean) : [];
  const results = known.map((line) => JSON.parse(line));
  const copy = mkdtempSync(join(tmpdir(), 'heddle-mutants-'));
  process.once('exit', () => rmSync(copy, { recursive: true, force: true, maxRetries: 20 }));
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
  for (const file of tracked) {
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    cpSync(join(root, file), join(copy, file));
  }
  // Some tests start processes of another user.
  chmodSync(copy, 0o755);
  // The types take most of the time of a build, and these tests need none.
  writeFileSync(join(copy, 'scripts/declarations.mjs'), "export const declarations = async () => '';\n");
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'), 'junction');
  if (results.length === 0) {
    const failure =
      (await failureOf(testsIn(...rooms), copy)) ?? (options.lanes ? await laneFailureOf(rooms, copy) : undefined);
    if (failure !== undefined) throw new Error(`Without any change, the tests fail: ${failure}`);
  }
  for (const mutant of mutants) {
    if (results.some(({ id }) => id === mutant.id)) continue;
    const file = join(copy, mutant.file);
    const text = readFileSync(file, 'utf8');
    const startedAt = performance.now();
    writeFileSync(file, text.slice(0, mutant.start) + mutant.replacement + text.slice(mutant.end));
    const killer = await killerOf(mutant, copy);
    writeFileSync(file, text);
    const { id, before, replacement } = mutant;
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    const result = { id, before, replacement, result: killer === undefined ? 'survived' : 'killed', killer, seconds };
    results.push(result);
    appendFileSync(options.out, `${JSON.stringify(result)}\n`);
    console.log(`${result.result} in ${seconds} s: ${id}${killer ? `, by ${killer}` : ''}`);
  }
  const sampled = results.filter(({ id }) => mutants.some((mutant) => mutant.id === id));
  const survivors = sampled.filter(({ result }) => result === 'survived');
  const summary = `${sampled.length} mutants, ${sampled.length - survivors.length} killed, ${survivors.length} survived`;
  console.log(summary);
  if (options.report) writeFileSync(options.report, reportOf(sampled, summary));
}

/** Returns the first test that fails with a mutant, or undefined. The tests nearest to the changed file run first. */
async function killerOf({ file }, copy) {
  const room = rooms.find((folder) => file.startsWith(`${folder}/`));
  const near = [...testsNamed([file]), ...testsIn(room).filter((test) => quick.test(test))];
  const wider = new Set([...testsNamed(importersOf(file)), ...testsIn(room)]);
  const rest = [...wider].filter((test) => !near.includes(test));
  const killer = (near.length > 0 && (await failureOf(near, copy))) || (await failureOf(rest, copy));
  return killer ?? (options.lanes ? laneFailureOf([room], copy) : undefined);
}

const tests = tracked.filter((file) => /^test\/(?!external|lanes).*\.test\.ts$/.test(file));
const testsNamed = (files) =>
  tests.filter((test) => files.some((file) => basename(file, '.ts') === basename(test, '.test.ts')));
const testsIn = (...folders) =>
  tests.filter((test) => folders.some((folder) => testsOf[folder].some((name) => test.startsWith(`test/${name}`))));

/** Runs the tests of the lanes for rooms. */
function laneFailureOf(folders, copy) {
  const names = new Set(folders.flatMap((folder) => laneTestsOf[folder]));
  const selection = [...names].map((name) => `test/lanes/${name}`);
  return failureOf(selection, copy, '!postgresql');
}

/** Returns the files of the same room that import a file. */
function importersOf(file) {
  const room = rooms.find((folder) => file.startsWith(`${folder}/`));
  return tracked.filter((importer) => {
    if (!importer.startsWith(`${room}/`) || !importer.endsWith('.ts')) return false;
    const imported = readFileSync(join(root, importer), 'utf8').matchAll(/ from '(\.[^']+)'/g);
    return [...imported].some(([, path]) => join(dirname(importer), path) === file);
  });
}

/** Builds the copy and runs tests in it until one fails; returns what failed. */
function failureOf(selection, copy, project = 'main') {
  const report = join(copy, 'report.json');
  rmSync(report, { force: true });
  const vitest = join(copy, 'node_modules/vitest/vitest.mjs');
  const args = [
    vitest,
    'run',
    `--project=${project}`,
    '--bail=1',
    // On a busy machine, a test can fail once for another reason.
    '--retry=1',
    `--testNamePattern=${skipped}`,
    '--testTimeout=20000',
    '--hookTimeout=20000',
    '--reporter=json',
    `--outputFile=${report}`,
    ...selection,
  ];
  // A group of its own, so that servers that a failed test leaves behind end with it.
  const child = spawn(process.execPath, args, { cwd: copy, stdio: 'ignore', detached: true });
  const end = () => {
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // Every process of the group has ended.
    }
  };
  process.prependOnceListener('exit', end);
  return new Promise((resolve) => {
    let overdue = false;
    const timer = setTimeout(() => {
      overdue = true;
      end();
    }, maxRunMs);
    child.once('exit', (code) => {
      clearTimeout(timer);
      end();
      process.off('exit', end);
      if (code === 0) resolve(undefined);
      else if (overdue) resolve(`no end within ${maxRunMs / 1000} s`);
      else if (!existsSync(report)) resolve('the build');
      else resolve(failedTest(JSON.parse(readFileSync(report, 'utf8')), copy));
    });
  });
}

function failedTest({ testResults }, copy) {
  for (const { name, assertionResults, status } of testResults) {
    const failed = assertionResults.find((test) => test.status === 'failed');
    const file = name.replace(copy, '').replace(/^\//, '');
    if (failed) return `${file}: ${failed.fullName}`;
    if (status === 'failed' && assertionResults.length === 0) return `${file}: does not load`;
  }
  return 'an error outside of tests';
}

function mutantsOf(file) {
  const text = readFileSync(join(root, file), 'utf8');
  return mutationsOf(text).map((mutation) => {
    const lineStart = text.lastIndexOf('\n', mutation.start) + 1;
    const line = text.slice(0, mutation.start).split('\n').length;
    const id = `${file}:${line}:${mutation.start - lineStart + 1} ${mutation.operator}`;
    return { ...mutation, file, id, before: text.slice(mutation.start, mutation.end) };
  });
}

function isMutated(file) {
  return file.endsWith('.ts') && rooms.some((folder) => file.startsWith(`${folder}/`));
}

function git(...args) {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean);
}

/** Formats results as a page; survivors come first, without their explanations. */
function reportOf(results, summary) {
  const code = (text) => `\`${shortened(text).replaceAll('|', '\\|').replaceAll('`', "'")}\``;
  const rows = results
    .toSorted((a, b) => b.result.localeCompare(a.result) || a.id.localeCompare(b.id))
    .map(({ id, before, replacement, result, killer }) =>
      [
        id,
        code(before),
        replacement.trim() === '' ? 'nothing' : code(replacement),
        killer ? code(killer) : result,
      ].join(' | '),
    );
  const head = 'mutant | code | replaced by | killed by |\n| --- | --- | --- | ---';
  return `# Mutants\n\nSeed ${options.seed}: ${summary}.\n\n| ${head} |\n${rows.map((row) => `| ${row} |\n`).join('')}`;
}

function shortened(text) {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length <= 100 ? line : `${line.slice(0, 99)}…`;
}

if (options.list)
  for (const { id, before, replacement } of mutants) console.log(`${id}\n  ${before}\n  ${replacement}`);
else await run();
