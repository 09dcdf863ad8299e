import { Refusal } from '../../core/http/refusal.ts';

/** Maximum number of characters of stored JSON in one response, which takes several times that in memory. */
const maxChars = 64 * 1024 * 1024;

/**
 * Returns a function that adds up the sizes of the values of a response, before it is made, and throws a Refusal 413 when they
 * are too large together. `hint` tells the client how to ask for less.
 */
export function limitResponseSize(hint: string): (chars: number) => void {
  let total = 0;
  return (chars) => {
    total += chars;
    if (total > maxChars) throw new Refusal(413, `The values have more than ${maxChars} characters: ${hint}`);
  };
}
