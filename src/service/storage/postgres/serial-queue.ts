/** Runs operations one after the other, in the order in which they came. */
export class Turns {
  /** How many run or wait. */
  taken = 0;
  #last: Promise<unknown> = Promise.resolve();

  take<T>(operation: () => Promise<T>): Promise<T> {
    this.taken += 1;
    const result = this.#last.then(operation).finally(() => {
      this.taken -= 1;
    });
    this.#last = result.catch(() => {});
    return result;
  }
}
