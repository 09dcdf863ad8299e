/** Time for which work may hold the event loop before it lets other work run. */
const maxHoldMs = 15;

/** Characters of the shortest texts on which work takes so long that other work should run before it. */
export const longTextChars = 64 * 1024;

/** Lets other work run. May throw to end the work that calls it, for example at a deadline. */
export type Pause = () => Promise<void>;

let lastTurn: Promise<void> = Promise.resolve();

/** Waits for the next turn of the event loop. Every waiting caller gets a turn of its own, so that their work does not add up. */
export function nextTurn(): Promise<void> {
  lastTurn = lastTurn.then(() => new Promise((resolve) => setImmediate(resolve)));
  return lastTurn;
}

/** Work that holds the event loop for longer leaves others as much time as it took. */
const longWorkMs = 50;

let lastLongTurn: Promise<void> = Promise.resolve();

/**
 * Waits for the turn of work that may hold the event loop for long. Two such turns never follow each other directly: a small
 * request takes several turns of the event loop, and would wait for a long one in each of them.
 */
export function nextLongTurn(): Promise<void> {
  const turn = lastLongTurn.then(nextTurn);
  lastLongTurn = turn.then(async () => {
    const startedAt = performance.now();
    await nextTurn();
    const ms = performance.now() - startedAt;
    if (ms > longWorkMs) await new Promise((resolve) => setTimeout(resolve, ms));
  });
  return turn;
}

/** Lets other work run during long work. */
export class Pacer {
  readonly #pause: Pause;
  #since = performance.now();

  constructor(pause: Pause = nextTurn) {
    this.#pause = pause;
  }

  /** Pauses if the work has held the event loop for 15 ms. */
  async pause(): Promise<void> {
    if (performance.now() - this.#since < maxHoldMs) return;
    await this.#pause();
    this.#since = performance.now();
  }
}

/** Work that yields between steps of a few milliseconds each, and returns its result. */
export type Steps<Result> = Generator<void, Result>;

/** Does the work without a pause. */
export function resultOf<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Does the work, and calls `pause` every 15 ms. */
export async function resultInTurns<Result>(steps: Steps<Result>, pause?: Pause): Promise<Result> {
  const pacer = new Pacer(pause);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    await pacer.pause();
  }
}
