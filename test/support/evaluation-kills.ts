import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { build } from 'esbuild';
import { expect } from 'vitest';
import { bundleOptions, root } from '../../scripts/bundle-options.mjs';
import { execute, startTestService, temporaryData } from './embedded-service.ts';
import { EvaluationSetup, project_id } from './evaluation-setup.ts';
import { temporaryFolder } from './heddle.ts';
import { startScriptedModel } from './scripted-model.ts';
import { tally } from './tally.ts';

const workerProgram = await bundleWorker();
const leaseMs = 1000;
/** Concurrency of each of the two simultaneous runs. */
const concurrency = 3;
const latencyMs = 20;

/** A call that is stored: its id, what it is about, and its output. */
interface StoredCall {
  id: string;
  op_name: string;
  inputs: string;
  output: string;
}

/** The outcome of a run with kills. */
export interface KillOutcome {
  kills: number;
  predictions: number;
  /** Predictions and scores that were stored and are missing or changed at the end. */
  lost: number;
  /** Requests for predictions and scores that were stored before. */
  askedAgain: number;
  /** Requests that were repeated because they were in progress at a kill. */
  repeated: number;
  /** Trials of a row beyond the first. */
  doubled: number;
}

/** Lets two processes share runs of evaluations, kills one or both of them at random moments, and starts them again. */
export async function killSharedRuns(kills: number): Promise<KillOutcome> {
  const data = await temporaryData();
  const stored = new Map<string, StoredCall>();
  // A request is named after the row, or after the prediction that a judge is shown.
  const storedRequests = new Set<string>();
  let askedAgain = 0;
  const asks = new Map<string, number>();
  const model = await startScriptedModel(async ({ model: name, messages }) => {
    const text = messages[0]!.content;
    const request = `${name} ${text}`;
    asks.set(request, (asks.get(request) ?? 0) + 1);
    if (storedRequests.has(request)) askedAgain += 1;
    await wait(latencyMs * (0.5 + Math.random()));
    // Every answer is different, so that a score shows which prediction it is about.
    return name === 'judge' ? JSON.stringify({ seen: text }) : `${text} ${Math.random()}`;
  });
  const noteStored = async (): Promise<void> => {
    for (const call of await storedCalls(data)) {
      stored.set(call.id, call);
      storedRequests.add(requestOf(call));
    }
  };
  const outcome: KillOutcome = { kills: 0, predictions: 0, lost: 0, askedAgain: 0, repeated: 0, doubled: 0 };
  const setupService = await startTestService({ data });
  const setup = new EvaluationSetup(setupService);
  const processes: (Worker | undefined)[] = [undefined, undefined];
  while (outcome.kills < kills) {
    await startMissing(processes, data, model.url);
    const datasets = processes.map((_, at) =>
      Array.from({ length: 75 }, (_, index) => ({ question: `r${outcome.kills}-${at}-${index}` })),
    );
    const scorers = [
      await setup.judge('rated', { scoring_prompt: '{output}' }),
      await setup.scorer('exact', { kind: 'contains', expected: 'question' }),
    ];
    const runs: string[] = [];
    for (const [at, rows] of datasets.entries()) {
      const evaluation_ref = await setup.evaluation(await setup.dataset(rows), scorers);
      const ofWorker = new EvaluationSetup({ url: processes[at]!.url });
      runs.push(await ofWorker.start(evaluation_ref, await setup.model('{question}'), { concurrency }));
    }
    while (outcome.kills < kills) {
      await wait(100 + Math.random() * 600);
      const victims = pickVictims(processes);
      await Promise.all(victims.map((index) => kill(processes[index]!)));
      await noteStored();
      for (const index of victims) processes[index] = undefined;
      outcome.kills += victims.length;
      tally('kill rounds', victims.length);
      await startMissing(processes, data, model.url);
      const statuses = await Promise.all(runs.map((run) => setup.status(run)));
      if (statuses.every(({ code }) => code === 'complete')) break;
    }
    for (const run of runs) expect(await setup.ended(run, 60_000)).toMatchObject({ code: 'complete' });
    const trials = await setup.results(runs);
    for (const { raw_data_row, evaluations } of trials.rows) {
      const [trial, ...others] = evaluations[0].trials;
      outcome.predictions += 1;
      outcome.doubled += others.length;
      expect(trial).toMatchObject({ error: null, scorer_errors: {}, scores: { exact: true } });
      expect(trial.model_output).toContain(raw_data_row.question);
      expect(trial.scores.rated).toEqual({ seen: trial.model_output });
    }
    expect(trials.rows).toHaveLength(datasets.flat().length);
  }
  await Promise.all(processes.map((worker) => worker && kill(worker)));
  const last = new Map((await storedCalls(data)).map((call) => [call.id, call]));
  outcome.lost = [...stored.values()].filter(({ id, output }) => last.get(id)?.output !== output).length;
  outcome.askedAgain = askedAgain;
  outcome.repeated = [...asks.values()].reduce((sum, count) => sum + count - 1, 0);
  tally('lost', outcome.lost);
  tally('doubled', outcome.doubled + askedAgain);
  return outcome;
}

/** The outcome of a run with a budget and kills. */
export interface BudgetOutcome {
  status: { code: string; error?: string };
  /** Requests that the model provider received. */
  requests: number;
  /** Predictions that were stored and are missing or changed at the end. */
  lost: number;
}

/** Kills the process that works on a run with a budget again and again, until the run has ended. */
export async function killRunWithBudget(kills: number, budget: { requests: number }): Promise<BudgetOutcome> {
  const data = await temporaryData();
  let received = 0;
  const wakeUps = new Set<() => void>();
  const model = await startScriptedModel(async ({ model: name, messages }) => {
    received += 1;
    for (const wakeUp of wakeUps) wakeUp();
    await wait(latencyMs * (0.5 + Math.random()));
    return name === 'judge' ? '{"score":1}' : `${messages[0]!.content} ${Math.random()}`;
  });
  const setup = new EvaluationSetup(await startTestService({ data }));
  let worker = await startWorker(data, model.url);
  const rows = Array.from({ length: budget.requests }, (_, index) => ({ question: `r${index}` }));
  const judge = await setup.judge('rated', { scoring_prompt: '{output}' });
  const evaluation = await setup.evaluation(await setup.dataset(rows), [judge]);
  const ofWorker = new EvaluationSetup({ url: worker.url });
  const run = await ofWorker.start(evaluation, await setup.model('{question}'), { concurrency, budget });
  const stored = new Map<string, StoredCall>();
  for (let round = 1; round <= kills; round += 1) {
    // Spread over the first half of the budget, so that each finds the run in progress.
    const wanted = Math.floor((round * budget.requests) / (2 * kills + 2));
    await new Promise<void>((resolve) => {
      const check = (): void => {
        if (received < wanted) return;
        wakeUps.delete(check);
        resolve();
      };
      wakeUps.add(check);
      check();
    });
    await kill(worker);
    tally('kill rounds', 1);
    for (const call of await storedCalls(data)) stored.set(call.id, call);
    worker = await startWorker(data, model.url);
  }
  const status = await setup.ended(run, 60_000);
  await kill(worker);
  const last = new Map((await storedCalls(data)).map((call) => [call.id, call]));
  const lost = [...stored.values()].filter(({ id, output }) => last.get(id)?.output !== output).length;
  tally('lost', lost);
  return { status, requests: received, lost };
}

/** Maximum number of requests that can be in progress at a kill: sent, or answered and not stored, of both runs. */
export const maxOpenRequests = 2 * 3 * concurrency;

interface Worker {
  child: ChildProcess;
  url: string;
  stderr: () => string;
}

/** Returns the index of one running process, or of both. */
function pickVictims(processes: readonly (Worker | undefined)[]): number[] {
  const running = processes.flatMap((worker, index) => (worker ? [index] : []));
  return Math.random() < 0.35 ? running : [running[Math.floor(Math.random() * running.length)]!];
}

async function startMissing(processes: (Worker | undefined)[], data: string, modelUrl: string): Promise<void> {
  await Promise.all(
    processes.map(async (worker, index) => {
      processes[index] = worker ?? (await startWorker(data, modelUrl));
    }),
  );
}

async function startWorker(data: string, modelUrl: string): Promise<Worker> {
  const child = spawn(process.execPath, [workerProgram, data, modelUrl, `${leaseMs}`], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stderr = '';
  child.stderr.on('data', (bytes) => {
    stderr += bytes;
  });
  const [line] = await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'exit').then(() => Promise.reject(new Error(stderr))),
  ]);
  return { child, url: String(line).trim(), stderr: () => stderr };
}

/** Bundles the program of a worker, which starts in a fraction of the time that its sources take. Returns its path. */
async function bundleWorker(): Promise<string> {
  const folder = temporaryFolder();
  // For the packages that a bundle leaves out.
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const entry = join(import.meta.dirname, 'evaluation-worker.ts');
  await build({ ...bundleOptions, entryPoints: [entry], splitting: true, outdir: folder });
  return join(folder, 'evaluation-worker.js');
}

async function kill({ child, stderr }: Worker): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
  expect(stderr()).toBe('');
}

/** Reads the predictions and scores that are stored. */
async function storedCalls(data: string): Promise<StoredCall[]> {
  const rows = await execute(
    data,
    `select id, op_name, inputs, output from calls where project_id = '${project_id}' and ended_at is not null
      and (op_name like '%/op/helper.predict:%' or op_name like '%/op/rated.score:%')`,
  );
  return rows as unknown as StoredCall[];
}

function requestOf({ op_name, inputs }: StoredCall): string {
  const { inputs: row, output } = JSON.parse(inputs);
  return op_name.includes('.predict:') ? `small ${row.question}` : `judge ${output}`;
}
