/** Minimum length of a secret: shorter ones are too often ordinary words. */
const minSecretChars = 6;
const mark = '[secret]';

/** Names of environment variables, of any program, whose values count as secrets. */
const secretName = /(?:^|_)(?:\w*TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|KEY|APIKEY|CREDENTIALS?)$/i;

/** Patterns that reveal a secret whose value is unknown, and their replacements. */
const patterns: readonly [RegExp, string][] = [
  // Header values, in a header block, in JSON and in JSON inside JSON.
  [
    /((?:proxy-)?authorization|(?:set-)?cookie|x-[\w-]*(?:key|token|secret)|api-key)(\\*["']?\s*[:=]\s*\\*["']?)[^"'\\\r\n]+/gi,
    `$1$2${mark}`,
  ],
  // "Basic" and "Bearer" may be prose; before a word with a digit, _ or = they belong to a header.
  [/\b(Basic|Bearer)\s+(?=[^\s"'\\,]*[\d_=])[^\s"'\\,]{8,}/gi, `$1 ${mark}`],
  // JSON Web Tokens: "eyJ" is the encoded start of the header.
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]*/g, mark],
  [/\b([a-z][a-z\d+.-]*:\/\/)[^\s/?#@"'\\]+@/gi, `$1${mark}@`],
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
  /** Every written form of the secrets, longest first. */
  #forms: string[] = [];
  #environmentForms: string[] = [];

  /** Registers secrets. Code that reads a secret calls this before it uses the secret. */
  protect(...secrets: (string | undefined)[]): void {
    this.#forms = addForms(this.#forms, secrets);
  }

  /** Registers the values of variables whose names look like secrets, and the passwords in URLs. */
  protectEnvironment(environment: NodeJS.ProcessEnv): void {
    const secrets = Object.entries(environment).flatMap(([name, value = '']) => [
      secretName.test(name) ? value : undefined,
      /^[a-z][a-z\d+.-]*:\/\/[^\s/?#@]*?:([^\s/?#@]+)@/i.exec(value)?.[1],
    ]);
    this.#environmentForms = addForms(this.#environmentForms, secrets);
  }

  clear(): void {
    this.#forms = [];
    this.#environmentForms = [];
  }

  /** Removes registered secrets, and text that looks like a secret, from log lines and error messages. */
  redact(text: string): string {
    const known = without([...this.#forms, ...this.#environmentForms], text);
    return patterns.reduce((rest, [pattern, replacement]) => rest.replace(pattern, replacement), known);
  }

  /**
   * Removes registered secrets from every string of a plain value, including member names. Keeps text that only looks like
   * a secret, and secrets of the environment that heddle does not use, because a result belongs to the user.
   * @returns the same value if there is nothing to remove.
   */
  redactValue<T>(value: T): T {
    const forms = this.#forms;
    const json = JSON.stringify(value);
    if (!forms.some((form) => json.includes(form))) return value;
    const clean = (part: unknown): unknown => {
      if (typeof part === 'string') return without(forms, part);
      if (Array.isArray(part)) return part.map(clean);
      if (typeof part !== 'object' || part === null) return part;
      return Object.fromEntries(Object.entries(part).map(([name, member]) => [without(forms, name), clean(member)]));
    };
    return clean(JSON.parse(json)) as T;
  }
}

/** Adds every form of some secrets. The longest come first, so that a secret inside another does not leave the rest. */
function addForms(forms: string[], secrets: (string | undefined)[]): string[] {
  const added = secrets.flatMap((secret = '') => (secret.length < minSecretChars ? [] : formsOfSecret(secret)));
  return [...new Set([...forms, ...added])].sort((a, b) => b.length - a.length);
}

function without(forms: string[], text: string): string {
  return forms.reduce((rest, form) => rest.replaceAll(form, mark), text);
}

/** Lists the forms of a secret in headers, URLs, JSON, and JSON inside JSON. */
function formsOfSecret(secret: string): string[] {
  const bytes = Buffer.from(secret);
  // URLs and forms encode spaces and characters like "!" differently.
  const uri = [encodeURIComponent(secret.toWellFormed()), new URLSearchParams({ v: secret }).toString().slice(2)];
  const json = [escaped(secret), asciiOnly(escaped(secret))].flatMap((text) => [text, escaped(text)]);
  // The Base64 of a secret inside a longer string has three variants by offset. The outer characters, which also encode
  // neighbouring bytes, are dropped.
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

/** Escapes everything beyond ASCII as \uXXXX, as Python's JSON does. */
function asciiOnly(text: string): string {
  return text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
