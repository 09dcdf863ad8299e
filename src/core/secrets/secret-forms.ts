import { ownMember } from '../json/member-at.ts';
import { resultOf, type Steps } from '../turns.ts';

/** Backslashes that nested quoting may put before a character: JSON inside JSON, four levels deep. */
export const maxBackslashes = 15;
const backslash = 0x5c;
const percent = 0x25;
const ampersand = 0x26;
/** The characters with which encodings begin; a text without them has each secret as it is. */
export const encodingSigns = ['\\', '%', '&'];
/** Maximum length of one character that is written as four bytes, each behind backslashes. */
const maxCharacterChars = 4 * (maxBackslashes + 6);

/** Characters that are searched in one step. */
const charsPerStep = 4096;

/** The ways in which one character of a secret may be written. Case matters for `literals` and for escapes of
 * one character, and for nothing else. */
interface Character {
  /** For a run of backslashes its length, which quoting multiplies; otherwise 0. */
  backslashes: number;
  literals: string[];
  encoded: string[];
  /** The characters that may follow one or more backslashes; each of several parts has its own backslashes, like `\xc3\xa9`. */
  escaped: string[][];
}

/** A secret, or its Base64 form, as the characters of which it consists. */
type Spelling = readonly Character[];

/** Returns the spellings of a secret. Each matches every mix of the encodings that docs/security.md lists. */
function spellingsOf(secret: string): Spelling[] {
  const bytes = Buffer.from(secret);
  // The Base64 of a secret inside a longer string has three variants by offset. The outer characters, which also encode
  // neighbouring bytes, are dropped.
  const base64 = [0, 1, 2].map((offset) => {
    const digits = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    return digits.slice(offset === 0 ? 0 : offset + 1, Math.floor(((offset + bytes.length) * 8) / 6));
  });
  return [
    charactersOf(secret, { ' ': [' ', '+'] }),
    ...base64.map((digits) => charactersOf(digits, { '+': ['+', '-'], '/': ['/', '_'] })),
  ];
}

/** @param literals the ways to write some characters without an encoding; the others are written as they are. */
function charactersOf(text: string, literals: Record<string, string[]>): Character[] {
  const units = text.match(/\\+|[^\\]/gsu) ?? [];
  // A key of several kilobytes consists of few different characters.
  const characters = new Map(
    [...new Set(units)].map((unit) => [unit, characterOf(unit, ownMember(literals, unit) ?? [unit])]),
  );
  return units.map((unit) => characters.get(unit)!);
}

const alphanumeric = /^[A-Za-z\d]$/;
const shortEscapes: Record<string, string> = { '\n': 'n', '\r': 'r', '\t': 't', '\b': 'b', '\f': 'f' };
const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' };

function characterOf(unit: string, literals: string[]): Character {
  const backslashes = unit[0] === '\\' ? unit.length : 0;
  const code = unit.codePointAt(0)!;
  const character = String.fromCodePoint(code);
  const entity = ownMember(entities, character);
  const shortEscape = ownMember(shortEscapes, character);
  const utf8 = [...Buffer.from(character)].map((byte) => byte.toString(16).padStart(2, '0'));
  const utf16 = character.split('').map((half) => half.charCodeAt(0).toString(16).padStart(4, '0'));
  const encoded = [
    ...['%', '%25'].map((sign) => utf8.map((byte) => sign + byte).join('')),
    `&#${code};`,
    `&#x${code.toString(16)};`,
    ...(entity ? [entity] : []),
  ];
  if (backslashes > 0) {
    return { backslashes, literals: [], encoded: encoded.map((form) => form.repeat(backslashes)), escaped: [] };
  }
  const escaped = [
    ...(alphanumeric.test(character) ? [] : [[character]]),
    ...(shortEscape ? [[shortEscape]] : []),
    utf16.map((word) => `u${word}`),
    utf8.map((byte) => `x${byte}`),
  ];
  return { backslashes, literals, encoded, escaped };
}

/**
 * Returns the position after `wanted`, which is in lower case where case is ignored; -1 if it is not at a position, and a
 * position beyond the text if the text ends inside of it.
 */
function endOf(text: string, at: number, wanted: string, ignoresCase: boolean): number {
  for (let offset = 0; offset < wanted.length; offset += 1) {
    if (at + offset >= text.length) return text.length + 1;
    const code = text.charCodeAt(at + offset);
    const isUpperCase = ignoresCase && code >= 0x41 && code <= 0x5a;
    if ((isUpperCase ? code | 0x20 : code) !== wanted.charCodeAt(offset)) return -1;
  }
  return at + wanted.length;
}

/** Counts the backslashes at a position, up to a limit. */
function countBackslashes(text: string, at: number, limit: number): number {
  let count = 0;
  while (count < limit && text.charCodeAt(at + count) === backslash) count += 1;
  return count;
}

/** Returns the position after parts that each follow one or more backslashes, as {@link endOf} does. */
function endOfEscaped(text: string, start: number, parts: string[], isFirst: boolean): number {
  let at = start;
  for (const [index, part] of parts.entries()) {
    // A match begins at a backslash, so only one precedes its first part.
    const count = countBackslashes(text, at, isFirst && index === 0 ? 1 : maxBackslashes);
    if (at + count === text.length) return text.length + 1;
    if (count === 0) return -1;
    at = endOf(text, at + count, part, part.length > 1);
    if (at === -1 || at > text.length) return at;
  }
  return at;
}

function addEnd(ends: number[], end: number): void {
  if (end !== -1 && !ends.includes(end)) ends.push(end);
}

/** Adds the positions after each way in which a character may be written at a position; one beyond a text that ends inside. */
function addEnds(ends: number[], text: string, at: number, character: Character, isFirst: boolean): void {
  if (at === text.length) addEnd(ends, at + 1);
  const { backslashes, literals, encoded, escaped } = character;
  for (const literal of literals) addEnd(ends, endOf(text, at, literal, false));
  const code = text.charCodeAt(at);
  if (code === percent || code === ampersand) for (const form of encoded) addEnd(ends, endOf(text, at, form, true));
  if (code !== backslash) return;
  for (const parts of escaped) addEnd(ends, endOfEscaped(text, at, parts, isFirst));
  if (backslashes === 0) return;
  const count = countBackslashes(text, at, backslashes * (maxBackslashes + 1));
  for (let taken = backslashes; taken <= count; taken += 1) addEnd(ends, at + taken);
  if (at + count === text.length) addEnd(ends, text.length + 1);
}

/** The outcome of matching a spelling. */
interface Match {
  /** End of the longest match. */
  end?: number;
  /** Number of characters matched when the text ended inside a possible secret; otherwise -1. */
  cutAfter: number;
}

/**
 * Counts the characters of a spelling that a text has at a position as they are, up to the first that may be written in
 * another way. Most places where a secret may begin end here.
 */
function countPlain(text: string, start: number, spelling: Spelling): number {
  let count = 0;
  while (count < spelling.length && start + count < text.length) {
    const { literals } = spelling[count]!;
    const code = text.charCodeAt(start + count);
    if (code === percent || code === ampersand || literals.length !== 1 || literals[0] !== text[start + count]) break;
    count += 1;
  }
  return count;
}

/** Matches a spelling at a position. Follows all readings in parallel, so the time for each position is bounded. */
function matchSpelling(text: string, start: number, spelling: Spelling): Match {
  const plain = countPlain(text, start, spelling);
  let reached = [start + plain];
  let cutAfter = -1;
  for (let index = plain; index < spelling.length; index += 1) {
    const ends: number[] = [];
    for (const at of reached) addEnds(ends, text, at, spelling[index]!, index === 0);
    const cutAt = ends.indexOf(text.length + 1);
    if (cutAt !== -1) {
      cutAfter = index;
      ends.splice(cutAt, 1);
    }
    if (ends.length === 0) return { cutAfter };
    reached = ends;
  }
  return { end: Math.max(...reached), cutAfter };
}

/** A spelling, and the characters that may follow its first character. */
interface Start {
  spelling: Spelling;
  /** 1 for the low byte of the code of each such character. */
  mayFollow: Uint8Array;
}

/** The spellings in which no character is encoded; a few characters have two such forms, like + and -. */
interface PlainSpellings {
  /** Length of the shortest. */
  minChars: number;
  /** 1 for the low bytes of each two neighbouring codes in one of them, as {@link pairAt} puts them together. */
  pairs: Uint8Array;
}

/** Returns the low bytes of the codes of two characters of a text, as one number below 65,536. */
export function pairAt(text: string, at: number): number {
  return ((text.charCodeAt(at) & 0xff) << 8) | (text.charCodeAt(at + 1) & 0xff);
}

/** Finds secrets in text, in time that grows linearly with the text. */
export class SecretFinder {
  readonly #starts = new Map<number, Start[]>();
  /** 1 for the low byte of each code in `#starts`; this look-up is enough for most characters of a text. */
  readonly mayStart = new Uint8Array(256);
  /** 1 for the low bytes of each two codes with which a spelling may begin. */
  readonly #mayBegin = new Uint8Array(65_536);
  /** Maximum length of a written secret. */
  #maxChars = 0;
  readonly #spellings: readonly Spelling[];
  #plainSpellings: PlainSpellings | undefined;

  /** @param secrets each of two characters or more. */
  constructor(secrets: Iterable<string>) {
    this.#spellings = [...secrets].flatMap(spellingsOf);
    for (const spelling of this.#spellings) this.#add(spelling);
  }

  get plainSpellings(): PlainSpellings {
    this.#plainSpellings ??= plainSpellingsOf(this.#spellings);
    return this.#plainSpellings;
  }

  #add(spelling: Spelling): void {
    const [first, second] = spelling as [Character, Character | undefined];
    const follow = new Map<number, number[]>();
    for (const beginning of beginningsOf(first)) {
      const next =
        beginning.length > 1 ? [beginning] : second ? beginningsOf(second).map((text) => ` ${text}`) : undefined;
      const codes = next?.map((text) => text.charCodeAt(1)) ?? Array.from({ length: 256 }, (_, code) => code);
      follow.set(beginning.charCodeAt(0), [...(follow.get(beginning.charCodeAt(0)) ?? []), ...codes]);
    }
    for (const [code, codes] of follow) {
      const mayFollow = new Uint8Array(256);
      for (const next of codes) {
        mayFollow[next & 0xff] = 1;
        this.#mayBegin[((code & 0xff) << 8) | (next & 0xff)] = 1;
      }
      this.#starts.set(code, [...(this.#starts.get(code) ?? []), { spelling, mayFollow }]);
      this.mayStart[code & 0xff] = 1;
    }
    const lengths = spelling.map(({ backslashes }) => Math.max(backslashes, 1) * maxCharacterChars);
    this.#maxChars = Math.max(
      this.#maxChars,
      lengths.reduce((sum, length) => sum + length, 0),
    );
  }

  get isEmpty(): boolean {
    return this.#starts.size === 0;
  }

  /** Returns whether a secret may begin at a position of a text, by a quick look at two characters. */
  mayBeginAt(text: string, at: number): boolean {
    return this.#mayBegin[pairAt(text, at)] === 1;
  }

  /** Returns whether a secret begins at a position of a text. */
  beginsAt(text: string, at: number): boolean {
    return this.#spellingsAt(text, at).some((spelling) => matchSpelling(text, at, spelling).end !== undefined);
  }

  /** Replaces every secret by `mark`; overlapping ones by one mark. */
  replace(text: string, mark: string): string {
    return resultOf(this.replaceInSteps(text, mark));
  }

  /** Does what `replace` does in steps of a few milliseconds, since a single character can take microseconds. */
  *replaceInSteps(text: string, mark: string): Steps<string> {
    let clean = '';
    let kept = 0;
    for (let at = 0; at < text.length; ) {
      const stepEnd = at + charsPerStep;
      while (at < stepEnd) {
        const match = this.#nextMatch(text, at, stepEnd);
        at = match?.end ?? stepEnd;
        if (!match) continue;
        clean += text.slice(kept, match.start) + mark;
        kept = match.end;
      }
      if (at < text.length) yield;
    }
    return kept === 0 ? text : clean + text.slice(kept);
  }

  /**
   * Returns where the end of a text may be the beginning of a secret, of which at least `minChars` characters are there;
   * undefined if it cannot.
   */
  startOfCutSecret(text: string, minChars: number): number | undefined {
    for (let at = Math.max(0, text.length - this.#maxChars); at < text.length; at += 1) {
      if (this.#spellingsAt(text, at).some((spelling) => matchSpelling(text, at, spelling).cutAfter >= minChars))
        return at;
    }
    return undefined;
  }

  #spellingsAt(text: string, at: number): Spelling[] {
    if (at + 1 < text.length && !this.mayBeginAt(text, at)) return [];
    const starts = this.#starts.get(text.charCodeAt(at)) ?? [];
    const isLast = at + 1 === text.length;
    const next = text.charCodeAt(at + 1) & 0xff;
    return starts.filter(({ mayFollow }) => isLast || mayFollow[next] === 1).map(({ spelling }) => spelling);
  }

  /** Returns the first match that begins between two positions, with those that overlap it. */
  #nextMatch(text: string, from: number, to: number): { start: number; end: number } | undefined {
    let start = -1;
    let end = Math.min(to, text.length);
    for (let at = from; at < end; at += 1) {
      if (this.mayStart[text.charCodeAt(at) & 0xff] === 0) continue;
      for (const spelling of this.#spellingsAt(text, at)) {
        const found = matchSpelling(text, at, spelling).end;
        if (found === undefined) continue;
        end = start === -1 ? found : Math.max(end, found);
        if (start === -1) start = at;
      }
    }
    return start === -1 ? undefined : { start, end };
  }
}

function plainSpellingsOf(spellings: readonly Spelling[]): PlainSpellings {
  const pairs = new Uint8Array(65_536);
  let minChars = Number.POSITIVE_INFINITY;
  for (const spelling of spellings) {
    // A backslash has no plain form, since quoting multiplies it.
    if (spelling.some(({ literals }) => literals.length === 0)) continue;
    const length = spelling.reduce((sum, { literals: [literal = ''] }) => sum + literal.length, 0);
    minChars = Math.min(minChars, length);
    for (const [index, { literals }] of spelling.entries()) {
      for (const literal of literals) {
        for (const next of spelling[index + 1]?.literals ?? ['']) {
          const text = literal + next;
          for (let at = 0; at < literal.length && at + 1 < text.length; at += 1) pairs[pairAt(text, at)] = 1;
        }
      }
    }
  }
  return { minChars, pairs };
}

/** Returns the first one or two characters of every way to write a character. */
function beginningsOf({ backslashes, literals, encoded, escaped }: Character): string[] {
  const insensitive = [...encoded, ...escaped.map(([part]) => `\\${part}`)].map((text) => text.slice(0, 2));
  return [
    ...literals.map((literal) => literal.slice(0, 2)),
    ...insensitive.flatMap((text) => [text, text.toUpperCase()]),
    ...(backslashes > 0 ? ['\\'] : []),
  ];
}
