import { getHeapStatistics } from 'node:v8';
import { tooBusy } from '../core/http/body-reader.ts';
import { Refusal } from '../core/http/refusal.ts';
import { nextLongTurn, nextTurn, Pacer, type Pause } from '../core/turns.ts';

/** Maximum memory of one request, in bytes. */
const maxRequestBytes = 512 * 1024 * 1024;

/** Time that a request waits for memory that other requests hold. */
const maxWaitMs = 10_000;

/**
 * The memory that all requests of a process share. An account gets at most half of what the others leave, so that none can take
 * it from them.
 */
export class MemoryPool {
  readonly #maxBytes: number;
  #heldBytes = 0;
  readonly #heldByAccount = new Map<string, number>();
  readonly #waiting = new Set<() => void>();

  /** @param maxBytes half of what the process may allocate by default. */
  constructor(maxBytes = getHeapStatistics().heap_size_limit / 2) {
    this.#maxBytes = maxBytes;
  }

  /** Maximum memory of one request, in bytes. */
  get maxRequestBytes(): number {
    return Math.min(maxRequestBytes, this.#maxBytes / 2);
  }

  /** Takes memory for an account. Returns false, and takes nothing, if there is too little. */
  take(account: string, bytes: number): boolean {
    const own = this.#heldByAccount.get(account) ?? 0;
    if (own + bytes > (this.#maxBytes - (this.#heldBytes - own)) / 2) return false;
    this.#heldBytes += bytes;
    this.#heldByAccount.set(account, own + bytes);
    return true;
  }

  /** Gives memory back. */
  release(account: string, bytes: number): void {
    const left = (this.#heldByAccount.get(account) ?? 0) - bytes;
    this.#heldBytes -= bytes;
    if (left > 0) this.#heldByAccount.set(account, left);
    else this.#heldByAccount.delete(account);
    for (const wake of this.#waiting) wake();
  }

  /** Waits until memory is released, or for a time. */
  async nextRelease(timeoutMs: number): Promise<void> {
    let wake = (): void => {};
    const released = new Promise<void>((resolve) => {
      wake = resolve;
    });
    const timer = setTimeout(wake, timeoutMs);
    this.#waiting.add(wake);
    await released;
    this.#waiting.delete(wake);
    clearTimeout(timer);
  }
}

/** Maximum work of a request, and of one of its steps, during which nothing else runs. A unit takes about a nanosecond. */
const maxUnits = 30_000_000_000;
const maxStepUnits = 1_000_000_000;

/** Work after which others get a turn, however short it took. */
const unitsPerTurn = 20_000_000;

/** Number of scans over the characters of a value that take as long as parsing it. */
const scansPerParse = 4;

/**
 * Limits the memory and the work of one request, so that it cannot stop or block the requests of others. Memory counts in the
 * bytes that {@link memoryBytesOf} estimates, work in bytes that are walked through.
 */
export class RequestBudget {
  readonly #pool: MemoryPool;
  readonly #account: string;
  readonly #pause: Pause;
  readonly #pauseBeforeLongStep: Pause;
  readonly #pacer: Pacer;
  #heldBytes = 0;
  #units = 0;
  #unitsSinceTurn = 0;
  #isClosed = false;

  /** @param pause replaces the pauses of the event loop, in tests. */
  constructor(pool: MemoryPool, account: string, pause?: Pause) {
    this.#pool = pool;
    this.#account = account;
    this.#pause = pause ?? nextTurn;
    this.#pauseBeforeLongStep = pause ?? nextLongTurn;
    this.#pacer = new Pacer(this.#pause);
  }

  /**
   * Counts memory that the request keeps until it ends or releases it.
   * @param hint tells the client how to ask for less.
   * @throws Refusal 413 if the request has too much, 503 if requests together do.
   */
  hold(bytes: number, hint = 'ask for less at once'): void {
    if (!this.#tryHold(bytes, hint)) throw tooBusy();
  }

  /** Does the same as {@link hold}, but first waits while others have the memory. Must not be called in a transaction. */
  async reserve(bytes: number, hint?: string): Promise<void> {
    const deadline = performance.now() + maxWaitMs;
    while (!this.#tryHold(bytes, hint)) {
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) throw tooBusy();
      await this.#pool.nextRelease(leftMs);
    }
  }

  #tryHold(bytes: number, hint = 'ask for less at once'): boolean {
    this.#checkOpen();
    const { maxRequestBytes } = this.#pool;
    if (this.#heldBytes + bytes > maxRequestBytes) {
      const limit = Math.floor(maxRequestBytes / 1024 / 1024);
      throw new Refusal(413, `The request needs more than ${limit} MiB of memory: ${hint}`);
    }
    if (!this.#pool.take(this.#account, bytes)) return false;
    this.#heldBytes += bytes;
    return true;
  }

  /** Gives back memory that was held. */
  release(bytes: number): void {
    if (this.#isClosed) return;
    this.#heldBytes -= bytes;
    this.#pool.release(this.#account, bytes);
  }

  /**
   * Counts the parsing of values, and lets other work run when it is time. Call it before that work.
   * @param bytes the memory of the values.
   * @throws Refusal 413 if the request takes too long.
   */
  async parse(bytes: number): Promise<void> {
    await this.#work(bytes);
  }

  /**
   * Counts scans over values, as {@link parse} counts their parsing.
   * @throws Refusal 413 also if this alone would hold up others for too long.
   */
  async scan(bytes: number, scans: number): Promise<void> {
    const units = (bytes / scansPerParse) * scans;
    if (units > maxStepUnits) throw tooMuchWork();
    await this.#work(units);
  }

  async #work(units: number): Promise<void> {
    this.#checkOpen();
    this.#units += units;
    if (this.#units > maxUnits) throw tooMuchWork();
    this.#unitsSinceTurn += units;
    if (this.#unitsSinceTurn <= unitsPerTurn) return this.#pacer.pause();
    this.#unitsSinceTurn = units;
    await (units > unitsPerTurn ? this.#pauseBeforeLongStep() : this.#pause());
  }

  /** Ends the request, whose memory others may have. What is left of its work fails. */
  close(): void {
    if (this.#isClosed) return;
    this.#pool.release(this.#account, this.#heldBytes);
    this.#isClosed = true;
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new Refusal(400, 'The connection was closed');
  }
}

function tooMuchWork(): Refusal {
  return new Refusal(
    413,
    'The request takes too much work: select fewer values with a filter, and compare or sort by fewer of their members',
  );
}
