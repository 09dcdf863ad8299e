import { randomUUID } from 'node:crypto';
import { defaultTimeoutsMs } from '../../contract/endpoint.ts';
import type { Log } from '../../core/log.ts';
import { ModelClient } from '../inference/model-client.ts';
import type { ModelProvider } from '../inference/model-provider.ts';
import type { ScorerEndpoints } from '../inference/scorer-endpoints.ts';
import type { MemoryPool } from '../request-budget.ts';
import type { Database } from '../storage/database.ts';
import { listLeases, type RunKey, type RunLease, takeLease } from '../storage/evaluation-jobs.ts';
import { RunWorker, type WorkerContext } from './run-worker.ts';

export interface RunnerLimits {
  /** A process that has shown no sign of life for this long has ended; 10 s by default. */
  leaseMs?: number;
  /** Longest time that a model may take for a reply; 10 minutes by default. */
  replyTimeoutMs?: number;
  /** Time after which a run lets one that waits take its place; 1 minute by default. */
  turnMs?: number;
}

export interface RunnerOptions extends RunnerLimits {
  database: Database;
  modelProvider: ModelProvider | undefined;
  memoryPool: MemoryPool;
  log: Log;
  scorerEndpoints: ScorerEndpoints;
  storeFeedback: WorkerContext['storeFeedback'];
}

/** Number of runs that one process works on at once. */
const maxRuns = 4;
/** Number of runs of an account in one process, including those that only wait for the replies that they have asked for. */
const maxRunsOfAccount = 8;
const defaultTurnMs = 60_000;
const defaultLeaseMs = 10_000;

/** A run that this process works on. */
interface Turn {
  worker: RunWorker;
  ended: Promise<void>;
  account: string;
  project_id: string;
  startedAtMs: number;
}

/**
 * Works on the runs of evaluations in a database, which other processes with the same model provider may do as well. Each run
 * is the work of the process that holds its lease.
 */
export class EvaluationRunner {
  readonly #options: RunnerOptions;
  readonly #leaseMs: number;
  readonly #owner = randomUUID();
  readonly #modelClient: ModelClient;
  readonly #turnMs: number;
  readonly #workers = new Map<string, Turn>();
  /** When the latest turn of each run ended that this process has worked on, by its own clock. */
  readonly #lastTurnsMs = new Map<string, number>();
  /** The heartbeats of runs, and when this process first saw them, by its own clock. */
  #heartbeats = new Map<string, { beat: number; seenAtMs: number }>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #isStopped = false;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#leaseMs = options.leaseMs ?? defaultLeaseMs;
    this.#turnMs = options.turnMs ?? defaultTurnMs;
    this.#modelClient = new ModelClient(options.modelProvider, options.replyTimeoutMs ?? defaultTimeoutsMs.inference);
  }

  /** Names the model provider and the endpoints of scorers, so that only processes with the same ones work on a run. */
  get provider(): string {
    return (this.#options.modelProvider?.identity ?? 'echo') + this.#options.scorerEndpoints.identity;
  }

  /** Returns what the models and endpoints are asked with. */
  get asking(): Pick<WorkerContext, 'modelClient' | 'scorerEndpoints'> {
    return { modelClient: this.#modelClient, scorerEndpoints: this.#options.scorerEndpoints };
  }

  /** Looks for runs to work on, now and from time to time. */
  start(): void {
    if (this.#isStopped) return;
    clearTimeout(this.#timer);
    this.#looking ??= this.#lookForRuns().finally(() => {
      this.#looking = undefined;
      if (this.#isStopped) return;
      this.#timer = setTimeout(() => this.start(), this.#leaseMs / 4);
      this.#timer.unref();
    });
  }

  /** Stops the work of this process on a run that was cancelled. */
  cancel(key: RunKey): void {
    this.#workers.get(nameOf(key))?.worker.stop();
  }

  /** Stops working. Results that have arrived are stored, and other processes do the rest. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#looking;
    for (const { worker } of this.#workers.values()) worker.stop();
    await Promise.all([...this.#workers.values()].map(({ ended }) => ended));
  }

  async #lookForRuns(): Promise<void> {
    const { database, log } = this.#options;
    try {
      const leases = await database.read((transaction) => listLeases(transaction, this.provider));
      this.#noteHeartbeats(leases);
      const waiting = new Set(leases.filter((lease) => this.#isFree(lease)));
      while (waiting.size > 0 && !this.#isStopped) {
        const next = this.#nextOf([...waiting]);
        if (!this.#hasRoomFor(next)) return;
        waiting.delete(next);
        await this.#workOn(next).catch((error) => {
          log('error', 'evaluation run not begun', { call_id: next.call_id, error: String(error) });
        });
      }
    } catch (error) {
      log('error', 'evaluation runs not read', { error: String(error) });
    }
  }

  #noteHeartbeats(leases: readonly RunLease[]): void {
    const seenAtMs = performance.now();
    this.#heartbeats = new Map(
      leases.map((lease) => {
        const known = this.#heartbeats.get(nameOf(lease));
        return [nameOf(lease), known?.beat === lease.beat ? known : { beat: lease.beat, seenAtMs }];
      }),
    );
    for (const name of this.#lastTurnsMs.keys()) if (!this.#heartbeats.has(name)) this.#lastTurnsMs.delete(name);
  }

  /** Returns whether no process works on a run: its lease was given up, or its owner has shown no sign of life. */
  #isFree(lease: RunLease): boolean {
    const name = nameOf(lease);
    if (this.#workers.has(name)) return false;
    return lease.owner === null || performance.now() - this.#heartbeats.get(name)!.seenAtMs > this.#leaseMs;
  }

  /** The runs that begin trials. */
  get #turns(): Turn[] {
    return [...this.#workers.values()].filter(({ worker }) => !worker.isYielding);
  }

  /** Returns which of some runs is next: of the account, then of the project, with the fewest turns, that had its own longest ago. */
  #nextOf(leases: readonly RunLease[]): RunLease {
    const turns = this.#turns;
    const rank = (lease: RunLease): [number, number, number] => [
      turns.filter(({ account }) => account === lease.account).length,
      turns.filter(({ project_id }) => project_id === lease.project_id).length,
      this.#lastTurnsMs.get(nameOf(lease)) ?? 0,
    ];
    return leases
      .map((lease) => ({ lease, ranks: rank(lease) }))
      .reduce((best, other) => (isBefore(other.ranks, best.ranks) ? other : best)).lease;
  }

  /** Returns whether a run can begin its turn, which may end the turn of one of an account with more of them, or of a long one. */
  #hasRoomFor({ account }: RunLease): boolean {
    if ([...this.#workers.values()].filter((turn) => turn.account === account).length >= maxRunsOfAccount) return false;
    const turns = this.#turns;
    if (turns.length < maxRuns) return true;
    const countOf = (name: string): number => turns.filter((turn) => turn.account === name).length;
    const byAge = turns.sort((a, b) => a.startedAtMs - b.startedAtMs);
    const greedy = byAge.find((turn) => countOf(turn.account) > countOf(account) + 1);
    const longest = byAge.find((turn) => performance.now() - turn.startedAtMs >= this.#turnMs);
    const ending = greedy ?? longest;
    ending?.worker.yield();
    return ending !== undefined;
  }

  async #workOn(lease: RunLease): Promise<void> {
    const facts = { modelClient: this.#modelClient, owner: this.#owner, leaseMs: this.#leaseMs };
    const job = await this.#options.database.write((transaction) => takeLease(transaction, lease, facts.owner));
    if (!job) return;
    const worker = new RunWorker({ ...this.#options, ...facts }, job);
    const ended = worker.run().finally(() => {
      this.#workers.delete(nameOf(lease));
      this.#lastTurnsMs.set(nameOf(lease), performance.now());
      this.start();
    });
    const { account, project_id } = job;
    this.#workers.set(nameOf(lease), { worker, ended, account, project_id, startedAtMs: performance.now() });
  }
}

function nameOf({ project_id, call_id }: RunKey): string {
  return `${project_id}/${call_id}`;
}

/** Compares lists of numbers by the first that differs. */
function isBefore(a: readonly number[], b: readonly number[]): boolean {
  const at = a.findIndex((number, index) => number !== b[index]);
  return at !== -1 && a[at]! < b[at]!;
}
