import { endOfString, type StringSearch } from '../json/parse-json.ts';
import { encodingSigns, maxBackslashes, pairAt, type SecretFinder } from './secret-forms.ts';

const [quote, backslash, letterU] = [...'"\\u'].map((sign) => sign.charCodeAt(0));

/** Maximum number of places that are compared with the secrets; each can take microseconds. */
const maxComparisons = 10_000;

/**
 * Looks for secrets in JSON texts while they are scanned, many times faster than in their values. It is sure only of their
 * absence: a value in which a SecretFinder finds something is never called clean, whoever has written its JSON.
 */
export class SecretSearch implements StringSearch {
  readonly #finder: SecretFinder;
  /** 1 for the low byte of each character that is not simply passed over. */
  readonly #stops: Uint8Array;
  #comparisons = 0;
  #isClean = true;

  constructor(finder: SecretFinder) {
    this.#finder = finder;
    this.#stops = finder.mayStart.slice();
    this.#stops[quote!] = 1;
    this.#stops[backslash!] = 1;
  }

  /** True if no string and no member name of the texts so far has a secret in it. */
  get isClean(): boolean {
    return this.#isClean;
  }

  begin(json: string): typeof endOfString {
    if (this.searchPlainText(json)) return endOfString;
    return (text, start) => (this.#isClean ? this.#endOfString(text, start) : endOfString(text, start));
  }

  /**
   * Looks through a whole JSON text, of which it reads few characters. Does nothing and returns false if a secret in the text
   * may be encoded.
   */
  searchPlainText(json: string): boolean {
    if (!this.#isClean || this.#finder.isEmpty) return true;
    // Many times faster than a regular expression for the three.
    if (encodingSigns.some((sign) => json.includes(sign))) return false;
    const { minChars, pairs } = this.#finder.plainSpellings;
    // Every secret has at least `step` pairs in a row, so looking at every `step`-th pair meets each of them.
    const step = minChars - 1;
    const { length } = json;
    let from = 0;
    for (let at = step - 1; at < length && this.#isClean; at += step) {
      if (pairs[pairAt(json, at)] === 0) continue;
      let start = at;
      while (start > from && pairs[pairAt(json, start - 1)] === 1) start -= 1;
      let end = at + 1;
      while (end < length && pairs[pairAt(json, end)] === 1) end += 1;
      if (end - start >= step) this.#compareEach(json, start, end);
      from = end + 1;
      at = end;
    }
    return true;
  }

  #endOfString(json: string, start: number): number {
    const stops = this.#stops;
    const finder = this.#finder;
    const { length } = json;
    for (let at = start + 1; at < length; at += 1) {
      const code = json.charCodeAt(at);
      if (stops[code & 0xff] === 0) continue;
      if (code === quote) return at;
      if (code === backslash) at = this.#endOfEscapes(json, at);
      else if (finder.mayBeginAt(json, at)) this.#compare(json, at);
    }
    return length;
  }

  /** Returns the last position of the escape sequences that begin at a position and consist of backslashes but for one character. */
  #endOfEscapes(json: string, start: number): number {
    let end = start;
    while (json.charCodeAt(end) === backslash) {
      if (this.#finder.mayBeginAt(json, end)) this.#compare(json, end);
      end += 1;
    }
    const count = end - start;
    // The finder would follow them in the value, which has half as many.
    if (count > maxBackslashes) this.#isClean = false;
    if (count % 2 === 0) return end - 1;
    // The character may be a part of another encoding, like the & of &quot;.
    if (json.charCodeAt(end) === letterU && /^00[2-7]/.test(json.slice(end + 1, end + 4))) this.#isClean = false;
    return end;
  }

  #compareEach(json: string, start: number, end: number): void {
    for (let at = start; at < end; at += 1) if (this.#finder.mayBeginAt(json, at)) this.#compare(json, at);
  }

  #compare(json: string, at: number): void {
    this.#comparisons += 1;
    if (this.#comparisons > maxComparisons || this.#finder.beginsAt(json, at)) this.#isClean = false;
  }
}
