import { setTimeout as delay } from 'node:timers/promises';
import { defaultTimeoutsMs, type Endpoint } from '../contract/endpoint.ts';
import { endpoints } from '../contract/endpoints.ts';
import { type ErrorCode, HeddleError } from '../core/errors.ts';
import { abortable } from '../core/http/abortable.ts';
import { HttpClient, type HttpRequest, type HttpResponse, networkCode, unsentCodes } from '../core/http/http-client.ts';
import type { ProxySettings } from '../core/http/proxies.ts';
import { exactJson } from '../core/json/exact-number.ts';
import type { Log } from '../core/log.ts';
import type { McpCallScope, RequestEnd } from '../core/observer.ts';
import type { SecretSearch } from '../core/secrets/secret-search.ts';
import { nextTurn, type Pause } from '../core/turns.ts';
import { addressOf, authorization, type Connection, type EndpointAddress } from './connection.ts';
import { Deadline } from './deadline.ts';
import { cancellation, failureOf, networkFailure, overdueWork, type RequestInfo, timeoutFailure } from './failures.ts';
import { fillPath } from './fill-path.ts';
import { type ReadResult, readResponse } from './read-response.ts';
import { maxAttempts, retryDelayMs } from './retry-policy.ts';

const endpointNames = new Map<Endpoint, string>(Object.entries(endpoints).map(([name, endpoint]) => [endpoint, name]));

/** Maximum number of connections to the service; further requests wait for one. */
const maxConnections = 32;

export interface RequestSenderOptions {
  /** Called before each request; reads the credentials, or starts the embedded service on first use. */
  connect: () => Promise<Connection>;
  /** Time limit in milliseconds, retries included, for a single request, or for all requests of one tool call together. Default 60 000. */
  timeoutMs?: number;
  /** Time limit of an inference request in milliseconds. Default 600 000. */
  inferenceTimeoutMs?: number;
  userAgent: string;
  /** Proxies for the service. None by default. */
  proxies?: ProxySettings | undefined;
  log?: Log;
  /** Removes secrets from text that the service sent. */
  redact?: (text: string) => string;
  /** The same for text that may end inside of a secret. */
  redactCut?: (text: string) => string | Promise<string>;
  /** Removes secrets from results, before anything cuts them. Calls `pause` between the steps of long work. */
  redactValue?: <T>(value: T, pause: Pause) => Promise<T>;
  /** Returns a search in the JSON of a response. If it finds nothing, `redactValue` is not called. */
  searchSecrets?: () => SecretSearch;
}

/** Values for the path, the query and the body of an endpoint, and further headers. A body of bytes has its own content type. */
export interface RequestParts {
  path?: Record<string, string>;
  query?: Record<string, string | number | readonly string[] | undefined>;
  body?: unknown;
  headers?: Record<string, string>;
}

/**
 * Reads the result from a successful response. It calls `pause` between the steps of its work on a response that has arrived,
 * `pauseInStream` on a part of one, which ends it at the deadline. An error of the network counts as a broken connection.
 */
type ResponseReader<Result> = (
  response: HttpResponse,
  info: RequestInfo,
  pause: Pause,
  pauseInStream: Pause,
) => Promise<ReadResult<Result>>;

/** The tool call that a request belongs to; its requests share one deadline. */
interface ToolCall {
  startedAtMs: number;
  /** True once one of its requests has missed the deadline. */
  missedDeadline: boolean;
  scope: McpCallScope | undefined;
}

/** A request and the state of its attempts. */
interface PendingRequest {
  endpoint: Endpoint;
  info: RequestInfo;
  parts: RequestParts;
  /** The path below the base address, with the query. */
  path: string;
  deadline: Deadline;
  /** True once a whole response has arrived. */
  isAnswered: boolean;
  /** Number of the current attempt; 1 for the first. */
  attempt: number;
}

interface FailedAttempt {
  failure: HeddleError;
  /** True if the request cannot have reached the service. */
  notSent: boolean;
}

/** Sends requests to the service: one deadline across all attempts, and a retry policy that judges each attempt. */
export class RequestSender {
  readonly #options: RequestSenderOptions;
  readonly #httpClient: HttpClient;
  readonly #toolCall: ToolCall | undefined;

  constructor(options: RequestSenderOptions, httpClient?: HttpClient, toolCall?: ToolCall) {
    this.#options = options;
    this.#httpClient = httpClient ?? new HttpClient({ maxConnections, proxies: options.proxies });
    this.#toolCall = toolCall;
  }

  /** Returns a sender over the same connections, whose requests share one deadline that begins now. */
  forToolCall(scope?: McpCallScope): RequestSender {
    return new RequestSender(this.#options, this.#httpClient, {
      startedAtMs: performance.now(),
      missedDeadline: false,
      scope,
    });
  }

  /**
   * Sends a request, repeats it as the retry policy allows, and reads the response.
   * @throws HeddleError for every failure of the service or the network; `cancelled` if `signal` was aborted.
   */
  async send<Result>(
    endpoint: Endpoint,
    parts: RequestParts,
    signal: AbortSignal | undefined,
    read: ResponseReader<Result>,
  ): Promise<Result> {
    const pending = this.#prepare(endpoint, parts, signal);
    try {
      const connection = await abortable(this.#options.connect(), pending.deadline.signal);
      const address = addressOf(endpoint, connection);
      if (address.template !== endpoint.path) {
        pending.path = filledPath(address.template, parts);
        pending.info.requestLine = `${endpoint.method} ${pending.path}`;
      }
      pending.info.setting = address.setting;
      const request = this.#httpRequest(pending, connection, address);
      for (;;) {
        const outcome = await this.#attempt(pending, address, request, read);
        if ('result' in outcome) {
          const { redactValue } = this.#options;
          if (!redactValue || outcome.isClean) return outcome.result;
          const pause: Pause = () => markAnsweredAndPause(pending);
          await pause();
          return await redactValue(outcome.result, pause);
        }
        await this.#waitForRetry(pending, outcome);
        pending.attempt += 1;
      }
    } catch (error) {
      if (this.#toolCall && pending.deadline.abortCode === 'timeout') this.#toolCall.missedDeadline = true;
      throw finalError(error, pending);
    } finally {
      pending.deadline.clear();
    }
  }

  /**
   * Lets other work run. A tool that only reads calls it between the steps of long work on what it has read.
   * @throws HeddleError `timeout` when the time of the tool call is over, `cancelled` if `signal` was aborted.
   */
  async pause(signal: AbortSignal | undefined): Promise<void> {
    await nextTurn();
    signal?.throwIfAborted();
    if (this.remainingMs <= 0) throw overdueWork(this.#timeoutMs);
  }

  get #timeoutMs(): number {
    return this.#options.timeoutMs ?? defaultTimeoutsMs.tool;
  }

  /** Milliseconds until the deadline of the tool call; outside a tool call, the time limit of one request. */
  get remainingMs(): number {
    const { startedAtMs = performance.now() } = this.#toolCall ?? {};
    return this.#timeoutMs - (performance.now() - startedAtMs);
  }

  /** True once a request of the tool call has missed the deadline. */
  get missedDeadline(): boolean {
    return this.#toolCall?.missedDeadline ?? false;
  }

  #prepare(endpoint: Endpoint, parts: RequestParts, signal: AbortSignal | undefined): PendingRequest {
    const { inferenceTimeoutMs, redact = (text) => text, redactCut = redact, searchSecrets } = this.#options;
    const path = filledPath(endpoint.path, parts);
    const info: RequestInfo = {
      requestLine: `${endpoint.method} ${path}`,
      endpointName: endpointNames.get(endpoint) ?? '',
      auth: endpoint.auth,
      repeatable: endpoint.repeatable && (endpoint.repeatableWith?.safeParse(parts.body).success ?? true),
      redact,
      redactCut,
      searchSecrets,
    };
    const limitsMs = {
      tool: this.#timeoutMs,
      inference: inferenceTimeoutMs ?? defaultTimeoutsMs.inference,
    };
    const startedAtMs = this.#toolCall?.startedAtMs ?? performance.now();
    const deadline = new Deadline(limitsMs[endpoint.timeout ?? 'tool'], startedAtMs, signal);
    return { endpoint, info, parts, path, deadline, isAnswered: false, attempt: 1 };
  }

  #httpRequest(
    { endpoint, parts, path, deadline }: PendingRequest,
    connection: Connection,
    { baseUrl }: EndpointAddress,
  ): HttpRequest {
    const { body, headers } = parts;
    return {
      method: endpoint.method,
      url: baseUrl + path,
      headers: {
        authorization: authorization({ ...connection, baseUrl }, endpoint.auth),
        accept: 'application/json, text/event-stream, application/x-ndjson',
        'user-agent': this.#options.userAgent,
        ...this.#toolCall?.scope?.headers,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined || body instanceof Uint8Array ? body : exactJson(body),
      signal: deadline.signal,
    };
  }

  /** Sends a request once. Returns a failure for the retry policy to judge; throws errors that must not be retried. */
  async #attempt<Result>(
    pending: PendingRequest,
    { baseUrl, template }: EndpointAddress,
    request: HttpRequest,
    read: ResponseReader<Result>,
  ): Promise<ReadResult<Result> | FailedAttempt> {
    const { endpoint, info, attempt, deadline } = pending;
    const { endpointName: operation } = info;
    const { method } = endpoint;
    const observer = this.#toolCall?.scope?.observer?.request({ operation, method, baseUrl, template, attempt });
    const end: RequestEnd = {};
    try {
      const headers = { ...request.headers, ...observer?.headers };
      const send = (): Promise<HttpResponse> => this.#httpClient.send({ ...request, headers });
      const response = await (observer?.send ? observer.send(send) : send());
      end.status = response.status;
      this.#log('debug', 'response of the service', { operation, attempt, status: response.status });
      if (response.status >= 200 && response.status < 300) {
        const pause = () => markAnsweredAndPause(pending);
        return await read(response, info, pause, () => deadline.pause());
      }
      return { failure: failureOf(await readResponse(response, info), info), notSent: false };
    } catch (error) {
      end.code = deadline.abortCode ?? errorCodeOf(error);
      if (error instanceof HeddleError || end.code !== 'network') throw error;
      const notSent = unsentCodes.has(networkCode(error) ?? '');
      return { failure: networkFailure(error, info, new URL(baseUrl).origin, notSent), notSent };
    } finally {
      observer?.end(end);
    }
  }

  /** Waits until the next attempt. Throws the failure if no attempt is left. */
  async #waitForRetry({ info, attempt, deadline }: PendingRequest, { failure, notSent }: FailedAttempt): Promise<void> {
    const { status, retryAfterMs, code } = failure;
    const { repeatable, endpointName: operation } = info;
    const outcome = { attempt, repeatable, status, notSent, retryAfterMs, remainingMs: deadline.remainingMs };
    const delayMs = failure.retryable ? retryDelayMs(outcome, Math.random()) : undefined;
    if (delayMs === undefined) throw failure;
    this.#toolCall?.scope?.onRetry();
    this.#log('info', 'retrying', { operation, attempt, of: maxAttempts, delay_ms: Math.round(delayMs), code });
    await delay(delayMs, undefined, { signal: deadline.signal });
  }

  #log(level: 'debug' | 'info', message: string, fields: Record<string, unknown>): void {
    const log = this.#toolCall?.scope?.log ?? this.#options.log;
    log?.(level, message, fields);
  }

  /** Returns the address and the credentials that the next request will use. */
  connection(): Promise<Connection> {
    return this.#options.connect();
  }

  /** Closes every connection. */
  close(): void {
    this.#httpClient.close();
  }
}

/**
 * Lets other work run once a response has arrived, and ends a request at its deadline. A request that must not be repeated may
 * have had its effect, so its response is read to the end even past the deadline.
 */
async function markAnsweredAndPause(pending: PendingRequest): Promise<void> {
  pending.isAnswered = true;
  await (pending.info.repeatable ? pending.deadline.pause() : nextTurn());
}

/** Returns the path below the base address, with the query. */
function filledPath(template: string, { path, query }: RequestParts): string {
  return fillPath(template, path ?? {}) + queryString(query);
}

function queryString(query: RequestParts['query'] = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    // A list is the same parameter several times.
    for (const element of Array.isArray(value) ? value : [value]) {
      if (element !== undefined) parameters.append(name, String(element));
    }
  }
  return parameters.size === 0 ? '' : `?${parameters}`;
}

/** Returns the error for the caller: cancellation or timeout instead of the error of the interrupted work. */
function finalError(error: unknown, { endpoint, info, deadline, attempt, isAnswered }: PendingRequest): unknown {
  const { status, partialText }: Partial<HeddleError> = error instanceof HeddleError ? error : {};
  if (deadline.abortCode === 'cancelled') return cancellation(info, partialText);
  // An error status that the service sent before the deadline explains more than the deadline.
  const reported = status !== undefined && status >= 300;
  if (deadline.abortCode !== 'timeout' || reported) return error;
  const setting = endpoint.timeout === 'inference' ? 'HEDDLE_INFERENCE_TIMEOUT_MS' : 'HEDDLE_TIMEOUT_MS';
  return timeoutFailure(info, {
    timeoutMs: deadline.timeoutMs,
    timeoutSetting: setting,
    attempt,
    isAnswered,
    partialText,
  });
}

/** Returns the code of an error: that of a failed request, or `internal`. */
function errorCodeOf(error: unknown): ErrorCode {
  if (error instanceof HeddleError) return error.code;
  return networkCode(error) === undefined ? 'internal' : 'network';
}
