import { setMaxListeners } from 'node:events';
import { nextTurn } from '../core/turns.ts';

/** Aborts a request when its time is over or its caller cancels it, whichever happens first. */
export class Deadline {
  readonly timeoutMs: number;
  /** Aborts at the deadline and on cancellation. */
  readonly signal: AbortSignal;
  readonly #startedAtMs: number;
  readonly #cancellation: AbortSignal | undefined;
  readonly #end = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #cancel = (): void => this.#end.abort(this.#cancellation?.reason);

  /** @param startedAtMs when the time began, as `performance.now()` gave it. */
  constructor(timeoutMs: number, startedAtMs: number, cancellation?: AbortSignal) {
    this.timeoutMs = timeoutMs;
    this.#startedAtMs = startedAtMs;
    this.#cancellation = cancellation;
    this.signal = this.#end.signal;
    if (cancellation?.aborted) this.#cancel();
    else if (cancellation) {
      // Node warns of more than 10 listeners, and a tool may send many requests at once.
      setMaxListeners(0, cancellation);
      cancellation.addEventListener('abort', this.#cancel);
    }
    if (this.remainingMs <= 0) this.#end.abort();
    this.#timer = setTimeout(() => this.#end.abort(), this.remainingMs);
  }

  get remainingMs(): number {
    return this.timeoutMs - (performance.now() - this.#startedAtMs);
  }

  /** Returns why the signal aborted. A cancellation takes precedence over the end of the time. */
  get abortCode(): 'cancelled' | 'timeout' | undefined {
    if (this.#cancellation?.aborted) return 'cancelled';
    return this.signal.aborted ? 'timeout' : undefined;
  }

  /**
   * Lets other work run, and throws if the time is over or the caller has cancelled. No timer fires during computation, so
   * code that processes large values calls this between its steps.
   */
  async pause(): Promise<void> {
    await nextTurn();
    if (this.remainingMs <= 0) this.#end.abort();
    this.signal.throwIfAborted();
  }

  /** Clears the timer and stops listening. To be called when the request has ended. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#cancellation?.removeEventListener('abort', this.#cancel);
  }
}
