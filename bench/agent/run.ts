// `npm run bench:agent -- --model M --base-url URL`, or `-- --step FOLDER`: has a model do the jobs; see README.md.
import { existsSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { ChatModel } from './chat-model.ts';
import type { Job } from './job.ts';
import { jobs } from './jobs/index.ts';
import { type Form, forms, type PlayedJob, playJob } from './play-job.ts';
import { firstOf, report } from './report.ts';
import { endFile, StepModel, writeWhole } from './step-model.ts';

const { values: flags } = parseArgs({
  options: {
    model: { type: 'string' },
    'base-url': { type: 'string' },
    step: { type: 'string' },
    form: { type: 'string' },
    jobs: { type: 'string' },
    runs: { type: 'string', default: '1' },
    json: { type: 'string' },
  },
});

function stop(problem: string): never {
  console.error(problem);
  process.exit(2);
}

const { model = 'played by hand', step } = flags;

/** Returns the model that the flags name. */
function modelOf() {
  if (step !== undefined) {
    if (existsSync(step)) stop(`${step} exists already; name a new folder.`);
    return new StepModel(step);
  }
  const { 'base-url': baseUrl } = flags;
  if (flags.model === undefined || baseUrl === undefined) {
    stop(
      'usage: npm run bench:agent -- (--model NAME --base-url URL | --step FOLDER) [--form text|structured] [--jobs A,B] [--runs N] [--json FILE]\nThe key of the model, if it needs one, is read from BENCH_MODEL_KEY.',
    );
  }
  const key = process.env.BENCH_MODEL_KEY;
  return new ChatModel({ model: flags.model, baseUrl, ...(key && { key }) });
}
const player = modelOf();
const wantedForms = forms.filter((form) => flags.form === undefined || flags.form === form);
if (wantedForms.length === 0)
  stop(`--form is ${forms.join(' or ')}, not ${flags.form}. Without it, both are measured.`);
const runs = Number(flags.runs);
if (!Number.isInteger(runs) || runs < 1) stop(`--runs is a number from 1, not ${flags.runs}.`);
const wantedJobs: readonly Job[] = flags.jobs?.split(',').map(jobNamed) ?? jobs;

function jobNamed(name: string): Job {
  const names = jobs.map((job) => job.name).join(', ');
  return jobs.find((job) => job.name === name) ?? stop(`There is no job ${name}. The jobs are: ${names}.`);
}

/** Imports what TypeScript cannot resolve, since the packages of the bench may not be installed yet. */
const load = (specifier: string) => import(specifier);
await load('../lib/install.mjs');
const { encode }: { encode: (text: string) => number[] } = await load('gpt-tokenizer/encoding/o200k_base');

const played: (PlayedJob & { run: number })[] = [];
const plays = wantedForms.flatMap((form): [Form, number][] =>
  Array.from({ length: runs }, (_, index) => [form, index + 1]),
);
for (const [form, run] of plays) {
  for (const job of wantedJobs) {
    const one = await playJob(job, { model: player, form, countTokens: (text) => encode(text).length });
    played.push({ run, ...one });
    console.error(`${form} ${run}/${runs} ${job.name}: ${one.outcome} ${firstOf(one.faults)}`);
    if (flags.json !== undefined) writeFileSync(flags.json, `${JSON.stringify({ model, played }, null, 2)}\n`);
  }
}
const table = report(played);
if (step !== undefined) await writeWhole(endFile(step), `=== THE END\n\n${table}\n`);
console.log(table);
process.exitCode = played.some(({ outcome }) => outcome === 'broken') ? 1 : 0;
