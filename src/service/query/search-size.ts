import type { Database } from '../storage/database.ts';

const minSearched = 1;
/** Few at first: a statement over large calls takes long. */
const firstSearched = 16;
export const maxSearched = 20_000;

/**
 * Number of calls that one statement searches. If the database blocks the event loop, the number grows after fast statements
 * and shrinks after slow ones.
 */
export class SearchSize {
  calls: number;
  readonly #isFixed: boolean;

  constructor({ blocksEventLoop }: Database) {
    this.#isFixed = !blocksEventLoop;
    this.calls = blocksEventLoop ? firstSearched : maxSearched;
  }

  /** Runs a statement that searches `this.calls` calls, and corrects that number by the time that the statement took. */
  async timed<T>(statement: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    const result = await statement();
    const ms = performance.now() - startedAt;
    if (this.#isFixed) return result;
    if (ms < 25) this.calls = Math.min(this.calls * 2, maxSearched);
    else if (ms > 75) this.calls = Math.max(Math.floor(this.calls / 2), minSearched);
    return result;
  }
}
