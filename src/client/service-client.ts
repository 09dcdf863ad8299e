import type { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import type * as z from 'zod';
import type { CreateEvaluationRequest, CreateEvaluationResponse } from '../contract/create-evaluation.ts';
import { type Endpoint, endpoints } from '../contract/endpoints.ts';
import { errorDetails, HeddleError } from '../contract/errors.ts';
import type { ListModelsResponse } from '../contract/list-models.ts';
import type { Log } from '../contract/log.ts';
import { splitProjectId } from '../contract/path-segments.ts';
import type { QueryQueueItemsRequest, QueryQueueItemsResponse } from '../contract/query-queue-items.ts';
import type { InferenceRequest, InferenceResponse } from '../contract/run-inference.ts';
import { authorization, type Connection } from './connection.ts';
import { eventData } from './event-stream.ts';
import { type Answer, badResponse, type CallInfo, failureOf, networkFailure } from './failures.ts';
import { fillPath } from './path.ts';
import { ReplyAssembly } from './reply-assembly.ts';
import { maxAttempts, retryDelayMs } from './retry-policy.ts';
import { Transport, type TransportAnswer } from './transport.ts';

/** Largest answer that is taken, in bytes after decoding; the service's own limit for requests is the same. */
const maxAnswerBytes = 32 * 1024 * 1024;
/** Largest error body that is read, in bytes. */
const maxErrorBytes = 64 * 1024;
const defaultTimeoutMs = 60_000;
const defaultInferenceTimeoutMs = 600_000;

export interface ServiceClientOptions {
  /** Called before each call; the place where secrets are read and an embedded service is started. */
  connect: () => Promise<Connection>;
  /** Deadline of every call in milliseconds, retries included. Default 60 000; 600 000 for inference. */
  timeoutMs?: number;
  /** Longest silence of a streamed reply in milliseconds. */
  idleTimeoutMs?: number;
  userAgent: string;
  log?: Log;
  /** Takes secrets out of text of the service. */
  redact?: (text: string) => string;
}

export interface CallOptions {
  /** Ends the call; the request at the service is aborted with it. */
  signal?: AbortSignal;
}

export interface InferenceOptions extends CallOptions {
  /** Called with the text received so far, for each piece of a streamed reply. */
  onText?: (text: string) => void;
}

/** The service's operations, one method each. Every failure is a {@link HeddleError}. */
export class ServiceClient {
  readonly #options: ServiceClientOptions;
  readonly #transport = new Transport();

  constructor(options: ServiceClientOptions) {
    this.#options = options;
  }

  /** Items of one annotation queue (interface 4.1). */
  queryQueueItems(
    queueId: string,
    body: QueryQueueItemsRequest,
    options: CallOptions = {},
  ): Promise<QueryQueueItemsResponse> {
    return this.#json(endpoints.queryQueueItems, { queue_id: queueId }, body, options);
  }

  /** Creates an evaluation definition, or finds the version with the same content (interface 4.3). */
  createEvaluation(
    projectId: string,
    body: CreateEvaluationRequest,
    options: CallOptions = {},
  ): Promise<CreateEvaluationResponse> {
    return this.#json(endpoints.createEvaluation, splitProjectId(projectId), body, options);
  }

  /** Models that inference offers. */
  listModels(options: CallOptions = {}): Promise<ListModelsResponse> {
    return this.#json(endpoints.listModels, {}, undefined, options);
  }

  /**
   * Sends an inference request to a path below the inference prefix (interface 4.2). With `stream: true` the streamed
   * reply is put together; a stream that breaks is an error that carries the text received so far.
   */
  runInference(path: string, body: InferenceRequest, options: InferenceOptions = {}): Promise<InferenceResponse> {
    return this.#call(endpoints.runInference, { path }, body, options, async (answer, call) => {
      const streamed = String(answer.headers['content-type'] ?? '').startsWith('text/event-stream');
      return streamed
        ? this.#assemble(answer, call, options.onText)
        : readJson(endpoints.runInference, await readAnswer(answer, maxAnswerBytes, call), call);
    });
  }

  /** Loads what the first call will need, so that it is not slower than the others. */
  async warmUp(): Promise<void> {
    await Promise.all([this.#options.connect(), this.#transport.warmUp()]);
  }

  /** Ends every connection. */
  close(): Promise<void> {
    return this.#transport.close();
  }

  #json<Response extends z.ZodType>(
    endpoint: Endpoint<z.ZodType, Response>,
    pathValues: Record<string, string>,
    body: unknown,
    options: CallOptions,
  ): Promise<z.output<Response>> {
    return this.#call(endpoint, pathValues, body, options, async (answer, call) =>
      readJson(endpoint, await readAnswer(answer, maxAnswerBytes, call), call),
    );
  }

  /** One call: a deadline over all attempts, each attempt judged by the retry policy, the answer read by `read`. */
  async #call<Result>(
    endpoint: Endpoint,
    pathValues: Record<string, string>,
    body: unknown,
    { signal: cancelled }: CallOptions,
    read: (answer: TransportAnswer, call: CallInfo) => Promise<Result>,
  ): Promise<Result> {
    const path = fillPath(endpoint.path, pathValues);
    const { log, redact = (text: string) => text, userAgent } = this.#options;
    const call: CallInfo = { operation: `${endpoint.method} ${path}`, auth: endpoint.auth, redact };
    const timeoutMs =
      this.#options.timeoutMs ?? (endpoint === endpoints.runInference ? defaultInferenceTimeoutMs : defaultTimeoutMs);
    const startedAt = performance.now();
    const deadline = AbortSignal.timeout(timeoutMs);
    const signal = cancelled ? AbortSignal.any([cancelled, deadline]) : deadline;
    // Why a call ended is known by the signals, not by whichever error the interrupted work happened to throw.
    const interrupted = (): HeddleError | undefined =>
      cancelled?.aborted
        ? new HeddleError({ code: 'cancelled', message: `${call.operation} was cancelled.`, hint: 'Nothing to do.' })
        : deadline.aborted
          ? timedOut(call, timeoutMs, endpoint.repeatable)
          : undefined;

    try {
      const connection = await untilAborted(this.#options.connect(), signal);
      const headers: Record<string, string> = {
        authorization: authorization(connection, endpoint.auth),
        accept: 'application/json, text/event-stream',
        'user-agent': userAgent,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      };
      const request = {
        method: endpoint.method,
        url: connection.baseUrl + path,
        headers,
        body: body === undefined ? undefined : JSON.stringify(body),
        signal,
      };
      for (let attempt = 1; ; attempt++) {
        const remainingMs = timeoutMs - (performance.now() - startedAt);
        let failure: HeddleError;
        let notSent = false;
        try {
          const answer = await this.#transport.send(request);
          log?.('debug', 'answer of the service', { call: call.operation, attempt, status: answer.status });
          if (answer.status >= 200 && answer.status < 300) return await read(answer, call);
          failure = failureOf(await readAnswer(answer, maxErrorBytes, call), call);
        } catch (error) {
          if (signal.aborted || error instanceof HeddleError) throw error;
          failure = networkFailure(error, call, new URL(connection.baseUrl).origin);
          notSent = isUnsent(error);
        }
        const delayMs = failure.retryable
          ? retryDelayMs(
              {
                attempt,
                repeatable: endpoint.repeatable,
                status: failure.status,
                notSent,
                retryAfterMs: failure.retryAfterMs,
                remainingMs,
              },
              Math.random(),
            )
          : undefined;
        if (delayMs === undefined) throw failure;
        log?.('info', 'sending again', { call: call.operation, attempt, of: maxAttempts, delayMs, code: failure.code });
        await setTimeout(delayMs, undefined, { signal });
      }
    } catch (error) {
      throw partial(interrupted(), error) ?? error;
    }
  }

  /** Reads a streamed reply to its end. Whatever ends it early is an error that carries the text so far. */
  async #assemble(
    answer: TransportAnswer,
    call: CallInfo,
    onText: ((text: string) => void) | undefined,
  ): Promise<InferenceResponse> {
    const assembly = new ReplyAssembly();
    const { idleTimeoutMs = 120_000 } = this.#options;
    const fail = (code: 'network' | 'timeout' | 'bad_response' | 'service_unavailable', reason: string): HeddleError =>
      new HeddleError({
        code,
        message: `The streamed reply to ${call.operation} ${reason}`,
        hint: 'partial_text is what had arrived. Sending the call again asks the model again, and is paid again.',
        status: answer.status,
        retryable: code !== 'bad_response',
        partialText: assembly.text,
      });
    let stalled = false;
    const idle = globalThis.setTimeout(() => {
      stalled = true;
      answer.body.destroy(new Error('idle'));
    }, idleTimeoutMs);
    try {
      for await (const data of eventData(answer.body)) {
        idle.refresh();
        if (data === '[DONE]') return assembly.reply();
        let chunk: unknown;
        try {
          chunk = JSON.parse(data);
        } catch {
          throw fail('bad_response', 'has an event that is not JSON.');
        }
        if (typeof chunk !== 'object' || chunk === null) throw fail('bad_response', 'has an event that is no object.');
        if ('error' in chunk && chunk.error) {
          const said = failureOf({ status: answer.status, headers: {}, body: data }, call).message;
          throw fail('service_unavailable', `was ended by the service: ${said.slice(said.indexOf(': ') + 2)}`);
        }
        assembly.add(chunk as Record<string, unknown>);
        onText?.(assembly.text);
      }
    } catch (error) {
      if (error instanceof HeddleError) throw error;
      if (stalled) throw fail('timeout', `stood still for ${idleTimeoutMs} ms.`);
      throw fail('network', `broke: ${call.redact((error as Error).message)}.`);
    } finally {
      clearTimeout(idle);
      answer.body.destroy();
    }
    if (assembly.finished) return assembly.reply();
    throw fail('network', 'ended before it was finished.');
  }
}

/** Gives the error of a signal the text that an interrupted stream had received. */
function partial(interrupted: HeddleError | undefined, error: unknown): HeddleError | undefined {
  if (!interrupted || !(error instanceof HeddleError) || error.partialText === undefined) return interrupted;
  return new HeddleError({ ...interrupted, message: interrupted.message, partialText: error.partialText });
}

function timedOut(call: CallInfo, timeoutMs: number, repeatable: boolean): HeddleError {
  return new HeddleError({
    code: 'timeout',
    message: `${call.operation} had no complete answer within ${timeoutMs} ms.`,
    hint: repeatable
      ? 'Try again, ask for less at once, or raise HEDDLE_TIMEOUT_MS.'
      : 'The service may have carried it out all the same: check before you send it again, or raise HEDDLE_TIMEOUT_MS.',
    retryable: true,
  });
}

/** Whether the failure shows that no connection came about. */
function isUnsent(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  return ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'].includes(
    code,
  );
}

async function readAnswer(answer: TransportAnswer, limit: number, call: CallInfo): Promise<Answer> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of answer.body as Readable & AsyncIterable<Buffer>) {
    size += part.length;
    if (size > limit) {
      answer.body.destroy();
      if (answer.status >= 300) break;
      throw new HeddleError({
        code: 'too_large',
        message: `The answer to ${call.operation} is larger than ${limit} bytes.`,
        hint: 'Ask for less at once.',
        status: answer.status,
      });
    }
    parts.push(part);
  }
  return { status: answer.status, headers: answer.headers, body: Buffer.concat(parts).toString('utf8') };
}

function readJson<Response extends z.ZodType>(
  endpoint: Endpoint<z.ZodType, Response>,
  answer: Answer,
  call: CallInfo,
): z.output<Response> {
  let value: unknown;
  try {
    value = JSON.parse(answer.body);
  } catch {
    throw badResponse(answer, call, 'the body is not JSON');
  }
  const checked = endpoint.response.safeParse(value);
  if (checked.success) return checked.data;
  throw badResponse(
    answer,
    call,
    'the body has another shape than the interface',
    errorDetails(checked.error, 'response'),
  );
}

function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const abort = (): void => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
