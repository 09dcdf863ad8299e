import { randomUUID } from 'node:crypto';
import { defaultTimeoutsMs } from '../../contract/endpoint.ts';
import type { Log } from '../../core/log.ts';
import { ModelClient } from '../inference/model-client.ts';
import type { ModelProvider } from '../inference/model-provider.ts';
import type { MemoryPool } from '../request-budget.ts';
import type { Database } from '../storage/database.ts';
import { listLeases, type RunKey, type RunLease, takeLease } from '../storage/evaluation-jobs.ts';
import { RunWorker } from './run-worker.ts';

export interface RunnerLimits {
  /** A process that has shown no sign of life for this long has ended; 10 s by default. */
  leaseMs?: number;
  /** Longest time that a model may take for a reply; 10 minutes by default. */
  replyTimeoutMs?: number;
}

export interface RunnerOptions extends RunnerLimits {
  database: Database;
  modelProvider: ModelProvider | undefined;
  memoryPool: MemoryPool;
  log: Log;
}

/** Number of runs that one process works on at once. */
const maxRuns = 4;
const defaultLeaseMs = 10_000;

/**
 * Works on the runs of evaluations in a database, which other processes with the same model provider may do as well. Each run
 * is the work of the process that holds its lease.
 */
export class EvaluationRunner {
  readonly #options: RunnerOptions;
  readonly #leaseMs: number;
  readonly #owner = randomUUID();
  readonly #modelClient: ModelClient;
  readonly #workers = new Map<string, { worker: RunWorker; ended: Promise<void> }>();
  /** The heartbeats of runs, and when this process first saw them, by its own clock. */
  #heartbeats = new Map<string, { beat: number; seenAtMs: number }>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #isStopped = false;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#leaseMs = options.leaseMs ?? defaultLeaseMs;
    this.#modelClient = new ModelClient(options.modelProvider, options.replyTimeoutMs ?? defaultTimeoutsMs.inference);
  }

  /** Names the model provider, so that only processes with the same one work on a run. */
  get provider(): string {
    return this.#options.modelProvider?.identity ?? 'echo';
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
      for (const lease of leases) {
        if (this.#isStopped || this.#workers.size >= maxRuns) return;
        if (this.#isFree(lease)) await this.#workOn(lease);
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
  }

  /** Returns whether no process works on a run: its lease was given up, or its owner has shown no sign of life. */
  #isFree(lease: RunLease): boolean {
    const name = nameOf(lease);
    if (this.#workers.has(name)) return false;
    return lease.owner === null || performance.now() - this.#heartbeats.get(name)!.seenAtMs > this.#leaseMs;
  }

  async #workOn(lease: RunLease): Promise<void> {
    const { database, memoryPool, log } = this.#options;
    const job = await database.write((transaction) => takeLease(transaction, lease, this.#owner));
    if (!job) return;
    const context = {
      database,
      memoryPool,
      log,
      modelClient: this.#modelClient,
      owner: this.#owner,
      leaseMs: this.#leaseMs,
    };
    const worker = new RunWorker(context, job);
    const ended = worker.run().finally(() => {
      this.#workers.delete(nameOf(lease));
      this.start();
    });
    this.#workers.set(nameOf(lease), { worker, ended });
  }
}

function nameOf({ project_id, call_id }: RunKey): string {
  return `${project_id}/${call_id}`;
}
