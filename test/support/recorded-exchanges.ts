import { readFileSync } from 'node:fs';

/*
 * Exchanges that were recorded between a client and the public service, one a line. Ids and digests that the service made are other
 * ones here: they are learnt from the first response that has them, and have to be the same from then on.
 */

// biome-ignore lint/suspicious/noExplicitAny: JSON of every shape
type Json = any;

/** A recorded request and its response. Numbers are kept as text, marked as {@link number} says. */
export interface Exchange {
  n: number;
  step: string;
  method: string;
  path: string;
  status: number;
  type?: string | null;
  headers?: Record<string, string>;
  body?: Json;
  body_parts?: { name: string; filename?: string; type?: string; base64: string }[];
  body_base64?: string;
  answer?: Json;
  lines?: Json[];
  answer_base64?: string;
  /** Sent, but its response is not compared. */
  unstable?: boolean;
  any_order?: boolean;
  unstable_members?: string[];
}

/** Marks a string that is a number of the JSON: 1.0 is not 1, and no number holds 1234567890123456789. */
const number = '\u0001';
const tokens = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/** Parses JSON with each number as its marked text. */
function parseWithNumbers(json: string): Json {
  return JSON.parse(json.replaceAll(tokens, (token) => (token.startsWith('"') ? token : `"\\u0001${token}"`)));
}

function writeWithNumbers(value: Json): string {
  return JSON.stringify(value).replaceAll(/"\\u0001([^"]*)"/g, '$1');
}

/** Reads recorded exchanges from a file. */
export function readExchanges(file: string): Exchange[] {
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return lines.map(parseWithNumbers).map((exchange) => ({
    ...exchange,
    n: Number(exchange.n.slice(1)),
    status: Number(exchange.status.slice(1)),
  }));
}

const madeName =
  /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<![\w-])[0-9a-f]{64}(?![\w-])|(?<![\w-])[\w-]{43}(?![\w-])/g;
const time = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d/;
const userMembers = /^(wb_user_id|creator|created_by|added_by|annotator_user_id|username)$/;
const sizeMembers = /_bytes$/;
/** The public service shows ids of its own for projects in some responses. */
const innerProject = /^UHJvamVjdEludGVybmFs/;

/** Sends recorded requests in their order, and compares the responses with the recorded ones. */
export class Replay {
  readonly #url: string;
  readonly #authorization: string;
  /** Ids and digests of this service by the recorded ones. */
  readonly #names = new Map<string, string>();
  /** The times that the client sent; others are those of the service. */
  readonly #sentTimes = new Set<number>();

  constructor(url: string, authorization: string) {
    this.#url = url;
    this.#authorization = authorization;
  }

  /** Sends a request and returns how its response differs from the recorded one. */
  async differences(exchange: Exchange): Promise<string[]> {
    const { status, text, bytes } = await this.#send(exchange);
    if (exchange.unstable) return [];
    if (status !== exchange.status) return [`status ${status} instead of ${exchange.status}`];
    if (exchange.answer_base64 !== undefined) {
      return bytes.equals(Buffer.from(exchange.answer_base64, 'base64')) ? [] : ['other bytes'];
    }
    const body = exchange.lines ? text.split('\n').filter(Boolean).map(parseWithNumbers) : parseWithNumbers(text);
    const found: string[] = [];
    if (status >= 400) {
      const [ours, theirs] = [body, exchange.answer].map((error) => Object.keys(error).sort().join());
      return ours === theirs ? [] : [`members ${ours} instead of ${theirs}`];
    }
    this.#compare(exchange.lines ?? exchange.answer, body, [], exchange, found);
    return found;
  }

  async #send({ method, path, headers = {}, type, body, body_parts, body_base64 }: Exchange) {
    const sent: Record<string, string> = { authorization: this.#authorization, ...headers };
    let content: string | Buffer | FormData | undefined;
    if (body_parts) {
      content = new FormData();
      for (const { name, filename, type: partType = '', base64 } of body_parts) {
        const part = Buffer.from(base64, 'base64');
        if (filename === undefined) content.append(name, this.#translate(part.toString()));
        else content.append(name, new Blob([part], { type: partType }), filename);
      }
    } else if (body_base64 !== undefined) {
      content = Buffer.from(body_base64, 'base64');
    } else if (body !== undefined) {
      content = Buffer.from(writeWithNumbers(this.#toSend(body)));
    }
    if (type && !body_parts) sent['content-type'] = type;
    const init = { method, headers: sent, ...(content !== undefined && { body: content }) };
    const response = await fetch(this.#url + this.#translate(path), init);
    const bytes = Buffer.from(await response.arrayBuffer());
    return { status: response.status, text: bytes.toString(), bytes };
  }

  #translate(text: string): string {
    return text.replaceAll(madeName, (name) => this.#names.get(name) ?? name);
  }

  #toSend(value: Json): Json {
    if (typeof value === 'string') {
      if (time.test(value)) this.#sentTimes.add(millisecondsOf(value));
      // What the client made comes back as it is.
      for (const name of value.match(madeName) ?? []) if (!this.#names.has(name)) this.#names.set(name, name);
      return this.#translate(value);
    }
    if (Array.isArray(value)) return value.map((entry) => this.#toSend(entry));
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [this.#translate(name), this.#toSend(member)]),
    );
  }

  #compare(recorded: Json, ours: Json, path: string[], exchange: Exchange, found: string[]): void {
    const name = path.at(-1) ?? '';
    const differs = (what: string): void => {
      found.push(`${path.join('.')}: ${what}`);
    };
    if (exchange.unstable_members?.includes(name)) return;
    if (sizeMembers.test(name) && (recorded === null || ours === null || kindOf(recorded) === kindOf(ours))) return;
    if (kindOf(recorded) !== kindOf(ours)) {
      differs(`${brief(ours)} instead of ${brief(recorded)}`);
      return;
    }
    if (typeof recorded === 'string') {
      this.#compareTexts(recorded, ours, name, differs);
      return;
    }
    if (Array.isArray(recorded)) {
      const list = exchange.any_order ? this.#inOrderOf(recorded, ours) : ours;
      if (recorded.length !== list.length) differs(`${list.length} entries instead of ${recorded.length}`);
      for (const [index, entry] of recorded.entries()) {
        if (index < list.length) this.#compare(entry, list[index], [...path, String(index)], exchange, found);
      }
      return;
    }
    if (recorded === null || typeof recorded !== 'object') {
      if (recorded !== ours) differs(`${brief(ours)} instead of ${brief(recorded)}`);
      return;
    }
    const rest = new Map(Object.entries(ours));
    for (const [member, value] of Object.entries(recorded)) {
      const here = this.#translate(member);
      if (rest.has(here)) this.#compare(value, rest.get(here), [...path, here], exchange, found);
      else if (!sizeMembers.test(member) || value !== null) differs(`lacks ${member}`);
      rest.delete(here);
    }
    for (const [member, value] of rest) if (!sizeMembers.test(member) || value !== null) differs(`also has ${member}`);
  }

  #compareTexts(recorded: string, ours: string, name: string, differs: (what: string) => void): void {
    if (userMembers.test(name) || innerProject.test(recorded)) return;
    if (time.test(recorded) && time.test(ours)) {
      if (hasZone(recorded) !== hasZone(ours)) differs(`${ours} instead of ${recorded}`);
      const sent = millisecondsOf(recorded);
      if (this.#sentTimes.has(sent) && millisecondsOf(ours) !== sent) differs(`${ours} instead of ${recorded}`);
      return;
    }
    if (recorded.startsWith(number)) {
      const isFloat = (text: string): boolean => /[.eE]/.test(text);
      const [a, b] = [recorded.slice(1), ours.slice(1)];
      if (a !== b && !(isFloat(a) && isFloat(b) && Number(a) === Number(b))) differs(`${b} instead of ${a}`);
      return;
    }
    const unknown = (recorded.match(madeName) ?? []).filter((made) => !this.#names.has(made));
    if (unknown.length > 0) {
      const shape = recorded.split(madeName).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
      const made = new RegExp(`^${shape.join('([\\w-]+)')}$`).exec(ours);
      for (const [index, original] of (recorded.match(madeName) ?? []).entries()) {
        if (made && !this.#names.has(original)) this.#names.set(original, made[index + 1]!);
      }
    }
    if (this.#translate(recorded) !== ours) differs(`${brief(ours)} instead of ${brief(recorded)}`);
  }

  /** Returns our entries in the order of the recorded ones with the same ids. */
  #inOrderOf(recorded: Json[], ours: Json[]): Json[] {
    const idOf = (entry: Json): string => String(entry?.call_id ?? entry?.id);
    const places = new Map(recorded.map((entry, index) => [this.#translate(idOf(entry)), index]));
    return [...ours].sort((a, b) => (places.get(idOf(a)) ?? 0) - (places.get(idOf(b)) ?? 0));
  }
}

function kindOf(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'list';
  return typeof value === 'string' && value.startsWith(number) ? 'number' : typeof value;
}

function brief(value: Json): string {
  return JSON.stringify(value).slice(0, 80);
}

function hasZone(text: string): boolean {
  return /(Z|[+-]\d\d:\d\d)$/.test(text.slice(19));
}

function millisecondsOf(text: string): number {
  return Date.parse(`${text.slice(0, 10)}T${text.slice(11, 23).replace(/[Z+-].*$/, '')}Z`);
}
