import { randomUUID } from 'node:crypto';
import { defaultTimeoutsMs } from '../../contract/endpoint.ts';
import type { Log } from '../../core/log.ts';
import { ModelAsker } from '../inference/ask-model.ts';
import type { ModelProvider } from '../inference/model-provider.ts';
import type { Database } from '../storage/database.ts';
import { findJob, listJobs, type RunKey } from '../storage/evaluation-jobs.ts';
import type { RunDefinition } from './definition.ts';
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
  log: Log;
}

/** Number of runs that one process works on at once. */
const maxRuns = 4;
const defaultLeaseMs = 10_000;

/** Works on the runs of evaluations in a database, which other processes with the same model provider may do as well. */
export class EvaluationRunner {
  readonly #options: RunnerOptions;
  readonly #leaseMs: number;
  readonly #owner = randomUUID();
  readonly #asker: ModelAsker;
  readonly #workers = new Map<string, { worker: RunWorker; ended: Promise<void> }>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #isStopped = false;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#leaseMs = options.leaseMs ?? defaultLeaseMs;
    this.#asker = new ModelAsker(options.modelProvider, options.replyTimeoutMs ?? defaultTimeoutsMs.inference);
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

  /** Breaks off what this process has under way for a run that was cancelled. */
  cancel(key: RunKey): void {
    this.#workers.get(nameOf(key))?.worker.stop();
  }

  /** Stops working. Results that have arrived are stored, and other processes go on with the rest. */
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
      // Those that this process works on may be the oldest.
      const keys = await database.read((transaction) => listJobs(transaction, this.provider, maxRuns));
      for (const key of keys) {
        if (this.#isStopped || this.#workers.size >= maxRuns) return;
        if (!this.#workers.has(nameOf(key))) await this.#workOn(key);
      }
    } catch (error) {
      log('error', 'evaluation runs not read', { error: String(error) });
    }
  }

  async #workOn(key: RunKey): Promise<void> {
    const { database, log } = this.#options;
    const job = await database.read((transaction) => findJob(transaction, key));
    if (!job || this.#isStopped) return;
    const definition = JSON.parse(job.definition) as RunDefinition;
    const context = { database, log, asker: this.#asker, owner: this.#owner, leaseMs: this.#leaseMs };
    const worker = new RunWorker(context, { key, account: job.account, definition });
    const ended = worker.run().finally(() => {
      this.#workers.delete(nameOf(key));
      this.start();
    });
    this.#workers.set(nameOf(key), { worker, ended });
  }
}

function nameOf({ project_id, call_id }: RunKey): string {
  return `${project_id}/${call_id}`;
}
