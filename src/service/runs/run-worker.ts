import { setTimeout as wait } from 'node:timers/promises';
import type { BodyOf } from '../../contract/endpoints.ts';
import { Refusal } from '../../core/http/refusal.ts';
import type { Log } from '../../core/log.ts';
import { nextTurn } from '../../core/turns.ts';
import type { ModelClient } from '../inference/model-client.ts';
import type { ScorerEndpoints } from '../inference/scorer-endpoints.ts';
import { type MemoryPool, RequestBudget } from '../request-budget.ts';
import { recordEvents } from '../storage/call-events.ts';
import type { Database, Transaction } from '../storage/database.ts';
import { contentDigest } from '../storage/digest.ts';
import { deleteJobs, type EvaluationJob, renewLease } from '../storage/evaluation-jobs.ts';
import { findKeptScore, putKeptScores } from '../storage/kept-scores.ts';
import { selectPlaces, selectRows } from '../storage/row-tables.ts';
import { toStorableText } from '../storage/storable-text.ts';
import { applyScorer, type Judged, type Outcome, predict } from './predict-and-score.ts';
import { findCall, readCallsById } from './recorded-runs.ts';
import { type Booking, BudgetReached, limitsInWords, RunBudget } from './run-budget.ts';
import {
  appliesTo,
  isAsking,
  type RunDefinition,
  type RunScorer,
  type RunSource,
  readsFact,
  requestsOfScorer,
} from './run-definition.ts';
import { endRun, summarizeTrials } from './run-events.ts';
import { readFacts, readSourceOutput } from './source-outputs.ts';
import {
  type CallEvents,
  joinEvents,
  outcomeOf,
  type SourceOutput,
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
  scorerEndpoints: ScorerEndpoints;
  /** Stores a score as feedback, in a write transaction. */
  storeFeedback: (transaction: Transaction, feedback: BodyOf<'createFeedback'>, account: string) => Promise<unknown>;
}

interface WaitingTrial {
  trial: number;
  /** True if another process, or an attempt that failed, may have stored some of its results. */
  mayHaveResults: boolean;
  /** Undefined until it is read, which happens ahead of the trial unless the row is large. */
  row?: TrialRow;
  /** The requests that it may send; in a run with a budget it begins once they are booked. */
  booking?: Booking | undefined;
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

/** Trials whose requests are booked at once, per request that a run may have in progress. */
const bookedPerRequest = 2;

/** Results that arrive within this time are stored together, because every transaction waits for the disk. */
const gatheringMs = 25;

/** Trials after which a run ends if all have failed for the same reason. */
const maxAlikeFailures = 10;

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
  readonly #budget: RunBudget;
  /** True if the budget does not cover the next trial, and none is in progress. */
  #isOverBudget = false;
  /** The one reason for which all trials so far failed, and their number; undefined once one did not, or if another process began the run. */
  #alikeFailures: { reason: string; count: number } | undefined;
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
    if (job.next_trial === 0) this.#alikeFailures = { reason: '', count: 0 };
    const { budget, prices } = this.#definition;
    this.#budget = new RunBudget(budget, prices, JSON.parse(job.spent));
  }

  /** Works until the run has ended, its lease is lost, or {@link stop} is called. */
  async run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        const isHeld = await this.#sync();
        const isOver = this.#isDone || this.#isOverBudget || (this.#isHopeless && this.#active.size === 0);
        if (isHeld && isOver) await this.#endRun();
        if (!isHeld || isOver) return this.#stop.abort();
        if (this.#isYielding && this.#active.size === 0) break;
        await this.#fillUp();
        // Bookings are stored before requests are sent.
        if (this.#book() || this.#isOverBudget) continue;
        this.#begin();
        await this.#waitForNextSync();
      } catch (error) {
        if (signal.aborted) break;
        this.#context.log('error', 'evaluation run interrupted', { error: String(error) });
        await wait(pauseAfterFailureMs, undefined, { signal }).catch(() => {});
      }
    }
    for (const { booking } of this.#waiting) booking?.release();
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

  /** True if the first trials have all failed for the same reason, so that the rest would too. */
  get #isHopeless(): boolean {
    return (this.#alikeFailures?.count ?? 0) >= maxAlikeFailures;
  }

  /** Notes whether a trial got a usable reply to what it asked. */
  #noteReplies(outcomes: readonly Outcome[]): void {
    const asked = outcomes.filter(({ isUnasked }) => !isUnasked).map(({ exception }) => exception);
    if (!this.#alikeFailures || asked.length === 0) return;
    const { count, reason: before } = this.#alikeFailures;
    const [reason] = asked;
    const isAlike = reason !== undefined && !asked.includes(undefined) && (count === 0 || reason === before);
    this.#alikeFailures = isAlike ? { reason, count: count + 1 } : undefined;
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
    const position = { next_trial: this.#nextTrial, open_trials, spent: this.#budget.toStored() };
    const isHeld = await database.write(async (transaction) => {
      const isRenewed = await renewLease(transaction, this.#job, position, owner, nextOwner);
      if (!isRenewed) return false;
      const { kept = [], feedback = [], ...events } = joinEvents(sent.map((unstored) => unstored.events));
      await recordEvents(transaction, this.#job.account, events);
      await putKeptScores(transaction, kept);
      for (const one of feedback) await this.#context.storeFeedback(transaction, one, this.#job.account);
      return true;
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

  /** Books the requests of the trials that come next, if the run has a budget. Returns whether bookings must be stored. */
  #book(): boolean {
    if (!this.#budget.limits || this.#isYielding) return false;
    let hasBooked = false;
    let booked = this.#asking.size;
    for (const waiting of this.#waiting) {
      if (booked >= bookedPerRequest * this.#job.concurrency) break;
      if (!waiting.booking) {
        waiting.booking = this.#budget.book(this.#requestsPerTrial);
        if (!waiting.booking) {
          this.#isOverBudget = this.#active.size === 0 && waiting === this.#waiting[0];
          break;
        }
        hasBooked = true;
      }
      booked += 1;
    }
    return hasBooked;
  }

  /** The requests of a trial to models, if each is answered at once. */
  get #requestsPerTrial(): number {
    const { request, scorers } = this.#definition;
    return scorers.reduce((sum, scorer) => sum + requestsOfScorer(scorer), request ? 1 : 0);
  }

  #rowIndexOf(trial: number): number {
    return trial % this.#definition.rowCount;
  }

  /** Reads rows by their places in a table, the dataset by default, without those that take more memory than `maxBytes`. */
  async #readRows(
    indexes: readonly number[],
    maxBytes: number,
    table = this.#definition.table,
  ): Promise<Map<number, TrialRow>> {
    const { rowReference } = this.#definition;
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
      !this.#isHopeless &&
      this.#waiting.length > 0 &&
      (!this.#budget.limits || this.#waiting[0]!.booking) &&
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
      if (!(error instanceof BudgetReached)) {
        this.#context.log('error', 'trial interrupted', { error: String(error) });
        await wait(pauseAfterFailureMs, undefined, { signal: this.#stop.signal }).catch(() => {});
      }
      this.#active.delete(trial);
      this.#waiting.push({ ...waiting, mayHaveResults: true, booking: undefined });
      this.#endAsking(trial);
      this.#wakeUp.abort();
    } finally {
      waiting.booking?.release();
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
    const { source } = this.#definition;
    if (source) {
      const taken = await this.#takeOutput(waiting, source);
      if (taken) return;
    }
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

  /**
   * Runs a trial on the output of an earlier trial or of a recorded call.
   * @returns false if the model is to be asked, because there is no output.
   */
  async #takeOutput(waiting: WaitingTrial, { kind, table, asks }: RunSource): Promise<boolean> {
    const { trial } = waiting;
    const { database } = this.#context;
    const { project_id } = this.#job;
    const places = await this.#readRows([trial], maxPreparedBytes, table);
    const { call_id } = places.get(trial)?.value ?? {};
    if (typeof call_id !== 'string') return false;
    return this.#withBudget(async (budget) => {
      const read = await readSourceOutput(database, project_id, { kind, id: call_id }, budget);
      if (asks && (!read || read.prediction.exception !== undefined)) return false;
      const taken = read ?? missingOutput(call_id);
      await this.#runOnRow(waiting, (asks && waiting.row) || taken.row, taken);
      return true;
    });
  }

  /** @param taken the output, if no model is asked for it. */
  async #runOnRow(
    { trial, mayHaveResults, booking }: WaitingTrial,
    row: TrialRow,
    taken?: SourceOutput,
  ): Promise<void> {
    const { modelClient, scorerEndpoints } = this.#context;
    const asking = { modelClient, signal: this.#stop.signal, meter: this.#budget.limits && booking };
    const trialEvents = new TrialEvents(this.#job, this.#definition, trial, row);
    const outcomes = mayHaveResults ? await this.#readOutcomes(trialEvents) : new Map<string, TimedOutcome>();
    let prediction = taken?.prediction ?? outcomes.get(trialEvents.predictionId);
    const events: CallEvents[] = [];
    if (taken) events.push(trialEvents.start(new Date().toISOString(), taken));
    if (!prediction) {
      prediction = await timed(() => predict(this.#definition.request!, row.value, asking));
      events.push(trialEvents.start(prediction.started_at), trialEvents.prediction(prediction));
    }
    const { output } = prediction;
    const { database } = this.#context;
    const took = { prediction, usage: taken?.usage ?? prediction.usage };
    const facts = await readFacts(database, this.#job.project_id, this.#definition.scorers, took);
    const applies = (scorer: RunScorer): boolean => appliesTo(scorer, row.value);
    const missing = this.#definition.scorers
      .filter((scorer) => prediction.exception === undefined || !applies(scorer))
      .filter((scorer) => !outcomes.has(trialEvents.scoreId(scorer)));
    const judges = missing.filter((scorer) => isAsking(scorer) && applies(scorer));
    if (!taken) this.#noteReplies([prediction]);
    if (judges.length === 0) {
      this.#endAsking(trial);
      // Lets other trials send their requests before this reply is scored.
      await nextTurn();
    }
    for (const scorer of [...missing.filter((one) => !judges.includes(one)), ...judges]) {
      if (judges.includes(scorer)) {
        const stored = this.#store(trial, events.splice(0), false);
        // The prediction is stored before a judge is asked, so that every score is about the prediction that is stored.
        if (scorer === judges[0]) await stored;
      }
      const judged = { row: row.value, output, facts, scorerEndpoints, ...asking };
      const keptKey = judges.includes(scorer) ? this.#keptKeyOf(scorer, judged) : undefined;
      const outcome = await timed(
        async () => (keptKey && (await this.#readKept(keptKey))) || applyScorer(scorer, judged),
      );
      outcomes.set(trialEvents.scoreId(scorer), outcome);
      events.push(trialEvents.score(scorer, outcome, { output, taken, keptKey }));
    }
    this.#noteReplies(judges.map((scorer) => outcomes.get(trialEvents.scoreId(scorer))!));
    events.push(trialEvents.end(prediction, outcomes, taken !== undefined));
    void this.#store(trial, events, true);
    this.#endAsking(trial);
  }

  /** Returns the digest under which a score is kept: of the scorer, the row and the output. Undefined where none is. */
  #keptKeyOf(scorer: RunScorer, { row, output }: Judged): string | undefined {
    if (readsFact(scorer, 'latency_within') || readsFact(scorer, 'cost_within')) return undefined;
    const { key: _, reference: __, operation: ___, ...parts } = scorer;
    return contentDigest([this.#job.provider, parts, row, output ?? null]);
  }

  /** Reads a score that an earlier run has given to the same output. */
  async #readKept(content_digest: string): Promise<Outcome | undefined> {
    const { database } = this.#context;
    const { project_id } = this.#job;
    const id = await database.read((transaction) => findKeptScore(transaction, { project_id, content_digest }));
    if (id === undefined) return undefined;
    const call = await this.#withBudget((budget) => findCall(database, project_id, id, budget));
    const outcome = call && outcomeOf(call);
    if (!outcome || outcome.exception !== undefined) return undefined;
    return { output: outcome.output, usage: {}, reusedCallId: id };
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
    const { limits, spent } = this.#budget;
    if (limits) Object.assign(end.summary, { budget: limits, spent });
    const done = this.#nextTrial - this.#waiting.length;
    if (!this.#isDone && this.#isHopeless) {
      const exception = `Stopped because each of the first ${done} of ${this.#job.trial_count} predictions failed with: ${this.#alikeFailures!.reason}`;
      Object.assign(end, { exception });
    } else if (limits && this.#isOverBudget) {
      const exception = `Stopped by its budget of ${limitsInWords(limits)}: ${done} of ${this.#job.trial_count} predictions took ${limitsInWords(spent)}, and the next could exceed it.`;
      Object.assign(end.summary, { budget_reached: true });
      Object.assign(end, { exception });
    }
    await this.#context.database.write(async (transaction) => {
      if ((await deleteJobs(transaction, project_id, [call_id])) === 0) return;
      await endRun(transaction, { project_id, run, account, ...end });
    });
  }
}

/** Returns what a run records of a call that was deleted before it could be scored. */
function missingOutput(callId: string): SourceOutput {
  const now = new Date().toISOString();
  const exception = `The call ${callId} does not exist any more.`;
  return {
    row: { value: {}, example: {} },
    prediction: { started_at: now, ended_at: now, exception, usage: {} },
    usage: {},
    callId,
  };
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
