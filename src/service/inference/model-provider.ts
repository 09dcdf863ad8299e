import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { BodyOf } from '../../contract/endpoints.ts';
import { HttpClient, type HttpResponse, networkCode, readBody } from '../../core/http/http-client.ts';
import type { ProxySettings } from '../../core/http/proxies.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { exactJson } from '../../core/json/exact-number.ts';
import { Redactor } from '../../core/secrets/redaction.ts';
import { digestOf } from '../storage/digest.ts';

/** An OpenAI-compatible API. `url` is the base of its paths and usually ends in `/v1`; `key` is its bearer token. */
export interface ModelProviderOptions {
  url: string;
  key?: string | undefined;
  /** Proxies for its requests. None by default. */
  proxies?: ProxySettings | undefined;
}

/** Longest time without a byte from the model provider. */
const silenceTimeoutMs = 600_000;

/** A timer that is set for longer ends at once. */
const longestTimerMs = 2 ** 31 - 1;

/** Response headers that describe the response rather than the connection. */
const passedHeaders =
  /^(content-type|cache-control|retry-after|retry-after-ms|x-should-retry|x-request-id|x-ratelimit-(limit|remaining|reset)-(requests|tokens))$/;

/** Request headers that heddle or HTTP sets, or that are secrets of another connection. */
const refusedHeaders =
  /^(accept-encoding|authorization|host|cookie|content-length|content-type|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|proxy-.*)$/i;

/** Code of undici for the name or the value of a header that cannot be sent. */
const unsendableHeaderCode = 'UND_ERR_INVALID_ARG';

/** Largest reply that the service itself reads. */
const maxReplyBytes = 8 * 1024 * 1024;

/** Explains why the service got no response of its own from the model provider. */
export class ModelProviderFailure extends Error {
  /** True if the same request may succeed later. */
  readonly isTransient: boolean;

  constructor(message: string, isTransient: boolean) {
    super(message);
    this.isTransient = isTransient;
  }
}

/** Forwards requests to the model provider. Its responses pass unchanged, but without the key, which some APIs repeat. */
export class ModelProvider {
  readonly #baseUrl: string;
  readonly #key: string | undefined;
  readonly #redactor = new Redactor();
  readonly #httpClient: HttpClient;

  constructor({ url, key, proxies }: ModelProviderOptions) {
    this.#httpClient = new HttpClient({ silenceTimeoutMs, proxies });
    this.#baseUrl = new URL(url).href.replace(/(?<!\/)\/+$/, '');
    this.#key = key;
    // Bytes of a response are read as Latin-1, and a header is sent as such.
    this.#redactor.protect(key, key && Buffer.from(key).toString('latin1'));
  }

  /** Identifies the model provider, without what its URL may hide. */
  get identity(): string {
    return digestOf(this.#baseUrl);
  }

  /**
   * Sends a chat completion for the service itself, and returns the response without the key.
   * @throws ModelProviderFailure when there is no whole response, the reason of `signal` when it is aborted.
   */
  async complete(
    body: BodyOf<'runInference'>,
    signal: AbortSignal,
  ): Promise<{ status: number; headers: HttpResponse['headers']; text: string }> {
    const response = await this.#send(
      '/chat/completions',
      { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) },
      signal,
    ).catch((cause) => {
      signal.throwIfAborted();
      throw new ModelProviderFailure(
        `The model provider cannot be reached (${networkCode(cause) ?? cause.name}).`,
        true,
      );
    });
    const { status, headers, body: received, unknownEncoding } = response;
    if (unknownEncoding !== undefined || (status >= 300 && status < 400)) {
      received.destroy();
      const reason = unknownEncoding !== undefined ? 'a content encoding that it was not offered' : 'a redirect';
      throw new ModelProviderFailure(`The model provider responded with ${reason}.`, false);
    }
    const { bytes, error } = await readBody(received, maxReplyBytes);
    if (error) {
      signal.throwIfAborted();
      if (error instanceof RangeError) throw new ModelProviderFailure('The reply of the model is over 8 MiB.', false);
      throw new ModelProviderFailure('The model provider broke off its reply.', true);
    }
    return { status, headers, text: this.#redactor.redact(bytes.toString()) };
  }

  /**
   * Forwards an inference request.
   * @param messages the messages with the stored prompt and the template variables applied; undefined if there are none.
   * @throws Refusal 400 for a header that cannot be sent, 502 or 504 when the model provider fails before it responds.
   */
  async infer(
    path: string,
    request: BodyOf<'runInference'>,
    messages: unknown[] | undefined,
    response: ServerResponse,
  ) {
    const { prompt: _, template_vars: __, api_version: ___, extra_headers, timeout, ...rest } = request;
    const timeoutMs =
      typeof timeout === 'number' && timeout > 0 ? Math.ceil(Math.min(timeout * 1000, longestTimerMs)) : undefined;
    const deadline = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
    const allowed = Object.entries(extra_headers ?? {}).filter(([name]) => !refusedHeaders.test(name));
    const forwarded = Object.fromEntries(allowed.map(([name, value]) => [name, String(value)]));
    const headers = { ...forwarded, 'Content-Type': 'application/json' };
    const body = exactJson({ ...rest, ...(messages && { messages }) });
    await this.#forward(path, { method: 'POST', headers, body }, response, deadline);
  }

  /** Passes on the model provider's list of models. */
  async listModels(response: ServerResponse): Promise<void> {
    await this.#forward('/models', { method: 'GET', headers: {} }, response);
  }

  /** Passes on what the model provider says about a model. Slashes in the id are encoded, as OpenAI's own clients do. */
  async readModel(id: string, response: ServerResponse): Promise<void> {
    await this.#forward(`/models/${id.replaceAll('/', '%2F')}`, { method: 'GET', headers: {} }, response);
  }

  async #forward(
    path: string,
    request: { method: 'GET' | 'POST'; headers: Record<string, string>; body?: string },
    response: ServerResponse,
    deadline?: AbortSignal,
  ): Promise<void> {
    const clientGone = new AbortController();
    response.once('close', () => clientGone.abort());
    const signal = AbortSignal.any([clientGone.signal, ...(deadline ? [deadline] : [])]);
    const received = await this.#send(path, request, signal).catch((error) => {
      if (error.code === unsendableHeaderCode) throw new Refusal(400, `extra_headers: ${error.message}`);
      if (deadline?.aborted)
        throw failure(504, 'model_provider_timeout', 'The model provider did not respond in time.');
      throw failure(502, 'model_provider_unreachable', 'The model provider cannot be reached.');
    });
    await this.#passOn(received, response);
  }

  #send(
    path: string,
    request: { method: 'GET' | 'POST'; headers: Record<string, string>; body?: string },
    signal: AbortSignal,
  ): Promise<HttpResponse> {
    const headers = { ...request.headers, ...(this.#key && { Authorization: `Bearer ${this.#key}` }) };
    return this.#httpClient.send({ ...request, url: this.#baseUrl + path, headers, signal });
  }

  async #passOn(received: HttpResponse, response: ServerResponse): Promise<void> {
    if (received.status >= 300 && received.status < 400) {
      received.body.destroy();
      // Following it would send the key to another address.
      const message = 'The model provider responded with a redirect, which is not followed.';
      throw failure(502, 'model_provider_redirect', message);
    }
    const headers = Object.entries(received.headers).filter(([name]) => passedHeaders.test(name));
    if (received.unknownEncoding !== undefined) {
      received.body.destroy();
      throw failure(
        502,
        'model_provider_encoding',
        'The model provider used a content encoding that it was not offered.',
      );
    }
    response.writeHead(received.status, this.#redactor.redactValue(Object.fromEntries(headers)));
    response.flushHeaders();
    // A failure destroys the response, which is the only way to tell the client that it is incomplete.
    await pipeline([received.body, this.#redactor.redactStream(), response]).catch(() => {});
  }
}

function failure(status: number, type: string, message: string): Refusal {
  return new Refusal(status, message, { body: { error: { message, type } } });
}
