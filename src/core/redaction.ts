/** Shorter secrets are ordinary words too often to be removed wherever they appear. */
const minSecretChars = 6;
const mark = '[secret]';

/** Names of environment variables whose values count as secrets, whatever program they belong to. */
const secretName = /(?:^|_)(?:\w*TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|KEY|APIKEY|CREDENTIALS?)$/i;

/** Places that give a secret away even when its value is not known, and what replaces it. */
const patterns: readonly [RegExp, string][] = [
  // Header values, in a header block, in JSON and in JSON inside JSON.
  [
    /((?:proxy-)?authorization|(?:set-)?cookie|x-[\w-]*(?:key|token|secret)|api-key)(\\*["']?\s*[:=]\s*\\*["']?)[^"'\\\r\n]+/gi,
    `$1$2${mark}`,
  ],
  // "Basic" and "Bearer" alone are prose; followed by something with a digit, _ or = they are the value of a header.
  [/\b(Basic|Bearer)\s+(?=[^\s"'\\,]*[\d_=])[^\s"'\\,]{8,}/gi, `$1 ${mark}`],
  // A JSON Web Token: "eyJ" is the encoded "{\"" of its header.
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
  readonly #secrets = new Set<string>();
  readonly #environmentSecrets = new Set<string>();
  /** Every written form of the secrets above, the longest first; computed when text is first redacted. */
  #forms: string[] | undefined;
  #environmentForms: string[] | undefined;

  /** Registers secrets. To be called by the code that reads a secret, before the secret is used. */
  protect(...secrets: (string | undefined)[]): void {
    for (const secret of secrets)
      if (secret !== undefined && secret.length >= minSecretChars) this.#secrets.add(secret);
    this.#forms = undefined;
  }

  /** Registers the values of variables whose names look like secrets, and the passwords in URLs. */
  protectEnvironment(environment: NodeJS.ProcessEnv): void {
    for (const [name, value = ''] of Object.entries(environment)) {
      const password = /^[a-z][a-z\d+.-]*:\/\/[^\s/?#@]*?:([^\s/?#@]+)@/i.exec(value)?.[1];
      for (const secret of [secretName.test(name) ? value : '', password ?? '']) {
        if (secret.length >= minSecretChars) this.#environmentSecrets.add(secret);
      }
    }
    this.#environmentForms = undefined;
  }

  /** Forgets every secret. */
  clear(): void {
    this.#secrets.clear();
    this.#environmentSecrets.clear();
    this.#forms = undefined;
    this.#environmentForms = undefined;
  }

  /**
   * Removes registered secrets, and what looks like a secret, from a string: log lines, error results, and what the command
   * line prints about failures.
   */
  redact(text: string): string {
    this.#environmentForms ??= formsOf(this.#environmentSecrets);
    const known = without([...this.#secretForms(), ...this.#environmentForms], text);
    return patterns.reduce((rest, [pattern, replacement]) => rest.replace(pattern, replacement), known);
  }

  /**
   * Removes registered secrets from every string of a plain value, member names included. What only looks like a secret
   * stays: a result belongs to the user. Secrets of the environment that heddle does not use stay too.
   * @param json the value as JSON, where the caller has it already.
   * @returns the same value when there is nothing to remove.
   */
  redactValue<T>(value: T, json = JSON.stringify(value)): T {
    const forms = this.#secretForms();
    if (!forms.some((form) => json.includes(form))) return value;
    const clean = (part: unknown): unknown => {
      if (typeof part === 'string') return without(forms, part);
      if (Array.isArray(part)) return part.map(clean);
      if (typeof part !== 'object' || part === null) return part;
      // The JSON of an error differs from its own members.
      const { toJSON } = part as { toJSON?: unknown };
      const members: object = typeof toJSON === 'function' ? toJSON.call(part) : part;
      return Object.fromEntries(Object.entries(members).map(([name, member]) => [without(forms, name), clean(member)]));
    };
    return clean(value) as T;
  }

  #secretForms(): string[] {
    this.#forms ??= formsOf(this.#secrets);
    return this.#forms;
  }
}

/** Lists the forms of all secrets, the longest first: a secret that contains another must not leave its rest behind. */
function formsOf(secrets: ReadonlySet<string>): string[] {
  return [...new Set([...secrets].flatMap(formsOfSecret))].sort((a, b) => b.length - a.length);
}

function without(forms: string[], text: string): string {
  return forms.reduce((rest, form) => rest.replaceAll(form, mark), text);
}

/** Lists how a secret is written in headers, URLs, JSON, and JSON inside JSON. */
function formsOfSecret(secret: string): string[] {
  const bytes = Buffer.from(secret);
  // There are two ways to encode spaces and characters like "!".
  const uri = [encodeURIComponent(secret.toWellFormed()), new URLSearchParams({ v: secret }).toString().slice(2)];
  const json = [escaped(secret), asciiOnly(escaped(secret))].flatMap((text) => [text, escaped(text)]);
  // Inside a longer string, the Base64 of the secret depends on its offset: three variants, without the first and last
  // characters, which also encode the neighbours.
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
