import { Transform } from 'node:stream';
import { SecretFinder } from './secret-forms.ts';

/** Minimum length of a secret: shorter ones are too often ordinary words. */
export const minSecretChars = 6;
/** Characters of a secret that a text which was cut inside of it may show. */
const maxShownChars = 3;
const mark = '[secret]';

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

  /** Removes registered secrets, and text that looks like a secret, from log lines and error messages. */
  redact(text: string): string {
    const known = this.#environmentFinder.replace(text, mark);
    return patterns.reduce((rest, [pattern, replacement]) => rest.replace(pattern, replacement), known);
  }

  /** Removes from every string of a JSON value what `redact` removes from text. */
  redactStrings<T>(value: T): T {
    return mapStrings(JSON.parse(JSON.stringify(value)), (text) => this.redact(text)) as T;
  }

  /**
   * Removes registered secrets from every string of a plain value, including member names. Keeps text that only looks like
   * a secret, and secrets of the environment that heddle does not use, because a result belongs to the user.
   * @returns the same value if there is nothing to remove.
   */
  redactValue<T>(value: T): T {
    if (this.#secrets.size === 0) return value;
    const json = JSON.stringify(value);
    if (json === undefined || !this.#finder.isIn(json)) return value;
    return mapStrings(JSON.parse(json), (text) => this.#finder.replace(text, mark)) as T;
  }

  /** Removes registered secrets from text that may have been cut inside of one, like a reply that broke off. */
  redactCut(text: string): string {
    const clean = this.#finder.replace(text, mark);
    const cutAt = this.#finder.cutSecretAt(clean, maxShownChars + 1);
    return cutAt === undefined ? clean : clean.slice(0, cutAt) + mark;
  }

  /**
   * Returns a stream that removes registered secrets from the bytes that pass through it, and holds back only what may be
   * the beginning of one.
   */
  redactStream(): Transform {
    const finder = this.#finder;
    const redactCut = (text: string): string => this.redactCut(text);
    let held = '';
    // Latin-1 keeps every byte, whatever the encoding of the text is.
    return new Transform({
      transform(chunk: Buffer, _encoding, done) {
        const text = finder.replace(held + chunk.toString('latin1'), mark);
        const cutAt = finder.cutSecretAt(text, 0) ?? text.length;
        held = text.slice(cutAt);
        done(null, Buffer.from(text.slice(0, cutAt), 'latin1'));
      },
      flush(done) {
        done(null, Buffer.from(redactCut(held), 'latin1'));
      },
    });
  }
}

function longEnough(secrets: (string | undefined)[]): string[] {
  return secrets.filter((secret = '') => secret.length >= minSecretChars) as string[];
}

function mapStrings(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((part) => mapStrings(part, change));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [change(name), mapStrings(member, change)]);
  return Object.fromEntries(members);
}
