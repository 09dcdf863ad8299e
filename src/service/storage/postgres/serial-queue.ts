/** Runs operations one after another, in the order of the calls. */
export class SerialQueue {
  /** Number of operations that run or wait. */
  size = 0;
  #last: Promise<unknown> = Promise.resolve();

  run<T>(operation: () => Promise<T>): Promise<T> {
    this.size += 1;
    const result = this.#last.then(operation).finally(() => {
      this.size -= 1;
    });
    this.#last = result.catch(() => {});
    return result;
  }
}
