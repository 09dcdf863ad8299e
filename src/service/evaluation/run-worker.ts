import { setTimeout as wait } from 'node:timers/promises';
import type { Log } from '../../core/log.ts';
import { nextTurn } from '../../core/turns.ts';
import type { ModelAsker } from '../inference/ask-model.ts';
import { recordEvents } from '../storage/call-events.ts';
import type { Database, Transaction } from '../storage/database.ts';
import {
  deleteJobs,
  deleteLease,
  type EvaluationLease,
  findProgress,
  listLeases,
  putLease,
  type RunKey,
  releasedHeartbeat,
  setNextTrial,
} from '../storage/evaluation-jobs.ts';
import { inChunks } from '../storage/in-chunks.ts';
import { selectRows } from '../storage/row-tables.ts';
import type { RunDefinition } from './definition.ts';
import { endRun, summarizeTrials } from './end-run.ts';
import { readCallsById } from './recorded-runs.ts';
import { applyScorer, type Outcome, predict } from './scorers.ts';
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
  asker: ModelAsker;
  log: Log;
  /** Identifies this process among those that work on the same runs. */
  owner: string;
  /** A process whose heartbeat has not changed for this long counts as ended. */
  leaseMs: number;
}

/** The run that a worker works on. */
export interface WorkerJob {
  key: RunKey;
  account: string;
  definition: RunDefinition;
}

/** Results of a trial that wait to be stored. */
interface Unstored {
  trial: number;
  events: CallEvents;
  /** Id of the prediction in the events; undefined if they have none. */
  predictionId: string | undefined;
  /** True if nothing is left to be done for the trial. */
  isLast: boolean;
  /** Called after the transaction, with false if the results were dropped because the prediction was already recorded. */
  onSettled: (wasStored: boolean) => void;
}

/** The outcome of synchronizing with the database once. */
interface SyncResult {
  /** False once the run has ended, or was cancelled. */
  isOpen: boolean;
  /** The trials that this process has to work on, or has results of. */
  claimed: number[];
  /** The claimed trials that belonged to a process that has ended or released them; they may have results already. */
  takenOver: number[];
  /** Requests that this process may have under way. */
  share: number;
  /** True if no process has anything left to do. */
  isDone: boolean;
  otherLeases: EvaluationLease[];
  /** Ids of sent predictions that another process, or an own commit of unknown outcome, had recorded before. */
  alreadyRecorded: Set<string>;
}

const pauseAfterFailureMs = 1000;

/** Per request that a process may have under way: how many trials it claims, and how many may be begun but not stored. */
const claimedPerRequest = 3;

/** Results that arrive within this time are stored together, because every transaction waits for the disk. */
const gatheringMs = 25;

/** Rows up to this size are read together, ahead of their trials. */
const maxPreparedChars = 64 * 1024;

/**
 * Works on one run, together with the workers of other processes. A process claims trials with its lease, whose heartbeat
 * shows the others that it is alive. The transaction that stores the last results of a trial also gives up its claim, so a
 * trial left over by another process is incomplete; the ids of its results show which are stored.
 */
export class RunWorker {
  readonly #context: WorkerContext;
  readonly #job: WorkerJob;
  readonly #stop = new AbortController();
  /** Claimed trials that have not begun; true for those that may have results. */
  readonly #waiting = new Map<number, boolean>();
  /** Trials that have begun and are not stored. */
  readonly #active = new Set<number>();
  /** The active trials that may still ask a model. */
  readonly #asking = new Set<number>();
  /** Rows that were read ahead, by their index. */
  readonly #rows = new Map<number, TrialRow>();
  #unstored: Unstored[] = [];
  /** The heartbeats of other processes, and when this process first saw them, by its own clock. */
  readonly #heartbeats = new Map<string, { heartbeat: number; seenAtMs: number }>();
  #heartbeat = 0;
  #share = 1;
  #mustRelease = false;
  #wake: (() => void) | undefined;
  #isWoken = false;

  constructor(context: WorkerContext, job: WorkerJob) {
    this.#context = context;
    this.#job = job;
  }

  /** Works until the run has ended, or {@link stop} is called. */
  async run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        const { isOpen, isDone } = await this.#sync();
        if (!isOpen) break;
        if (isDone) {
          await this.#endRun();
          break;
        }
        await this.#prepareRows();
        this.#begin();
        await this.#waitForNextSync();
      } catch (error) {
        if (signal.aborted) break;
        this.#context.log('error', 'evaluation run interrupted', { error: String(error) });
        await wait(pauseAfterFailureMs, undefined, { signal }).catch(() => {});
      }
    }
    this.#stop.abort();
    await this.#release();
  }

  /** Breaks off what is under way. Results that have arrived are stored, and other processes can go on at once. */
  stop(): void {
    this.#mustRelease = true;
    this.#stop.abort();
    this.#requestSync();
  }

  /** Waits until there are results to store or trials to claim, but not so long that others take this process for dead. */
  async #waitForNextSync(): Promise<void> {
    const { signal } = this.#stop;
    if (!this.#isWoken) {
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        timer = setTimeout(resolve, this.#context.leaseMs / 4);
      });
      clearTimeout(timer);
      this.#wake = undefined;
    }
    if (!signal.aborted) await wait(gatheringMs, undefined, { signal }).catch(() => {});
    this.#isWoken = false;
  }

  #requestSync(): void {
    this.#isWoken = true;
    this.#wake?.();
  }

  /** Stores results, keeps the lease alive and claims trials, in one transaction. */
  async #sync(): Promise<SyncResult> {
    const sent = [...this.#unstored];
    const nowMs = performance.now();
    const silentOwners = new Set(
      [...this.#heartbeats].flatMap(([owner, { seenAtMs }]) =>
        nowMs - seenAtMs > this.#context.leaseMs ? [owner] : [],
      ),
    );
    const result = await this.#context.database.write((transaction) => this.#syncIn(transaction, sent, silentOwners));
    this.#heartbeat += 1;
    this.#unstored = this.#unstored.slice(sent.length);
    this.#noteHeartbeats(result.otherLeases);
    this.#share = result.share;
    for (const trial of result.claimed) {
      if (!this.#active.has(trial) && !this.#waiting.has(trial)) this.#waiting.set(trial, false);
    }
    for (const trial of result.takenOver) if (this.#waiting.has(trial)) this.#waiting.set(trial, true);
    const claimed = new Set(result.claimed);
    for (const trial of [...this.#waiting.keys()]) if (!claimed.has(trial)) this.#waiting.delete(trial);
    const waitingRows = new Set([...this.#waiting.keys()].map((trial) => trial % this.#job.definition.rowCount));
    for (const index of this.#rows.keys()) if (!waitingRows.has(index)) this.#rows.delete(index);
    for (const { predictionId, onSettled, isLast, trial } of sent) {
      if (isLast) this.#active.delete(trial);
      onSettled(predictionId === undefined || !result.alreadyRecorded.has(predictionId));
    }
    return result;
  }

  async #syncIn(
    transaction: Transaction,
    sent: readonly Unstored[],
    silentOwners: ReadonlySet<string>,
  ): Promise<SyncResult> {
    const { key, account } = this.#job;
    const { owner } = this.#context;
    const closed = {
      isOpen: false,
      claimed: [],
      takenOver: [],
      share: 1,
      isDone: false,
      otherLeases: [],
      alreadyRecorded: new Set<string>(),
    };
    const progress = await findProgress(transaction, key);
    if (!progress) return closed;
    const alreadyRecorded = await this.#store(transaction, sent, account);
    const leases = await listLeases(transaction, key);
    const finished = new Set(sent.filter(({ isLast }) => isLast).map(({ trial }) => trial));
    const own = leases.find((lease) => lease.owner === owner);
    const claimed = (own?.trials ?? []).filter((trial) => !finished.has(trial));
    const isLeftOver = (lease: EvaluationLease): boolean =>
      lease.owner !== owner &&
      (lease.heartbeat === releasedHeartbeat ||
        (silentOwners.has(lease.owner) && lease.heartbeat === this.#heartbeats.get(lease.owner)?.heartbeat));
    const leftOver = leases.filter(isLeftOver);
    const others = leases.filter((lease) => lease.owner !== owner && !leftOver.includes(lease));
    for (const lease of leftOver) await deleteLease(transaction, key, lease.owner);
    const takenOver = leftOver.flatMap(({ trials }) => trials);
    claimed.push(...takenOver);
    const share = shareOf(progress.concurrency, owner, others);
    let next = progress.next_trial;
    // Claims trials in advance, so that the next one need not wait for a transaction.
    for (; claimed.length < claimedPerRequest * share && next < progress.trial_count; next += 1) claimed.push(next);
    if (next !== progress.next_trial) await setNextTrial(transaction, key, next);
    await putLease(transaction, key, { owner, heartbeat: this.#heartbeat + 1, trials: claimed });
    const isDone =
      claimed.length === 0 && next >= progress.trial_count && others.every(({ trials }) => trials.length === 0);
    return { isOpen: true, claimed, takenOver, share, isDone, otherLeases: others, alreadyRecorded };
  }

  /** Records results, except those with a prediction that is already recorded. Returns the ids of those predictions. */
  async #store(transaction: Transaction, sent: readonly Unstored[], account: string): Promise<Set<string>> {
    const { project_id } = this.#job.key;
    const predictions = sent.flatMap(({ predictionId }) => predictionId ?? []);
    const rows = await inChunks(predictions, (chunk) =>
      transaction
        .selectFrom('calls')
        // `chars` is selected only because no index has it: SQLite would otherwise search the whole index of traces.
        .select(['id', 'chars'])
        .where('project_id', '=', project_id)
        .where('id', 'in', chunk)
        .execute(),
    );
    const alreadyRecorded = new Set(rows.map(({ id }) => id));
    const unrecorded = sent.filter(
      ({ predictionId }) => predictionId === undefined || !alreadyRecorded.has(predictionId),
    );
    await recordEvents(transaction, account, joinEvents(unrecorded.map(({ events }) => events)));
    return alreadyRecorded;
  }

  #noteHeartbeats(leases: readonly EvaluationLease[]): void {
    const nowMs = performance.now();
    const owners = new Set(leases.map(({ owner }) => owner));
    for (const owner of [...this.#heartbeats.keys()]) if (!owners.has(owner)) this.#heartbeats.delete(owner);
    for (const { owner, heartbeat } of leases) {
      if (this.#heartbeats.get(owner)?.heartbeat === heartbeat) continue;
      this.#heartbeats.set(owner, { heartbeat, seenAtMs: nowMs });
    }
  }

  /** Begins as many of the claimed trials as may be under way. */
  #begin(): void {
    for (const [trial, mayHaveResults] of this.#waiting) {
      if (this.#stop.signal.aborted || this.#asking.size >= this.#share) return;
      // Trials whose results wait to be stored do not hold up others, but their number is limited.
      if (this.#active.size >= claimedPerRequest * this.#share) return;
      this.#waiting.delete(trial);
      this.#active.add(trial);
      this.#asking.add(trial);
      void this.#work(trial, mayHaveResults);
    }
  }

  async #work(trial: number, mayHaveResults: boolean): Promise<void> {
    try {
      await this.#runTrial(trial, mayHaveResults);
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.#context.log('error', 'trial interrupted', { error: String(error) });
      await wait(pauseAfterFailureMs, undefined, { signal: this.#stop.signal }).catch(() => {});
      this.#active.delete(trial);
      this.#asking.delete(trial);
      this.#waiting.set(trial, true);
      this.#requestSync();
    }
  }

  async #runTrial(trial: number, mayHaveResults: boolean): Promise<void> {
    const { key, definition } = this.#job;
    const row = await this.#readRow(trial % definition.rowCount);
    const trialEvents = new TrialEvents(key, definition, trial, row);
    const { asker } = this.#context;
    const { signal } = this.#stop;
    const recorded = mayHaveResults ? await this.#readRecorded(trialEvents) : emptyResults();
    if (recorded.isEnded) return this.#storeLast(trial, []);
    let { prediction } = recorded;
    const events: CallEvents[] = [];
    if (!prediction) {
      const started_at = timestamp();
      const outcome = await timed(predict(definition.request, row.value, { asker, signal }), started_at);
      prediction = outcome;
      events.push(trialEvents.start(started_at), trialEvents.prediction(outcome));
    }
    const scorerInput = { row: row.value, output: prediction.output, asker, signal };
    const scorers = prediction.exception === undefined ? definition.scorers : [];
    const predictedNow = events.length > 0;
    const judges = scorers.filter((scorer) => scorer.kind === 'judge' && !recorded.scores.has(scorer.key));
    if (judges.length === 0) {
      this.#endAsking(trial);
      // Lets other trials send their requests before this reply is scored.
      await nextTurn();
    }
    for (const scorer of scorers.filter(({ kind }) => kind === 'comparison')) {
      if (recorded.scores.has(scorer.key)) continue;
      const outcome = await timed(applyScorer(scorer, scorerInput));
      recorded.scores.set(scorer.key, outcome);
      events.push(trialEvents.score(scorer, prediction.output, outcome));
    }
    if (judges.length > 0) {
      // The prediction is stored before a judge is asked, so that every score is about the prediction that is stored.
      if (predictedNow) {
        const wasStored = await this.#storePart(trial, events, trialEvents.predictionId);
        if (!wasStored) return this.#runTrial(trial, true);
        events.length = 0;
      }
      for (const scorer of judges) {
        const outcome = await timed(applyScorer(scorer, scorerInput));
        recorded.scores.set(scorer.key, outcome);
        void this.#storePart(trial, [trialEvents.score(scorer, prediction.output, outcome)], undefined);
      }
      events.push(trialEvents.end(prediction, inOrder(scorers, recorded.scores)));
      return this.#storeLast(trial, events);
    }
    events.push(trialEvents.end(prediction, inOrder(scorers, recorded.scores)));
    return this.#storeLast(trial, events, predictedNow ? trialEvents.predictionId : undefined);
  }

  /** Reads the rows of the trials that wait, unless they are large. */
  async #prepareRows(): Promise<void> {
    const { table, rowCount } = this.#job.definition;
    const missing = [...this.#waiting.keys()]
      .map((trial) => trial % rowCount)
      .filter((index) => !this.#rows.has(index));
    if (missing.length === 0) return;
    const rows = await this.#context.database.read((transaction) =>
      inChunks(missing.map(String), (chunk) =>
        selectRows(transaction, table)
          .where('row_index', 'in', chunk.map(Number))
          .where(({ fn }) => fn('length', ['content']), '<=', maxPreparedChars)
          .execute(),
      ),
    );
    for (const row of rows) this.#rows.set(row.row_index, this.#toTrialRow(row));
  }

  async #readRow(index: number): Promise<TrialRow> {
    const prepared = this.#rows.get(index);
    if (prepared) {
      this.#rows.delete(index);
      return prepared;
    }
    const row = await this.#context.database.read((transaction) =>
      selectRows(transaction, this.#job.definition.table).where('row_index', '=', index).executeTakeFirstOrThrow(),
    );
    return this.#toTrialRow(row);
  }

  #toTrialRow({ content, row_digest }: { content: string; row_digest: string }): TrialRow {
    const { rowReference } = this.#job.definition;
    const value = JSON.parse(content) as Record<string, unknown>;
    return { value, example: rowReference === null ? value : rowReference + row_digest };
  }

  async #readRecorded(trialEvents: TrialEvents): Promise<RecordedResults> {
    const { key, definition } = this.#job;
    const results = emptyResults();
    const ids = [
      trialEvents.id,
      trialEvents.predictionId,
      ...definition.scorers.map((scorer) => trialEvents.scoreId(scorer)),
    ];
    for await (const found of readCallsById(this.#context.database, key.project_id, ids)) {
      for (const call of found) {
        const outcome = outcomeOf(call);
        if (call.id === trialEvents.id) results.isEnded = outcome !== undefined;
        else if (call.id === trialEvents.predictionId) results.prediction = outcome;
        else if (outcome) {
          const scorer = definition.scorers.find((candidate) => trialEvents.scoreId(candidate) === call.id);
          results.scores.set(scorer!.key, outcome);
        }
      }
    }
    return results;
  }

  /** Stores results of a trial of which more will come. Returns false if its prediction was already recorded. */
  #storePart(trial: number, events: readonly CallEvents[], predictionId: string | undefined): Promise<boolean> {
    return new Promise((onSettled) => {
      this.#unstored.push({ trial, events: joinEvents(events), predictionId, isLast: false, onSettled });
      this.#requestSync();
    });
  }

  #storeLast(trial: number, events: readonly CallEvents[], predictionId?: string): void {
    this.#unstored.push({ trial, events: joinEvents(events), predictionId, isLast: true, onSettled: () => {} });
    this.#endAsking(trial);
    this.#requestSync();
  }

  /** Frees the place of a trial that asks no model any more, and begins another. */
  #endAsking(trial: number): void {
    if (this.#asking.delete(trial)) this.#begin();
  }

  /** Records the end of the run with the summary of its scores. */
  async #endRun(): Promise<void> {
    const { key, account, definition } = this.#job;
    const { output, summary } = await summarizeTrials(this.#context.database, key.project_id, key.call_id);
    const run = { id: key.call_id, trace_id: key.call_id, inputs: { self: definition.evaluation } };
    await this.#context.database.write(async (transaction) => {
      if (!(await findProgress(transaction, key))) return;
      await endRun(transaction, { project_id: key.project_id, run, account, output, summary });
      await deleteJobs(transaction, key.project_id, [key.call_id]);
    });
  }

  /** Stores what has arrived, and lets other processes take over the rest at once. */
  async #release(): Promise<void> {
    if (!this.#mustRelease) return;
    const { key, account } = this.#job;
    const { owner } = this.#context;
    const sent = this.#unstored;
    this.#unstored = [];
    try {
      await this.#context.database.write(async (transaction) => {
        if (!(await findProgress(transaction, key))) return;
        await this.#store(transaction, sent, account);
        const own = (await listLeases(transaction, key)).find((lease) => lease.owner === owner);
        const finished = new Set(sent.filter(({ isLast }) => isLast).map(({ trial }) => trial));
        const trials = (own?.trials ?? []).filter((trial) => !finished.has(trial));
        if (trials.length > 0) await putLease(transaction, key, { owner, heartbeat: releasedHeartbeat, trials });
        else if (own) await deleteLease(transaction, key, owner);
      });
    } catch (error) {
      // Other processes go on once the heartbeat has not changed for the time of a lease.
      this.#context.log('error', 'evaluation run not released', { error: String(error) });
    }
  }
}

interface RecordedResults {
  isEnded: boolean;
  prediction: TimedOutcome | undefined;
  scores: Map<string, Outcome>;
}

function emptyResults(): RecordedResults {
  return { isEnded: false, prediction: undefined, scores: new Map() };
}

/** Returns how many of the requests that a run may have under way are this process's. */
function shareOf(concurrency: number, owner: string, others: readonly EvaluationLease[]): number {
  const owners = [owner, ...others.map((lease) => lease.owner)].sort();
  const rest = owners.indexOf(owner) < concurrency % owners.length ? 1 : 0;
  return Math.max(1, Math.floor(concurrency / owners.length) + rest);
}

function inOrder(scorers: RunDefinition['scorers'], scores: ReadonlyMap<string, Outcome>): Map<string, Outcome> {
  return new Map(scorers.flatMap(({ key }) => (scores.has(key) ? [[key, scores.get(key)!] as const] : [])));
}

async function timed(outcome: Promise<Outcome>, started_at = timestamp()): Promise<TimedOutcome> {
  return { ...(await outcome), started_at, ended_at: timestamp() };
}

function timestamp(): string {
  return new Date().toISOString();
}
