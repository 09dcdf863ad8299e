import { setTimeout as wait } from 'node:timers/promises';
import type { BodyOf } from '../../contract/endpoints.ts';
import { echoModel } from '../../contract/inference.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { retryAfterMs } from '../../core/http/retry-after.ts';
import type { Members } from '../../core/json/json-object.ts';
import { JsonLimitError, parseJsonText } from '../../core/json/parse-json.ts';
import { runEchoModel } from './echo-model.ts';
import { type ModelProvider, ModelProviderFailure } from './model-provider.ts';

/** The reply of a model to a chat completion. */
export interface ModelReply {
  /** The text, or the whole message if it has no text. */
  content: unknown;
  /** The tokens that the model provider counted; undefined if it counted none. */
  usage: Members | undefined;
}

/** Counts the requests that are sent to models, each time that one is sent. */
export interface RequestMeter {
  /** Is called before a request is sent, which it prevents by throwing. */
  begin(): void;
  /**
   * Is called when a request has ended.
   * @param sentChars characters of the messages.
   * @param reply null if there was none, undefined if the request was aborted.
   */
  end(model: string, sentChars: number, reply: { usage: Members | undefined; chars: number } | null | undefined): void;
}

/** Says why a model gave no reply. The message has no secrets. */
export class NoReplyError extends Error {}

/** Maximum number of times that a request is sent, also one that the model provider rejects because it is busy. */
const maxAttempts = 3;
const maxBusyAttempts = 10;
/** Longest time that a model provider can ask to wait. */
const maxWaitMs = 120_000;
const maxShownChars = 500;

const transientStatuses = new Set([408, 500, 502, 503, 504]);

/** Asks models for chat completions. All requests wait while the model provider asks one of them to wait. */
export class ModelClient {
  readonly #provider: ModelProvider | undefined;
  readonly #timeoutMs: number;
  #busyUntil = 0;

  /** @param provider when absent, only the echo model replies. */
  constructor(provider: ModelProvider | undefined, timeoutMs: number) {
    this.#provider = provider;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Sends a chat completion and returns the reply. It is sent again if the model provider is busy, has failed or broke
   * off, but not if it was too slow.
   * @param meter counts each time that it is sent.
   * @throws NoReplyError when there is none, the reason of `signal` when it is aborted, and what the meter throws.
   */
  async ask(
    body: Members & { model: string },
    messages: unknown[],
    signal: AbortSignal,
    meter?: RequestMeter,
  ): Promise<ModelReply> {
    for (let attempt = 1; ; attempt += 1) {
      await this.#waitUntilReady(signal);
      const outcome = await this.#metered({ ...body, messages }, signal, meter);
      if ('reply' in outcome) return outcome.reply;
      const { message, isBusy, isTransient, waitMs } = outcome;
      signal.throwIfAborted();
      const isLast = attempt >= (isBusy ? maxBusyAttempts : maxAttempts);
      if (!isTransient || isLast || (waitMs ?? 0) > maxWaitMs) throw new NoReplyError(message);
      const backoffMs = Math.min(250 * 2 ** (attempt - 1), 8000) * (0.5 + Math.random() / 2);
      const delayMs = Math.max(backoffMs, waitMs ?? 0);
      if (isBusy) this.#busyUntil = Math.max(this.#busyUntil, performance.now() + delayMs);
      else await wait(delayMs, undefined, { signal });
    }
  }

  async #waitUntilReady(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    for (let delayMs = this.#delayMs; delayMs > 0; delayMs = this.#delayMs) {
      // Spreads the requests that waited together.
      await wait(delayMs + Math.random() * 50, undefined, { signal });
    }
  }

  get #delayMs(): number {
    return this.#busyUntil - performance.now();
  }

  async #metered(body: BodyOf<'runInference'>, signal: AbortSignal, meter?: RequestMeter): Promise<Attempt> {
    if (!meter) return this.#attempt(body, signal);
    const sentChars = JSON.stringify(body.messages).length;
    let reply: Parameters<RequestMeter['end']>[2];
    meter.begin();
    try {
      const outcome = await this.#attempt(body, signal);
      reply = null;
      if ('reply' in outcome) {
        const { content, usage } = outcome.reply;
        reply = { usage, chars: (typeof content === 'string' ? content : JSON.stringify(content)).length };
      }
      return outcome;
    } finally {
      meter.end(body.model, sentChars, reply);
    }
  }

  async #attempt(body: BodyOf<'runInference'>, signal: AbortSignal): Promise<Attempt> {
    if (!this.#provider || body.model === echoModel) return echoed(body);
    const deadline = AbortSignal.timeout(this.#timeoutMs);
    try {
      const { status, headers, text } = await this.#provider.complete(body, AbortSignal.any([signal, deadline]));
      if (status >= 200 && status < 300) return readReply(text);
      const waitMs = retryAfterMs(headers['retry-after'], Date.now());
      const isBusy = status === 429 || (status === 503 && waitMs !== undefined);
      const message = `The model provider responded with status ${status}${explanationIn(text)}`;
      return { message, isBusy, isTransient: isBusy || transientStatuses.has(status), waitMs };
    } catch (error) {
      if (deadline.aborted) {
        return failed(`The model provider did not reply within ${this.#timeoutMs / 1000} s.`, false);
      }
      if (error instanceof ModelProviderFailure) return failed(error.message, error.isTransient);
      throw error;
    }
  }
}

type Attempt =
  | { reply: ModelReply }
  | { message: string; isBusy: boolean; isTransient: boolean; waitMs: number | undefined };

function failed(message: string, isTransient: boolean): Attempt {
  return { message, isBusy: false, isTransient, waitMs: undefined };
}

async function echoed(body: BodyOf<'runInference'>): Promise<Attempt> {
  try {
    return readReply(await runEchoModel('/chat/completions', body, body.messages ?? []).text());
  } catch (error) {
    if (error instanceof Refusal) return failed(error.message, false);
    throw error;
  }
}

function readReply(text: string): Attempt {
  let value: unknown;
  try {
    value = parseJsonText(text);
  } catch (error) {
    const fault = error instanceof JsonLimitError ? error.message : 'not JSON';
    return failed(`The reply of the model provider is ${fault}.`, false);
  }
  const { choices, usage } = Object(value) as { choices?: { message?: Members }[]; usage?: Members };
  const message = Array.isArray(choices) ? choices[0]?.message : undefined;
  if (typeof message !== 'object' || message === null) {
    return failed(`The reply of the model provider has no message${explanationIn(text)}`, false);
  }
  const { content } = message;
  return { reply: { content: content ?? message, usage: typeof usage === 'object' && usage ? usage : undefined } };
}

/** Returns what the body of a failed request says, to end a sentence with. */
function explanationIn(text: string): string {
  let said: unknown = text.trimStart().startsWith('<') ? '' : text.trim();
  try {
    const { error, detail, reason, message } = Object(parseJsonText(text)) as Members;
    said = (Object(error) as Members).message ?? error ?? detail ?? reason ?? message ?? '';
  } catch {
    // Plain text explains as well as JSON.
  }
  const line = (typeof said === 'string' ? said : JSON.stringify(said)).replaceAll(/[\r\n]/g, ' ');
  if (line === '') return '.';
  return line.length > maxShownChars ? `: ${line.slice(0, maxShownChars).toWellFormed()}…` : `: ${line}`;
}
