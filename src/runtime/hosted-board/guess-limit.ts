/** Wrong passwords that a name may have in a window. */
const maxGuesses = 10;
const windowMs = 15 * 60_000;
/** Names that are remembered at most; the oldest is forgotten first. */
const maxNames = 10_000;

/** Limits how often this process lets anyone try passwords for the name of an account. */
export class GuessLimit {
  readonly #tried = new Map<string, { count: number; endsAtMs: number }>();

  /**
   * Counts an attempt before it is made, so that many at once are not all let through.
   * @returns 0 if it may be made, else the seconds to wait, and whether this is the first attempt that is refused.
   */
  take(name: string, nowMs = Date.now()): { waitSeconds: number; isFirstRefusal: boolean } {
    const known = this.#tried.get(name);
    const tried = known && known.endsAtMs > nowMs ? known : { count: 0, endsAtMs: nowMs + windowMs };
    tried.count += 1;
    this.#tried.set(name, tried);
    const [oldest] = this.#tried.keys();
    if (this.#tried.size > maxNames) this.#tried.delete(oldest!);
    const waitSeconds = tried.count > maxGuesses ? Math.ceil((tried.endsAtMs - nowMs) / 1000) : 0;
    return { waitSeconds, isFirstRefusal: tried.count === maxGuesses + 1 };
  }

  /** Forgets the attempts for a name, after the right password. */
  forget(name: string): void {
    this.#tried.delete(name);
  }
}
