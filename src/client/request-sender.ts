import { setMaxListeners } from 'node:events';
import { setTimeout as setTimeoutPromise } from 'node:timers/promises';
import { defaultTimeoutsMs, type Endpoint, endpoints } from '../contract/endpoints.ts';
import { type ErrorCode, HeddleError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { McpCallScope, RequestEnd } from '../core/observer.ts';
import { authorization, type Connection } from './connection.ts';
import { failureOf, networkFailure, type RequestInfo } from './failures.ts';
import { HttpTransport, type TransportResponse } from './http-transport.ts';
import { fillPath } from './path.ts';
import { readResponse } from './responses.ts';
import { maxAttempts, retryDelayMs } from './retry-policy.ts';

const endpointNames = new Map<Endpoint, string>(Object.entries(endpoints).map(([name, endpoint]) => [endpoint, name]));

export interface RequestSenderOptions {
  /** Called before each call; the place where secrets are read and an embedded service is started. */
  connect: () => Promise<Connection>;
  /** Deadline of a request in milliseconds, retries included. Default 60 000. */
  timeoutMs?: number;
  /** The same for inference. Default 600 000. */
  inferenceTimeoutMs?: number;
  userAgent: string;
  log?: Log;
  /** Takes secrets out of text of the service. */
  redact?: (text: string) => string;
}

/** What goes to an endpoint. */
export interface RequestParts {
  path?: Record<string, string>;
  query?: Record<string, string | number | undefined>;
  body?: unknown;
}

/** Makes calls: a deadline over all attempts, each attempt judged by the retry policy (design §6). */
export class RequestSender {
  readonly #options: RequestSenderOptions;
  readonly #transport: HttpTransport;
  /** When the deadline of the calls began, where they share one. */
  readonly #startedAt: number | undefined;
  readonly #scope: McpCallScope | undefined;

  constructor(
    options: RequestSenderOptions,
    transport = new HttpTransport(),
    startedAt?: number,
    scope?: McpCallScope,
  ) {
    this.#options = options;
    this.#transport = transport;
    this.#startedAt = startedAt;
    this.#scope = scope;
  }

  /** Another caller over the same connections, whose calls share one deadline that begins now. */
  withSharedDeadline(scope?: McpCallScope): RequestSender {
    return new RequestSender(this.#options, this.#transport, performance.now(), scope);
  }

  /**
   * One call. `read` makes the result of a success; what it throws, unless it is a HeddleError, is a broken connection.
   * @throws HeddleError for everything that can go wrong; `cancelled` when `cancelled` was aborted.
   */
  async call<Result>(
    endpoint: Endpoint,
    parts: RequestParts,
    cancelled: AbortSignal | undefined,
    read: (answer: TransportResponse, call: RequestInfo) => Promise<Result>,
  ): Promise<Result> {
    const path = fillPath(endpoint.path, parts.path ?? {}) + queryText(parts.query);
    const { redact = (text: string) => text } = this.#options;
    const log = this.#scope?.log ?? this.#options.log;
    const call: RequestInfo = {
      operation: `${endpoint.method} ${path}`,
      endpoint: endpointNames.get(endpoint) ?? '',
      auth: endpoint.auth,
      repeatable: endpoint.repeatable,
      redact,
    };
    const timeoutMs =
      endpoint.timeout === 'inference'
        ? (this.#options.inferenceTimeoutMs ?? defaultTimeoutsMs.inference)
        : (this.#options.timeoutMs ?? defaultTimeoutsMs.tool);
    const startedAt = this.#startedAt ?? performance.now();
    const remaining = (): number => timeoutMs - (performance.now() - startedAt);
    const end = new AbortController();
    const { signal } = end;
    const onDeadline = (): void => end.abort(new DOMException('deadline', 'TimeoutError'));
    if (remaining() <= 0) onDeadline();
    const deadline = setTimeout(onDeadline, remaining());
    const onCancelled = (): void => end.abort(cancelled?.reason);
    if (cancelled?.aborted) onCancelled();
    if (cancelled) {
      // A tool may have many calls under way that end with the same signal; that is no leak to warn of.
      setMaxListeners(0, cancelled);
      cancelled.addEventListener('abort', onCancelled, { once: true });
    }
    let attempt = 1;
    try {
      const connection = await untilAborted(this.#options.connect(), signal);
      const request = this.#request(endpoint, connection, path, parts.body, signal);
      for (; ; attempt++) {
        let failure: HeddleError;
        let notSent = false;
        const observer = this.#scope?.observer?.request({
          operation: call.endpoint,
          method: endpoint.method,
          baseUrl: connection.baseUrl,
          template: endpoint.path,
          attempt,
        });
        const ended: RequestEnd = {};
        try {
          const headers = { ...request.headers, ...observer?.headers };
          const send = (): Promise<TransportResponse> => this.#transport.send({ ...request, headers });
          const answer = await (observer?.send ? observer.send(send) : send());
          ended.status = answer.status;
          log?.('debug', 'answer of the service', { operation: call.endpoint, attempt, status: answer.status });
          if (answer.status >= 200 && answer.status < 300) return await read(answer, call);
          failure = failureOf(await readResponse(answer, call), call);
        } catch (error) {
          ended.code = codeOf(error, signal);
          if (signal.aborted || error instanceof HeddleError || !isOfTheNetwork(error)) throw error;
          notSent = isUnsent(error);
          failure = networkFailure(error, call, new URL(connection.baseUrl).origin, notSent);
        } finally {
          observer?.end(ended);
        }
        const { status, retryAfterMs, code } = failure;
        const { repeatable } = endpoint;
        const outcome = { attempt, repeatable, status, notSent, retryAfterMs, remainingMs: remaining() };
        const delayMs = failure.retryable ? retryDelayMs(outcome, Math.random()) : undefined;
        if (delayMs === undefined) throw failure;
        this.#scope?.onRetry();
        const delay_ms = Math.round(delayMs);
        log?.('info', 'sending again', { operation: call.endpoint, attempt, of: maxAttempts, delay_ms, code });
        await setTimeoutPromise(delayMs, undefined, { signal });
      }
    } catch (error) {
      // Why a call ended is known by the signals, not by whichever error the interrupted work happened to throw.
      const known = error instanceof HeddleError ? error : undefined;
      if (cancelled?.aborted) throw cancelledCall(call, known?.partialText);
      // A failure that the service had told of before the time was over says more than that it was over.
      if (signal.aborted && !(known?.status !== undefined && known.status >= 300)) {
        throw timedOut(call, timeoutMs, attempt, known?.partialText);
      }
      throw error;
    } finally {
      clearTimeout(deadline);
      cancelled?.removeEventListener('abort', onCancelled);
    }
  }

  #request(endpoint: Endpoint, connection: Connection, path: string, body: unknown, signal: AbortSignal) {
    return {
      method: endpoint.method,
      url: connection.baseUrl + path,
      headers: {
        authorization: authorization(connection, endpoint.auth),
        accept: 'application/json, text/event-stream, application/x-ndjson',
        'user-agent': this.#options.userAgent,
        ...this.#scope?.headers,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
    };
  }

  /** The user name that goes with calls of the Basic scheme. */
  async username(): Promise<string | undefined> {
    return (await this.#options.connect()).basic?.username;
  }

  /** Loads what the first call will need, so that it is not slower than the others. */
  async warmUp(): Promise<void> {
    const [{ baseUrl }] = await Promise.all([this.#options.connect(), this.#transport.warmUp()]);
    if (baseUrl.startsWith('https:')) await import('node:tls');
  }

  /** Ends every connection. */
  close(): Promise<void> {
    return this.#transport.close();
  }
}

function queryText(query: RequestParts['query'] = {}): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, String(value));
  return given.size === 0 ? '' : `?${given}`;
}

function cancelledCall(call: RequestInfo, partialText: string | undefined): HeddleError {
  return new HeddleError({
    code: 'cancelled',
    message: `${call.operation} was cancelled.`,
    hint: 'Nothing to do.',
    partialText,
  });
}

function timedOut(call: RequestInfo, timeoutMs: number, attempt: number, partialText: string | undefined): HeddleError {
  const last = attempt === 1 ? '' : `, in attempt ${attempt}`;
  return new HeddleError({
    code: 'timeout',
    message: `${call.operation} had no complete answer within ${timeoutMs} ms${last}.`,
    hint: call.repeatable
      ? 'Try again, ask for less at once, or raise HEDDLE_TIMEOUT_MS.'
      : 'The service may have carried it out all the same: check before you send it again, or raise HEDDLE_INFERENCE_TIMEOUT_MS.',
    retryable: true,
    partialText,
  });
}

/** Sockets, names and certificates fail with a code, what is no HTTP with a name; the rest is a fault of this program. */
function isOfTheNetwork(error: unknown): boolean {
  const { code, name } = error as NodeJS.ErrnoException;
  return code !== undefined || name === 'HTTPParserError';
}

/** The code of an attempt that was cut short, before it is known what becomes of the call. */
function codeOf(error: unknown, signal: AbortSignal): ErrorCode {
  if (signal.aborted) return (signal.reason as Error | undefined)?.name === 'TimeoutError' ? 'timeout' : 'cancelled';
  if (error instanceof HeddleError) return error.code;
  return isOfTheNetwork(error) ? 'network' : 'internal';
}

/** Whether the failure shows that no connection came about. */
function isUnsent(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  return ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'].includes(
    code,
  );
}

function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
