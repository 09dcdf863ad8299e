/** Shorter texts are ordinary words too often to be taken out wherever they appear. */
const shortestSecret = 6;
const mark = '[secret]';

/** Environment names whose values are taken for secrets, whoever they belong to. */
const secretName = /(?:^|_)(?:\w*TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|KEY|APIKEY|CREDENTIALS?)$/i;

/** What gives a secret away by its place, also when its value is not known. */
const patterns: readonly [RegExp, string][] = [
  // Header values, in a header block, in JSON and in JSON inside JSON.
  [
    /((?:proxy-)?authorization|(?:set-)?cookie|x-[\w-]*(?:key|token|secret)|api-key)(\\*["']?\s*[:=]\s*\\*["']?)[^"'\\\r\n]+/gi,
    `$1$2${mark}`,
  ],
  // The words "Basic" and "Bearer" alone are prose; before something with a digit, _ or = they are a header's value.
  [/\b(Basic|Bearer)\s+(?=[^\s"'\\,]*[\d_=])[^\s"'\\,]{8,}/gi, `$1 ${mark}`],
  // A JSON Web Token begins with the "{" of its header.
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]*/g, mark],
  [/\b([a-z][a-z\d+.-]*:\/\/)[^\s/?#@"'\\]+@/gi, `$1${mark}@`],
  [
    /\b([A-Z][A-Z\d_]*(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|KEY))(=|\\*["']\s*:\s*\\*["'])[^\s"'\\,;}]+/g,
    `$1$2${mark}`,
  ],
];

/** Secrets and how they look. The forms are made when they are first looked for: no start has a text that needs it. */
class Secrets {
  readonly #secrets = new Set<string>();
  #forms: string[] | undefined;
  #pieces: Pieces | undefined;

  add(secrets: readonly (string | undefined)[]): void {
    for (const secret of secrets) {
      if (secret === undefined || secret.length < shortestSecret || this.#secrets.has(secret)) continue;
      this.#secrets.add(secret);
      this.#forms = undefined;
      this.#pieces = undefined;
    }
  }

  /** Every secret's forms, the longest first, or a secret that holds another would leave its rest behind. */
  get forms(): string[] {
    this.#forms ??= [...new Set([...this.#secrets].flatMap(formsOf))].sort((a, b) => b.length - a.length);
    return this.#forms;
  }

  get pieces(): Pieces {
    this.#pieces ??= piecesOf(this.forms);
    return this.#pieces;
  }
}

const own = new Secrets();
const ofEnvironment = new Secrets();

/**
 * Makes secrets of this run known: from now on nothing that passes {@link redact} or {@link redactValue} holds them or
 * an encoded form of them. Called by whatever reads a secret, before the secret is used.
 */
export function protect(...secrets: (string | undefined)[]): void {
  own.add(secrets);
}

/** {@link protect}, and the function that keeps these secrets and all others out of text. */
export function redactor(secrets: readonly (string | undefined)[]): (text: string) => string {
  protect(...secrets);
  return redact;
}

/** Makes known what the environment holds under names that look like secrets, and the passwords in its URLs. */
export function protectEnvironment(environment: NodeJS.ProcessEnv): void {
  const secrets = Object.entries(environment).flatMap(([name, value = '']) => [
    secretName.test(name) ? value : undefined,
    /^[a-z][a-z\d+.-]*:\/\/[^\s/?#@]*?:([^\s/?#@]+)@/i.exec(value)?.[1],
  ]);
  ofEnvironment.add(secrets);
}

/**
 * Takes secrets out of text that leaves the process: the one gate for the log, error results, and what the command line
 * writes about failures.
 */
export function redact(text: string): string {
  const known = without([...own.forms, ...ofEnvironment.forms], text);
  return patterns.reduce((rest, [pattern, replacement]) => rest.replace(pattern, replacement), known);
}

/**
 * Takes the live secrets out of every text in a plain value, member names included. What only looks like a secret stays:
 * a result belongs to the user. `json` is the value as JSON in UTF-8, where the caller has it; a value without secrets,
 * the usual case, costs a look through it and is returned as it is.
 */
export function redactValue<T>(value: T, json = Buffer.from(JSON.stringify(value))): T {
  if (!mayHoldSecret(json) || !own.forms.some((form) => json.includes(form))) return value;
  const clean = (part: unknown): unknown => {
    if (typeof part === 'string') return without(own.forms, part);
    if (Array.isArray(part)) return part.map(clean);
    if (typeof part !== 'object' || part === null) return part;
    // An error is other than its members as JSON.
    const { toJSON } = part as { toJSON?: unknown };
    const members: object = typeof toJSON === 'function' ? toJSON.call(part) : part;
    return Object.fromEntries(
      Object.entries(members).map(([name, member]) => [without(own.forms, name), clean(member)]),
    );
  };
  return clean(value) as T;
}

/** Bytes of a piece of text that is looked up. */
const pieceLength = 4;

/**
 * What tells quickly that a text holds no secret. Of every form the pieces that begin at its first `step` bytes are
 * marked. Wherever a form stands in a text, one of these pieces stands at a multiple of `step` there, so that only every
 * `step`th piece of the text needs a look. For a page of 50 items that takes 16 us where a search for every form took 133.
 */
interface Pieces {
  step: number;
  marks: Uint8Array;
  known: Set<string>;
}

function piecesOf(forms: string[]): Pieces {
  const all = forms.map((form) => Buffer.from(form));
  const step = Math.max(1, Math.min(...all.map(({ length }) => length)) - pieceLength + 1);
  const marks = new Uint8Array(1 << 16);
  const known = new Set<string>();
  for (const form of all) {
    for (let at = 0; at < step; at++) {
      marks[markOf(form, at)] = 1;
      known.add(form.toString('latin1', at, at + pieceLength));
    }
  }
  return { step, marks, known };
}

function mayHoldSecret(bytes: Buffer): boolean {
  const { step, marks, known } = own.pieces;
  for (let at = 0; at <= bytes.length - pieceLength; at += step) {
    if (marks[markOf(bytes, at)] && known.has(bytes.toString('latin1', at, at + pieceLength))) return true;
  }
  return false;
}

function markOf(bytes: Buffer, at: number): number {
  const piece = bytes[at]! ^ (bytes[at + 1]! << 8) ^ (bytes[at + 2]! << 16) ^ (bytes[at + 3]! << 24);
  return Math.imul(piece, 0x9e3779b1) >>> 16;
}

function without(forms: string[], text: string): string {
  return forms.reduce((rest, form) => rest.replaceAll(form, mark), text);
}

/** How a secret looks in headers, URLs, JSON, and JSON inside JSON. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  // Spaces, and marks like "!", are written in two ways.
  const uri = [encodeURIComponent(secret.toWellFormed()), new URLSearchParams({ v: secret }).toString().slice(2)];
  const json = [escaped(secret), asciiOnly(escaped(secret))].flatMap((text) => [text, escaped(text)]);
  // Base64 of a longer text that holds the secret depends on where in it the secret begins: three ways, whose first
  // and last characters are shared with the neighbours.
  const base64 = [0, 1, 2].map((offset) => {
    const digits = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    return digits.slice(offset === 0 ? 0 : offset + 1, Math.floor(((offset + bytes.length) * 8) / 6));
  });
  return [
    secret,
    ...uri,
    ...uri.map((text) => text.replace(/%[\dA-F]{2}/g, (code) => code.toLowerCase())),
    ...json,
    bytes.toString('base64'),
    ...base64.flatMap((text) => [text, text.replaceAll('+', '-').replaceAll('/', '_')]),
    bytes.toString('hex'),
  ];
}

function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** Python writes everything beyond ASCII in JSON as \uXXXX. */
function asciiOnly(text: string): string {
  return text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
