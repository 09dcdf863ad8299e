import { type ServerResponse, validateHeaderName, validateHeaderValue } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { Agent, Dispatcher } from 'undici';
import type { InferenceRequest } from '../../contract/inference.ts';
import { Refusal, refusal } from '../http/refusal.ts';

/** An OpenAI-compatible API that inference is forwarded to. `url` is what its paths are appended to, `…/v1` as a rule. */
export interface ModelProviderOptions {
  url: string;
  key?: string;
}

/** Longest silence of a model provider, before its first byte and between two of them. */
const silenceMs = 600_000;

/** Headers of the model provider that tell something about its answer, rather than about its connection. */
const passedHeaders =
  /^(content-type|content-encoding|cache-control|retry-after|x-request-id|x-ratelimit-(limit|remaining|reset)-(requests|tokens))$/;

/** Set by heddle, by HTTP itself, or secrets of another connection. */
const refusedHeaders =
  /^(authorization|host|cookie|content-length|content-type|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|proxy-.*)$/i;

/** Forwards requests to the model provider and passes its answers through as they are. */
export class ModelProvider {
  readonly #options: ModelProviderOptions;
  #agent: Agent | undefined;

  constructor(options: ModelProviderOptions) {
    this.#options = options;
  }

  /** Sends an inference request whose prompt and variables have been applied to `messages`. */
  async infer(path: string, request: InferenceRequest, messages: unknown[] | undefined, to: ServerResponse) {
    const { prompt: _, template_vars: __, api_version: ___, extra_headers, timeout, ...rest } = request;
    const body = JSON.stringify({ ...rest, ...(messages && { messages }) });
    const headers = { ...forwardedHeaders(extra_headers), 'Content-Type': 'application/json' };
    const timeoutMs = typeof timeout === 'number' && timeout > 0 ? Math.min(timeout * 1000, 2 ** 31 - 1) : undefined;
    await this.#exchange({ method: 'POST', path, body, headers }, to, timeoutMs);
  }

  /** Passes on the model provider's list of models. */
  async models(to: ServerResponse): Promise<void> {
    await this.#exchange({ method: 'GET', path: '/models', headers: {} }, to, undefined);
  }

  async close(): Promise<void> {
    await this.#agent?.destroy();
  }

  async #exchange(
    {
      path,
      headers,
      ...request
    }: { method: 'GET' | 'POST'; path: string; body?: string; headers: Record<string, string> },
    to: ServerResponse,
    timeoutMs: number | undefined,
  ): Promise<void> {
    const { url, key } = this.#options;
    const { origin, pathname } = new URL(url);
    const gone = new AbortController();
    const abort = () => gone.abort();
    to.once('close', abort);
    const deadline = timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)];
    try {
      // undici is slow to import, so only a service that has a model provider and uses it does.
      const { Agent } = (await import('undici')).default;
      this.#agent ??= new Agent({ headersTimeout: silenceMs, bodyTimeout: silenceMs });
      const answer = await this.#agent.request({
        origin,
        path: pathname.replace(/\/+$/, '') + path,
        ...request,
        headers: { ...headers, ...(key && { Authorization: `Bearer ${key}` }) },
        signal: AbortSignal.any([gone.signal, ...deadline]),
      });
      await passOn(answer, to);
    } catch (error) {
      // What no connection can be blamed for is a fault of this program, and must not pass for one of the model provider.
      if (error instanceof Refusal || error instanceof TypeError) throw error;
      if (to.headersSent) to.destroy();
      else if (deadline[0]?.aborted)
        throw modelProviderFailure(504, 'model_provider_timeout', 'The model provider did not answer in time.');
      else throw modelProviderFailure(502, 'model_provider_unreachable', 'The model provider cannot be reached.');
    } finally {
      to.off('close', abort);
    }
  }
}

async function passOn(answer: Dispatcher.ResponseData, to: ServerResponse): Promise<void> {
  if (answer.statusCode >= 300 && answer.statusCode < 400) {
    // Following it would take the key to another address.
    await answer.body.dump();
    throw modelProviderFailure(
      502,
      'model_provider_redirect',
      'The model provider answered with a redirect, which is not followed.',
    );
  }
  const headers = Object.entries(answer.headers).filter(([name]) => passedHeaders.test(name));
  to.writeHead(answer.statusCode, Object.fromEntries(headers));
  to.flushHeaders();
  await pipeline(answer.body, to);
}

function forwardedHeaders(extra: Record<string, unknown> | undefined): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(extra ?? {})) {
    if (refusedHeaders.test(name)) continue;
    try {
      validateHeaderName(name);
      validateHeaderValue(name, String(value));
    } catch {
      throw refusal(400, `extra_headers: ${JSON.stringify(name)} cannot be sent as a header`);
    }
    headers[name] = String(value);
  }
  return headers;
}

function modelProviderFailure(status: number, type: string, message: string): Refusal {
  return new Refusal(status, { error: { message, type } });
}
