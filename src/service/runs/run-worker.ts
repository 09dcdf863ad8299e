import { setTimeout as wait } from 'node:timers/promises';
import { Refusal } from '../../core/http/refusal.ts';
import type { Log } from '../../core/log.ts';
import { nextTurn } from '../../core/turns.ts';
import type { ModelClient } from '../inference/model-client.ts';
import { type MemoryPool, RequestBudget } from '../request-budget.ts';
import { recordEvents } from '../storage/call-events.ts';
import type { Database } from '../storage/database.ts';
import { deleteJobs, type EvaluationJob, renewLease } from '../storage/evaluation-jobs.ts';
import { selectPlaces, selectRows } from '../storage/row-tables.ts';
import { toStorableText } from '../storage/storable-text.ts';
import { applyScorer, type Outcome, predict } from './predict-and-score.ts';
import { readCallsById } from './recorded-runs.ts';
import type { RunDefinition } from './run-definition.ts';
import { endRun, summarizeTrials } from './run-events.ts';
import {
  type CallEvents,
  joinEvents,
  outcomeOf,
  type TimedOutcome,
  TrialEvents,
  type TrialRow,
} from './trial-events.ts';

/** The state that the workers of one process share. */
export interface WorkerContext {
  database: Database;
  modelClient: ModelClient;
  memoryPool: MemoryPool;
  log: Log;
  /** Identifies this process among those that work on runs. */
  owner: string;
  /** A process whose heartbeat has not changed for this long counts as ended. */
  leaseMs: number;
}

/** A trial that has not begun. */
interface WaitingTrial {
  trial: number;
  /** True if another process, or an attempt that failed, may have stored some of its results. */
  mayHaveResults: boolean;
  /** Undefined until it is read, which happens ahead of the trial unless the row is large. */
  row?: TrialRow;
}

/** Results of a trial that wait to be stored. */
interface Unstored {
  trial: number;
  events: CallEvents;
  /** True if the trial ends with them. */
  isLast: boolean;
  onStored: () => void;
}

const pauseAfterFailureMs = 1000;

/** Number of trials that are open at once, per request that a run may have in progress. */
const openPerRequest = 3;

/** Results that arrive within this time are stored together, because every transaction waits for the disk. */
const gatheringMs = 25;

/** Rows up to this size are read together, ahead of their trials. */
const maxPreparedBytes = 256 * 1024;

/**
 * Works on one run, whose lease its process holds. Each transaction that stores results renews the lease and stores which
 * trials are open, so that a process that takes the run over repeats only what was in progress.
 */
export class RunWorker {
  readonly #context: WorkerContext;
  readonly #job: EvaluationJob;
  readonly #definition: RunDefinition;
  readonly #stop = new AbortController();
  #waiting: WaitingTrial[];
  /** Trials that have begun and are not stored to their end. */
  readonly #active = new Set<number>();
  /** The active trials that may still ask a model. */
  readonly #asking = new Set<number>();
  /** The first trial that neither waits nor has begun. */
  #nextTrial: number;
  #isYielding = false;
  #unstored: Unstored[] = [];
  /** Aborts when there is something to store. */
  #wakeUp = new AbortController();

  /** @param job the run as it was when its lease was taken. */
  constructor(context: WorkerContext, job: EvaluationJob) {
    this.#context = context;
    this.#job = job;
    this.#definition = JSON.parse(job.definition);
    const open = JSON.parse(job.open_trials) as number[];
    this.#waiting = open.map((trial) => ({ trial, mayHaveResults: true }));
    this.#nextTrial = job.next_trial;
  }

  /** Works until the run has ended, its lease is lost, or {@link stop} is called. */
  async run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        const isHeld = await this.#sync();
        if (isHeld && this.#isDone) await this.#endRun();
        if (!isHeld || this.#isDone) return this.#stop.abort();
        if (this.#isYielding && this.#active.size === 0) break;
        await this.#fillUp();
        this.#begin();
        await this.#waitForNextSync();
      } catch (error) {
        if (signal.aborted) break;
        this.#context.log('error', 'evaluation run interrupted', { error: String(error) });
        await wait(pauseAfterFailureMs, undefined, { signal }).catch(() => {});
      }
    }
    // Other processes take the run over at once; if this fails, once the heartbeat has not changed for the time of a lease.
    await this.#sync(null).catch((error) => {
      this.#context.log('error', 'evaluation run not released', { error: String(error) });
    });
  }

  /** Aborts the requests in progress. Results that have arrived are stored. */
  stop(): void {
    this.#stop.abort();
    this.#wakeUp.abort();
  }

  /** Ends the turn of the run: begins no more trials, and gives the lease up once those that have begun have ended. */
  yield(): void {
    this.#isYielding = true;
    this.#wakeUp.abort();
  }

  get isYielding(): boolean {
    return this.#isYielding;
  }

  get #isDone(): boolean {
    return this.#nextTrial >= this.#job.trial_count && this.#waiting.length === 0 && this.#active.size === 0;
  }

  /** Waits until there are results to store, but not so long that others take this process for dead. */
  async #waitForNextSync(): Promise<void> {
    const { leaseMs } = this.#context;
    await wait(leaseMs / 4, undefined, { signal: this.#wakeUp.signal }).catch(() => {});
    await wait(gatheringMs, undefined, { signal: this.#stop.signal }).catch(() => {});
    this.#wakeUp = new AbortController();
  }

  /** Stores results and renews the lease, or gives it to `nextOwner`. Returns false if it is not held any more. */
  async #sync(nextOwner?: null): Promise<boolean> {
    const { database, owner } = this.#context;
    const sent = [...this.#unstored];
    const ended = new Set(sent.filter(({ isLast }) => isLast).map(({ trial }) => trial));
    const open_trials = [...this.#active, ...this.#waiting.map(({ trial }) => trial)].filter((at) => !ended.has(at));
    const position = { next_trial: this.#nextTrial, open_trials };
    const isHeld = await database.write(async (transaction) => {
      const isRenewed = await renewLease(transaction, this.#job, position, owner, nextOwner);
      if (isRenewed) await recordEvents(transaction, this.#job.account, joinEvents(sent.map(({ events }) => events)));
      return isRenewed;
    });
    if (!isHeld) return false;
    this.#unstored = this.#unstored.slice(sent.length);
    for (const trial of ended) this.#active.delete(trial);
    for (const { onStored } of sent) onStored();
    return true;
  }

  /** Puts trials into the queue and reads their rows, so that the next one to begin need not wait for the database. */
  async #fillUp(): Promise<void> {
    const { concurrency, trial_count } = this.#job;
    while (this.#waiting.length + this.#active.size < openPerRequest * concurrency && this.#nextTrial < trial_count) {
      this.#waiting.push({ trial: this.#nextTrial, mayHaveResults: false });
      this.#nextTrial += 1;
    }
    const unread = this.#waiting.filter(({ row }) => row === undefined);
    if (unread.length === 0) return;
    const indexes = unread.map(({ trial }) => this.#rowIndexOf(trial));
    const rows = await this.#readRows([...new Set(indexes)], maxPreparedBytes);
    for (const waiting of unread) {
      const row = rows.get(this.#rowIndexOf(waiting.trial));
      if (row) waiting.row = row;
    }
  }

  #rowIndexOf(trial: number): number {
    return trial % this.#definition.rowCount;
  }

  /** Reads rows by their places in the dataset, without those that take more memory than `maxBytes`. */
  async #readRows(indexes: readonly number[], maxBytes: number): Promise<Map<number, TrialRow>> {
    const { table, rowReference } = this.#definition;
    const rows = await this.#context.database.read((transaction) =>
      selectRows(transaction, table).where('row_index', 'in', indexes).where('memory_bytes', '<=', maxBytes).execute(),
    );
    return new Map(
      rows.map(({ row_index, row_digest, content }) => {
        const value = JSON.parse(content) as TrialRow['value'];
        return [row_index, { value, example: rowReference === null ? value : rowReference + row_digest }];
      }),
    );
  }

  /** Begins as many of the waiting trials as may run at once. */
  #begin(): void {
    const { concurrency } = this.#job;
    while (
      !this.#stop.signal.aborted &&
      !this.#isYielding &&
      this.#waiting.length > 0 &&
      this.#asking.size < concurrency &&
      // Trials whose results wait to be stored do not hold up others, but their number is limited.
      this.#active.size < openPerRequest * concurrency
    ) {
      const waiting = this.#waiting.shift()!;
      this.#active.add(waiting.trial);
      this.#asking.add(waiting.trial);
      void this.#work(waiting);
    }
  }

  async #work(waiting: WaitingTrial): Promise<void> {
    const { trial } = waiting;
    try {
      await this.#runTrial(waiting).catch((error) => {
        if (isTooLarge(error)) return this.#fail(trial, error.message);
        throw error;
      });
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.#context.log('error', 'trial interrupted', { error: String(error) });
      await wait(pauseAfterFailureMs, undefined, { signal: this.#stop.signal }).catch(() => {});
      this.#active.delete(trial);
      this.#waiting.push({ ...waiting, mayHaveResults: true });
      this.#endAsking(trial);
    }
  }

  /** Records that a trial failed before its row could be read. */
  async #fail(trial: number, exception: string): Promise<void> {
    const { table, rowReference } = this.#definition;
    const { row_digest } = await this.#context.database.read((transaction) =>
      selectPlaces(transaction, table).where('row_index', '=', this.#rowIndexOf(trial)).executeTakeFirstOrThrow(),
    );
    const row = { value: {}, example: rowReference === null ? {} : rowReference + row_digest };
    const prediction = await timed(async () => ({ exception, usage: {} }));
    const events = new TrialEvents(this.#job, this.#definition, trial, row);
    const started = events.start(prediction.started_at);
    void this.#store(trial, [started, events.prediction(prediction), events.end(prediction, new Map())], true);
    this.#endAsking(trial);
  }

  /** Runs a trial on its row. While it runs, a large row counts as memory of the account that started the run. */
  async #runTrial(waiting: WaitingTrial): Promise<void> {
    const { row } = waiting;
    if (row) return this.#runOnRow(waiting, row);
    const index = this.#rowIndexOf(waiting.trial);
    await this.#withBudget(async (budget) => {
      const [place] = await this.#context.database.read((transaction) =>
        selectPlaces(transaction, this.#definition.table).where('row_index', '=', index).execute(),
      );
      await budget.reserve(place!.memory_bytes, 'use smaller rows');
      const rows = await this.#readRows([index], place!.memory_bytes);
      await this.#runOnRow(waiting, rows.get(index)!);
    });
  }

  async #runOnRow({ trial, mayHaveResults }: WaitingTrial, row: TrialRow): Promise<void> {
    const { modelClient } = this.#context;
    const { signal } = this.#stop;
    const trialEvents = new TrialEvents(this.#job, this.#definition, trial, row);
    const outcomes = mayHaveResults ? await this.#readOutcomes(trialEvents) : new Map<string, TimedOutcome>();
    let prediction = outcomes.get(trialEvents.predictionId);
    const events: CallEvents[] = [];
    if (!prediction) {
      prediction = await timed(() => predict(this.#definition.request, row.value, { modelClient, signal }));
      events.push(trialEvents.start(prediction.started_at), trialEvents.prediction(prediction));
    }
    const { output } = prediction;
    const scorers = prediction.exception === undefined ? this.#definition.scorers : [];
    const missing = scorers.filter((scorer) => !outcomes.has(trialEvents.scoreId(scorer)));
    const judges = missing.filter(({ kind }) => kind === 'judge');
    if (judges.length === 0) {
      this.#endAsking(trial);
      // Lets other trials send their requests before this reply is scored.
      await nextTurn();
    }
    for (const scorer of [...missing.filter(({ kind }) => kind === 'comparison'), ...judges]) {
      if (scorer.kind === 'judge') {
        const stored = this.#store(trial, events.splice(0), false);
        // The prediction is stored before a judge is asked, so that every score is about the prediction that is stored.
        if (scorer === judges[0]) await stored;
      }
      const outcome = await timed(() => applyScorer(scorer, { row: row.value, output, modelClient, signal }));
      outcomes.set(trialEvents.scoreId(scorer), outcome);
      events.push(trialEvents.score(scorer, output, outcome));
    }
    events.push(trialEvents.end(prediction, outcomes));
    void this.#store(trial, events, true);
    this.#endAsking(trial);
  }

  /** Reads the outcomes of a trial that are stored already, by the ids of their calls. */
  async #readOutcomes(trialEvents: TrialEvents): Promise<Map<string, TimedOutcome>> {
    const outcomes = new Map<string, TimedOutcome>();
    const ids = [trialEvents.predictionId, ...this.#definition.scorers.map((scorer) => trialEvents.scoreId(scorer))];
    const { database } = this.#context;
    await this.#withBudget(async (budget) => {
      for await (const calls of readCallsById(database, this.#job.project_id, ids, budget)) {
        for (const call of calls) {
          const outcome = outcomeOf(call);
          if (outcome) outcomes.set(call.id, outcome);
        }
      }
    });
    return outcomes;
  }

  /** Stores results of a trial together with those of others. Resolves when they are stored. */
  #store(trial: number, events: readonly CallEvents[], isLast: boolean): Promise<void> {
    return new Promise((onStored) => {
      this.#unstored.push({ trial, events: joinEvents(events), isLast, onStored });
      this.#wakeUp.abort();
    });
  }

  /** Frees the place of a trial that asks no model any more, and begins another. */
  #endAsking(trial: number): void {
    if (this.#asking.delete(trial)) this.#begin();
  }

  /** Reads with a budget, as a request of the account that started the run would. */
  async #withBudget<T>(read: (budget: RequestBudget) => Promise<T>): Promise<T> {
    const budget = new RequestBudget(this.#context.memoryPool, this.#job.account);
    try {
      return await read(budget);
    } finally {
      budget.close();
    }
  }

  /** Records the end of the run with the summary of its scores. */
  async #endRun(): Promise<void> {
    const { project_id, call_id, account } = this.#job;
    const summarized = this.#withBudget((budget) =>
      summarizeTrials(this.#context.database, project_id, call_id, budget),
    );
    const end = await summarized.catch((error) => {
      if (isTooLarge(error))
        return { output: null, summary: {}, exception: `Its trials were not summarized. ${error.message}` };
      throw error;
    });
    const run = { id: call_id, trace_id: call_id, inputs: { self: this.#definition.evaluation } };
    await this.#context.database.write(async (transaction) => {
      if ((await deleteJobs(transaction, project_id, [call_id])) === 0) return;
      await endRun(transaction, { project_id, run, account, ...end });
    });
  }
}

/** Returns whether something needs more memory or work than is allowed, which it will always do. */
function isTooLarge(error: unknown): error is Refusal {
  return error instanceof Refusal && error.status === 413;
}

async function timed(work: () => Promise<Outcome>): Promise<TimedOutcome> {
  const started_at = new Date().toISOString();
  const { exception, ...outcome } = await work();
  const ended_at = new Date().toISOString();
  return { started_at, ...outcome, ...(exception !== undefined && { exception: toStorableText(exception) }), ended_at };
}
