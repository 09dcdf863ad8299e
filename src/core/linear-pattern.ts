import { RE2JS, RE2JSException } from 're2js';

/** Longest pattern, in characters; matching takes as long as the product of the pattern and the text. */
const maxPatternChars = 1000;

/**
 * Compiles a regular expression of foreign origin, in the syntax of RE2: without lookaround and backreferences, whose
 * search can take forever.
 * @returns a function that tells whether some part of a text matches, in time linear in the text.
 * @throws SyntaxError with the fault of the pattern.
 */
export function compileLinearPattern(pattern: string, { ignoreCase = false } = {}): (text: string) => boolean {
  if (pattern.length > maxPatternChars) {
    throw new SyntaxError(`the pattern has ${pattern.length} characters; at most ${maxPatternChars} are allowed`);
  }
  try {
    const compiled = RE2JS.compile(pattern, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0);
    return (text) => compiled.matcher(text).find();
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    throw new SyntaxError(error.message.replace(/^error parsing regexp: /, ''));
  }
}
