/** Time after which long work lets other requests proceed. */
const maxHoldMs = 15;

let lastTurn: Promise<void> = Promise.resolve();

/** Waits for the next turn of the event loop. Every waiting caller gets a turn of its own, so that their work does not add up. */
export function nextTurn(): Promise<void> {
  lastTurn = lastTurn.then(() => new Promise((resolve) => setImmediate(resolve)));
  return lastTurn;
}

/** Lets other requests proceed during long work. */
export class Pacer {
  #since = performance.now();

  /** Waits for the next turn of the event loop if the work has held this one for 15 ms. */
  async pause(): Promise<void> {
    if (performance.now() - this.#since < maxHoldMs) return;
    await nextTurn();
    this.#since = performance.now();
  }
}
