import {
  type CryptoKey,
  createLocalJWKSet,
  type FlattenedJWSInput,
  type JSONWebKeySet,
  type JWSHeaderParameters,
} from 'jose';
import { type ErrorCode, HeddleError } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';

/** Times of the keys of an issuer, in milliseconds. */
const times = {
  /** Discovery and keys together. */
  timeout: 5_000,
  /** Keys older than this are fetched again beside the work: what the issuer has withdrawn soon no longer counts. */
  fresh: 10 * 60_000,
  /** Keys older than this no longer count, also while the issuer cannot be asked. */
  usable: 60 * 60_000,
  /** In each such span the issuer is asked twice at most, whatever tokens come: once for its keys, once for a new one. */
  pause: 5_000,
};

/** Why a token cannot be judged now. */
export type IssuerFailure = HeddleError & { readonly retryAfterMs: number };

/** The keys of an issuer, as they were when it was asked. */
interface Published {
  /** Where they are. */
  address: string;
  count: number;
  find: ReturnType<typeof createLocalJWKSet>;
}

/** The keys of an authorization server: fetched when first needed, and again for a key that is not among them. */
export class IssuerKeys {
  readonly #issuer: string;
  readonly #log: Log;
  #keys: Published | undefined;
  #fetchedAt = 0;
  /** When the issuer was asked last, and before that. */
  #asked: [number, number] = [0, 0];
  #asking: Promise<void> | undefined;
  #failure: IssuerFailure | undefined;

  constructor(issuer: string, log: Log) {
    this.#issuer = issuer;
    this.#log = log;
  }

  /**
   * The key that a token names.
   * @throws IssuerFailure when the issuer cannot be asked; an error of jose when it has no such key.
   */
  async find(header?: JWSHeaderParameters, token?: FlattenedJWSInput): Promise<CryptoKey> {
    const age = Date.now() - this.#fetchedAt;
    if (age > times.usable) this.#keys = undefined;
    if (!this.#keys) await this.#ask();
    else if (age > times.fresh) void this.#ask();
    if (!this.#keys) throw this.#failure!;
    try {
      return await this.#keys.find(header, token);
    } catch (error) {
      if ((error as { code?: string }).code !== 'ERR_JWKS_NO_MATCHING_KEY') throw error;
      // The key may be new: that there is no such key only the issuer can say, and it has just been asked.
      if (this.#isPausing()) throw unavailable(this.#issuer, 'it was asked a moment ago');
      await this.#ask();
      if (this.#failure) throw this.#failure;
      return this.#keys.find(header, token);
    }
  }

  #isPausing(): boolean {
    return !this.#asking && Date.now() - this.#asked[1] < times.pause;
  }

  /** Asks the issuer, unless that has just been done. Never fails: what went wrong is kept. */
  #ask(): Promise<void> {
    if (this.#asking) return this.#asking;
    if (this.#isPausing()) return Promise.resolve();
    this.#asked = [Date.now(), this.#asked[0]];
    this.#asking = fetchKeys(this.#issuer)
      .then(
        (keys) => {
          this.#keys = keys;
          this.#fetchedAt = Date.now();
          this.#failure = undefined;
        },
        (error: IssuerFailure) => {
          this.#failure = error;
          this.#log('error', 'no keys from the token issuer', { error: error.message, advice: error.hint });
        },
      )
      .finally(() => {
        this.#asking = undefined;
      });
    return this.#asking;
  }
}

/**
 * Asks an issuer for its keys: its metadata (RFC 8414, or OpenID Connect Discovery) says where they are.
 * @throws IssuerFailure that says what was asked, and what came of it.
 */
export async function fetchKeys(issuer: string): Promise<Published> {
  const signal = AbortSignal.timeout(times.timeout);
  const address = String((await discover(issuer, signal)).jwks_uri);
  const { protocol } = new URL(issuer);
  if (!URL.canParse(address) || !['https:', protocol].includes(new URL(address).protocol)) {
    throw wrong(issuer, 'its metadata has no usable jwks_uri', 'The issuer is at fault: it must publish its keys.');
  }
  const set = (await getJson(issuer, address, signal)) as unknown as JSONWebKeySet;
  try {
    return { address, find: createLocalJWKSet(set), count: set.keys.length };
  } catch {
    throw wrong(issuer, `${address} is no JSON Web Key Set`, 'The issuer is at fault: it must publish its keys.');
  }
}

/** The issuer's metadata, from the first place that has it, in the order of the MCP authorization specification. */
async function discover(issuer: string, signal: AbortSignal): Promise<Record<string, unknown>> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const places = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
  const failures: IssuerFailure[] = [];
  for (const place of new Set(places)) {
    try {
      const metadata = await getJson(issuer, place, signal);
      if (metadata.issuer === issuer) return metadata;
      throw wrong(
        issuer,
        `${place} belongs to the issuer ${JSON.stringify(metadata.issuer)?.slice(0, 200)}`,
        'Give --oauth-issuer exactly as the issuer writes itself, to the last slash.',
      );
    } catch (error) {
      const failure = error as IssuerFailure;
      if (failure.code !== 'bad_response') throw failure;
      failures.push(failure);
    }
  }
  // A place that has something else says more than one that has nothing.
  throw failures.find(({ status }) => status === undefined) ?? failures[0]!;
}

async function getJson(issuer: string, address: string, signal: AbortSignal): Promise<Record<string, unknown>> {
  let answer: Response;
  let text: string;
  try {
    answer = await fetch(address, { redirect: 'manual', signal, headers: { accept: 'application/json' } });
    text = await answer.text();
  } catch (error) {
    const { cause, message } = error as Error;
    const reason = signal.aborted ? `no answer within ${times.timeout} ms` : (cause as Error)?.message || message;
    throw unavailable(issuer, `${address}: ${reason}`);
  }
  const { status } = answer;
  if (status >= 500) throw unavailable(issuer, `${address} answered with status ${status}`);
  if (status !== 200) throw wrong(issuer, `${address} answered with status ${status}`, 'Check --oauth-issuer.', status);
  try {
    const value = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // Said below.
  }
  throw wrong(issuer, `${address} is not JSON`, 'Check --oauth-issuer: another server may answer there.');
}

function unavailable(issuer: string, reason: string): IssuerFailure {
  return failureOf('service_unavailable', issuer, reason, 'Check that the issuer runs, and can be reached from here.');
}

function wrong(issuer: string, reason: string, hint: string, status?: number): IssuerFailure {
  return failureOf('bad_response', issuer, reason, hint, status);
}

function failureOf(code: ErrorCode, issuer: string, reason: string, hint: string, status?: number): IssuerFailure {
  const message = `The token issuer ${issuer} cannot be asked for its keys: ${reason}.`;
  const fields = { code, message, hint, status, retryable: true, retryAfterMs: times.pause };
  return new HeddleError(fields) as IssuerFailure;
}
