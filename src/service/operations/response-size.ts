import { Refusal } from '../../core/http/refusal.ts';

/** Maximum number of characters of stored JSON in one response, which takes several times that in memory. */
const maxChars = 64 * 1024 * 1024;

/** Counts the size of the values that a response is made of, before it is made. */
export class ResponseSize {
  readonly #hint: string;
  #chars = 0;

  /** @param hint how to ask for less, for the client. */
  constructor(hint: string) {
    this.#hint = hint;
  }

  /** @throws Refusal 413 when the values are too large together. */
  add(chars: number): void {
    this.#chars += chars;
    if (this.#chars > maxChars) {
      throw new Refusal(413, `The values have more than ${maxChars} characters: ${this.#hint}`);
    }
  }
}
