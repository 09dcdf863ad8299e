import { Transform } from 'node:stream';
import { scanJson } from '../json/parse-json.ts';
import { type Pause, resultInTurns, resultOf, type Steps } from '../turns.ts';
import { SecretFinder } from './secret-forms.ts';
import { SecretSearch } from './secret-search.ts';

/** Minimum length of a secret: shorter ones are too often ordinary words. */
export const minSecretChars = 6;
/** Characters of a secret that a text which was cut inside of it may show. */
const maxShownChars = 3;
const mark = '[secret]';
/** Characters of a text, and members of a list or object, that are looked through in one step. */
const maxTextPerStep = 4096;
const membersPerStep = 1000;

/** The mark of a cut by heddle; an argument may have been cut inside of a secret. */
const cutMark = /…(?=\[\+\d)/;

/** Names of environment variables, of any program, whose values count as secrets. */
const secretName = /TOKEN$|(?:^|_)(?:SECRET|PASSWORD|PASSWD|PASSPHRASE|KEY|APIKEY|CREDENTIALS?)$/i;

/**
 * Patterns that reveal a secret whose value is unknown, and their replacements. The text is foreign: a pattern must not
 * scan the same characters from many starts, so a repetition at its beginning has a lookbehind.
 */
const patterns: readonly [RegExp, string][] = [
  // Header values, in a header block, in JSON and in JSON inside JSON.
  [
    /((?:proxy-)?authorization|(?:set-)?cookie|(?<![\w-])x-[\w-]*(?:key|token|secret)|api-key)(\\*["']?\s*[:=]\s*\\*["']?)[^"'\\\r\n]+/gi,
    `$1$2${mark}`,
  ],
  // "Basic" and "Bearer" may be prose; before a word with a digit, _ or = they belong to a header.
  [/\b(Basic|Bearer)\s+(?=[^\s"'\\,]*[\d_=])[^\s"'\\,]{8,}/gi, `$1 ${mark}`],
  // JSON Web Tokens: "eyJ" is the encoded start of the header.
  [/(?<![\w-])(?=(?:[\w-]*-)?eyJ)[\w-]+\.[\w-]+\.[\w-]*/g, mark],
  [/(?<=[a-z\d+.-]):\/\/[^\s/?#@"'\\]+@/gi, `://${mark}@`],
  [
    /\b([A-Z][A-Z\d_]*(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|KEY))(=|\\*["']\s*:\s*\\*["'])[^\s"'\\,;}]+/g,
    `$1$2${mark}`,
  ],
];

/**
 * Removes the secrets of one run from everything that leaves the process. Each run owns one, so two servers in one process
 * share no secrets; see docs/security.md.
 */
export class Redactor {
  #secrets = new Set<string>();
  #environmentSecrets = new Set<string>();
  #finder = new SecretFinder([]);
  #environmentFinder = new SecretFinder([]);

  /** Registers secrets. Code that reads a secret calls this before it uses the secret. */
  protect(...secrets: (string | undefined)[]): void {
    const added = longEnough(secrets).filter((secret) => !this.#secrets.has(secret));
    if (added.length === 0) return;
    this.#secrets = new Set([...this.#secrets, ...added]);
    this.#finder = new SecretFinder(this.#secrets);
    this.#environmentFinder = new SecretFinder([...this.#secrets, ...this.#environmentSecrets]);
  }

  /** Registers the values of variables whose names look like secrets, and the passwords in URLs. */
  protectEnvironment(environment: NodeJS.ProcessEnv): void {
    const secrets = Object.entries(environment).flatMap(([name, value = '']) => [
      secretName.test(name) ? value : undefined,
      /^[a-z][a-z\d+.-]*:\/\/[^\s/?#:]*:([^\s/?#@]+)@/i.exec(value)?.[1],
    ]);
    this.#environmentSecrets = new Set([...this.#environmentSecrets, ...longEnough(secrets)]);
    this.#environmentFinder = new SecretFinder([...this.#secrets, ...this.#environmentSecrets]);
  }

  clear(): void {
    this.#secrets = new Set();
    this.#environmentSecrets = new Set();
    this.#finder = new SecretFinder([]);
    this.#environmentFinder = this.#finder;
  }

  /**
   * Removes registered secrets, text that looks like a secret, and the beginning of a secret that a cut has left, from log
   * lines and error messages.
   */
  redact(text: string): string {
    const parts = this.#environmentFinder.replace(text, mark).split(cutMark);
    const ends = parts.map((part, index) =>
      index + 1 < parts.length ? withoutCutSecret(part, this.#environmentFinder) : part,
    );
    const known = ends.join('…');
    return patterns.reduce((rest, [pattern, replacement]) => rest.replace(pattern, replacement), known);
  }

  /** Removes from every string of a JSON value what `redact` removes from text. */
  redactStrings<T>(value: T): T {
    return resultOf(changeStrings(JSON.parse(JSON.stringify(value)), (text) => this.redact(text))) as T;
  }

  /**
   * Removes registered secrets from every string of a plain value, including member names. Keeps text that only looks like
   * a secret, and secrets of the environment that heddle does not use, because a result belongs to the user.
   * @returns the same value if there is nothing to remove.
   */
  redactValue<T>(value: T): T {
    return resultOf(this.#valueInSteps(value)) as T;
  }

  /** Returns a search for registered secrets in JSON texts while they are scanned. */
  search(): SecretSearch {
    return new SecretSearch(this.#finder);
  }

  /** Returns whether `redactValue` surely finds nothing in the value of a JSON text. */
  isClean(json: string): boolean {
    const search = this.search();
    if (!search.searchPlainText(json)) scanJson(json, search);
    return search.isClean;
  }

  /** Does what `redactValue` does, and calls `pause` now and then, which may throw to end the work. */
  async redactValueInSteps<T>(value: T, pause?: Pause): Promise<T> {
    return (await resultInTurns(this.#valueInSteps(value), pause)) as T;
  }

  *#valueInSteps(value: unknown): Steps<unknown> {
    if (this.#secrets.size === 0) return value;
    const finder = this.#finder;
    return yield* changeStrings(value, (text) =>
      text.length > maxTextPerStep ? finder.replaceInSteps(text, mark) : finder.replace(text, mark),
    );
  }

  /**
   * Removes registered secrets from text that may have been cut inside of one, like a reply that broke off. Lets other work
   * run now and then.
   */
  async redactCut(text: string): Promise<string> {
    return withoutCutSecret(await resultInTurns(this.#finder.replaceInSteps(text, mark)), this.#finder);
  }

  /**
   * Returns a stream that removes registered secrets from the bytes that pass through it, and holds back only what may be
   * the beginning of one.
   */
  redactStream(): Transform {
    const finder = this.#finder;
    let held = '';
    // Latin-1 keeps every byte, whatever the encoding of the text is.
    return new Transform({
      transform(chunk: Buffer, _encoding, done) {
        const text = finder.replace(held + chunk.toString('latin1'), mark);
        const cutAt = finder.startOfCutSecret(text, 0) ?? text.length;
        held = text.slice(cutAt);
        done(null, Buffer.from(text.slice(0, cutAt), 'latin1'));
      },
      flush(done) {
        done(null, Buffer.from(withoutCutSecret(held, finder), 'latin1'));
      },
    });
  }
}

function withoutCutSecret(text: string, finder: SecretFinder): string {
  const cutAt = finder.startOfCutSecret(text, maxShownChars + 1);
  return cutAt === undefined ? text : text.slice(0, cutAt) + mark;
}

function longEnough(secrets: (string | undefined)[]): string[] {
  return secrets.filter((secret = '') => secret.length >= minSecretChars) as string[];
}

/**
 * Changes every string and every member name of a plain value, in steps. Returns the same value if nothing changes;
 * otherwise only what holds a change is copied. An object with `toJSON` counts as its JSON form.
 */
function* changeStrings(value: unknown, change: (text: string) => string | Steps<string>): Steps<unknown> {
  if (typeof value === 'string') {
    const changed = change(value);
    return typeof changed === 'string' ? changed : yield* changed;
  }
  if (typeof value !== 'object' || value === null) return value;
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    const json: unknown = value.toJSON();
    const changed = yield* changeStrings(json, change);
    return changed === json ? value : changed;
  }
  const isList = Array.isArray(value);
  const changes = new Map<string | number, [name: string, member: unknown]>();
  const members: Iterable<[string | number, unknown]> = isList ? value.entries() : Object.entries(value);
  let visited = 0;
  for (const [name, member] of members) {
    const isPlain = typeof member !== 'string' && (typeof member !== 'object' || member === null);
    const changed = isPlain ? member : yield* changeStrings(member, change);
    const newName = typeof name === 'string' ? yield* changeStrings(name, change) : '';
    if (changed !== member || (typeof name === 'string' && newName !== name)) {
      changes.set(name, [String(newName), changed]);
    }
    visited += 1;
    if (visited % membersPerStep === 0) yield;
  }
  if (changes.size === 0) return value;
  if (isList) return value.map((part, index) => changes.get(index)?.[1] ?? part);
  return Object.fromEntries(Object.entries(value).map((entry) => changes.get(entry[0]) ?? entry));
}
