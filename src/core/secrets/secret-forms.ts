import { resultOf, type Steps } from '../turns.ts';

/** Backslashes that nested quoting may put before a character: JSON inside JSON, four levels deep. */
const maxBackslashes = 15;
const backslash = 0x5c;
const percent = 0x25;
const ampersand = 0x26;
/** Maximum length of one character that is written as four bytes, each behind backslashes. */
const maxCharacterChars = 4 * (3 * maxBackslashes + 6);

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

/** A secret, or its Base64 or hexadecimal form, as the characters of which it consists. */
export type Spelling = readonly Character[];

/** Returns the spellings of a secret. Each matches every mix of the encodings that docs/security.md lists. */
export function spellingsOf(secret: string): Spelling[] {
  const bytes = Buffer.from(secret);
  // The Base64 of a secret inside a longer string has three variants by offset. The outer characters, which also encode
  // neighbouring bytes, are dropped.
  const base64 = [0, 1, 2].map((offset) => {
    const digits = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    return digits.slice(offset === 0 ? 0 : offset + 1, Math.floor(((offset + bytes.length) * 8) / 6));
  });
  return [
    charactersOf(secret),
    ...base64.map((digits) => charactersOf(digits, { '+': ['+', '-'], '/': ['/', '_'] })),
    charactersOf(
      bytes.toString('hex'),
      Object.fromEntries([...'abcdef'].map((digit) => [digit, [digit, digit.toUpperCase()]])),
    ),
  ];
}

function charactersOf(text: string, literals: Record<string, string[]> = {}): Character[] {
  const units = text.match(/\\+|[^\\]/gsu) ?? [];
  // A key of several kilobytes consists of few different characters.
  const characters = new Map<string, Character>();
  for (const unit of new Set(units)) {
    const character = characterOf(unit);
    characters.set(unit, { ...character, literals: literals[unit] ?? character.literals });
  }
  return units.map((unit) => characters.get(unit)!);
}

const alphanumeric = /^[A-Za-z\d]$/;
const shortEscapes: Record<string, string> = {
  '\n': 'n',
  '\r': 'r',
  '\t': 't',
  '\b': 'b',
  '\f': 'f',
  '\v': 'v',
  '\0': '0',
};
const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' };
/** Forms of a space, and of quotes in SQL, CSV and shells. */
const furtherLiterals: Record<string, string[]> = { ' ': ['+'], "'": ["''", `'\\''`, `'"'"'`], '"': ['""'] };

function characterOf(unit: string): Character {
  const code = unit.codePointAt(0)!;
  const hex = code.toString(16);
  const utf8 = [...Buffer.from(unit[0] === '\\' ? '\\' : unit)].map((byte) => byte.toString(16).padStart(2, '0'));
  const utf16 = Array.from({ length: code > 0xffff ? 2 : 1 }, (_, at) =>
    unit.charCodeAt(at).toString(16).padStart(4, '0'),
  );
  const repeated = (text: string): string => (unit[0] === '\\' ? text.repeat(unit.length) : text);
  return {
    backslashes: unit[0] === '\\' ? unit.length : 0,
    literals: unit[0] === '\\' ? [] : [unit, ...(furtherLiterals[unit] ?? [])],
    encoded: [
      ...['%', '%25'].map((sign) => repeated(utf8.map((byte) => sign + byte).join(''))),
      repeated(utf16.map((word) => `%u${word}`).join('')),
      repeated(`&#${code};`),
      repeated(`&#x${hex};`),
      ...(entities[unit] ? [entities[unit]] : []),
    ],
    escaped: [
      ...(alphanumeric.test(unit) || unit[0] === '\\' ? [] : [[unit]]),
      ...(shortEscapes[unit] ? [[shortEscapes[unit]]] : []),
      utf16.map((word) => `u${word}`),
      utf8.map((byte) => `x${byte}`),
      [`x${hex.padStart(2, '0')}`],
      [`u{${hex}}`],
      [`u${hex.padStart(8, '0')}`],
    ].map((parts) => (unit[0] === '\\' ? Array.from({ length: unit.length }, () => parts).flat() : parts)),
  };
}

/** Positions after what was matched so far, and whether the text ended in the middle of a possible match. */
interface Progress {
  ends: number[];
  isCut: boolean;
}

/** Matches `wanted`, which is in lower case where case is ignored, at a position; the text may end inside it. */
function matchText(text: string, at: number, wanted: string, progress: Progress, ignoresCase: boolean): void {
  for (let offset = 0; offset < wanted.length; offset += 1) {
    if (at + offset >= text.length) {
      progress.isCut = true;
      return;
    }
    const code = text.charCodeAt(at + offset);
    const isSame = code === wanted.charCodeAt(offset);
    const isUpperCase = ignoresCase && code >= 0x41 && code <= 0x5a && (code | 0x20) === wanted.charCodeAt(offset);
    if (!isSame && !isUpperCase) return;
  }
  addEnd(progress, at + wanted.length);
}

function addEnd({ ends }: Progress, end: number): void {
  if (!ends.includes(end)) ends.push(end);
}

/** Returns the length of a backslash at a position, which may be percent-encoded; 0 if there is none. */
function backslashAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code === backslash) return 1;
  const isEncoded = code === percent && text.charCodeAt(at + 1) === 0x35 && (text.charCodeAt(at + 2) | 0x20) === 0x63;
  return isEncoded ? 3 : 0;
}

/** Returns whether the text ends at a position, or inside a percent-encoded backslash there. */
function endsAt(text: string, at: number): boolean {
  return text.length - at < 3 && '%5c'.startsWith(text.slice(at).toLowerCase());
}

/** Returns the positions after each of the backslashes at a position. */
function afterBackslashes(text: string, start: number, maxCount: number): number[] {
  const positions: number[] = [];
  let at = start;
  for (let length = backslashAt(text, at); length > 0 && positions.length < maxCount; length = backslashAt(text, at)) {
    at += length;
    positions.push(at);
  }
  return positions;
}

/** Matches parts that each follow one or more backslashes; a match begins at a backslash, so only one precedes
 * its first part. */
function matchEscaped(text: string, start: number, parts: string[], isFirst: boolean, progress: Progress): void {
  let at = start;
  for (const [index, part] of parts.entries()) {
    const after = afterBackslashes(text, at, isFirst && index === 0 ? 1 : maxBackslashes).at(-1);
    progress.isCut ||= endsAt(text, after ?? at);
    if (after === undefined) return;
    const found: Progress = { ends: [], isCut: false };
    matchText(text, after, part, found, part.length > 1);
    progress.isCut ||= found.isCut;
    if (found.ends.length === 0) return;
    at = after + part.length;
  }
  addEnd(progress, at);
}

function matchCharacter(text: string, at: number, character: Character, isFirst: boolean, progress: Progress): void {
  progress.isCut ||= endsAt(text, at);
  const { backslashes, literals, encoded, escaped } = character;
  for (const literal of literals) matchText(text, at, literal, progress, false);
  const code = text.charCodeAt(at);
  if (code === percent || code === ampersand) for (const form of encoded) matchText(text, at, form, progress, true);
  if (backslashAt(text, at) === 0) return;
  for (const parts of escaped) matchEscaped(text, at, parts, isFirst, progress);
  if (backslashes > 0) {
    const ends = afterBackslashes(text, at, backslashes * (maxBackslashes + 1));
    for (const end of ends.slice(backslashes - 1)) addEnd(progress, end);
    progress.isCut ||= endsAt(text, ends.at(-1)!);
  } else if (escaped[0]?.[0] === literals[0]) {
    // A character that is escaped as itself may be percent-encoded like its backslashes.
    const after = afterBackslashes(text, at, isFirst ? 1 : maxBackslashes).at(-1)!;
    progress.isCut ||= endsAt(text, after);
    for (const form of encoded) matchText(text, after, form, progress, true);
  }
}

/** The outcome of matching a spelling. */
interface Match {
  /** End of the longest match. */
  end?: number;
  /** Number of characters matched when the text ended inside a possible secret; otherwise -1. */
  cutAfter: number;
}

/** Matches a spelling at a position. Follows all readings in parallel, so the time for each position is bounded. */
function matchSpelling(text: string, start: number, spelling: Spelling): Match {
  let ends = [start];
  let cutAfter = -1;
  for (const [index, character] of spelling.entries()) {
    const progress: Progress = { ends: [], isCut: false };
    for (const at of ends) matchCharacter(text, at, character, index === 0, progress);
    if (progress.isCut) cutAfter = index;
    if (progress.ends.length === 0) return { cutAfter };
    ends = progress.ends;
  }
  return { end: Math.max(...ends), cutAfter };
}

/** A spelling, and the characters that may follow its first character. */
interface Start {
  spelling: Spelling;
  /** 1 for the low byte of the code of each such character. */
  mayFollow: Uint8Array;
}

/** Finds secrets in text, in time that grows linearly with the text. */
export class SecretFinder {
  readonly #starts = new Map<number, Start[]>();
  /** 1 for the low byte of each code in `#starts`; this look-up is enough for most characters of a text. */
  readonly #mayStart = new Uint8Array(256);
  /** Maximum length of a written secret. */
  #maxChars = 0;

  constructor(secrets: Iterable<string>) {
    for (const spelling of [...secrets].flatMap(spellingsOf)) this.#add(spelling);
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
      for (const next of codes) mayFollow[next & 0xff] = 1;
      this.#starts.set(code, [...(this.#starts.get(code) ?? []), { spelling, mayFollow }]);
      this.#mayStart[code & 0xff] = 1;
    }
    const lengths = spelling.map(({ backslashes }) => Math.max(backslashes, 1) * maxCharacterChars);
    this.#maxChars = Math.max(
      this.#maxChars,
      lengths.reduce((sum, length) => sum + length, 0),
    );
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
    const code = text.charCodeAt(at);
    if (this.#mayStart[code & 0xff] === 0) return [];
    const starts = this.#starts.get(code) ?? [];
    const isLast = at + 1 === text.length;
    const next = text.charCodeAt(at + 1) & 0xff;
    return starts.filter(({ mayFollow }) => isLast || mayFollow[next] === 1).map(({ spelling }) => spelling);
  }

  /** Returns the first match that begins between two positions, with those that overlap it. */
  #nextMatch(text: string, from: number, to: number): { start: number; end: number } | undefined {
    let start = -1;
    let end = Math.min(to, text.length);
    for (let at = from; at < end; at += 1) {
      if (this.#mayStart[text.charCodeAt(at) & 0xff] === 0) continue;
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

/** Returns the first one or two characters of every way to write a character. */
function beginningsOf({ backslashes, literals, encoded, escaped }: Character): string[] {
  const insensitive = [...encoded, ...escaped.map(([part]) => `\\${part}`)].map((text) => text.slice(0, 2));
  return [
    ...literals.map((literal) => literal.slice(0, 2)),
    ...insensitive.flatMap((text) => [text, text.toUpperCase()]),
    // A backslash may be percent-encoded, and then so may what follows it.
    '%5',
    '\\%',
    ...(backslashes > 0 ? ['\\'] : []),
  ];
}
