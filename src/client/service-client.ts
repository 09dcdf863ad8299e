import type { Endpoint } from '../contract/endpoint.ts';
import { type CallParts, type EndpointName, endpoints, type ResultOf } from '../contract/endpoints.ts';
import type { McpCallScope } from '../core/observer.ts';
import { readResult } from './read-response.ts';
import { type RequestParts, RequestSender, type RequestSenderOptions } from './request-sender.ts';
import { ServiceFacts } from './service-facts.ts';
import { readStreamedReply } from './stream/streamed-reply.ts';

const defaultIdleTimeoutMs = 120_000;

export interface ServiceClientOptions extends RequestSenderOptions {
  /** Maximum silence of a streamed reply in milliseconds, after its first byte. Default 120 000. */
  idleTimeoutMs?: number;
}

export interface RequestOptions {
  /** Cancels the request, also at the service, instead of the client's own signal. */
  signal?: AbortSignal;
  /** `entity/project` that inference is attributed to. Left out if a header cannot carry it. */
  project?: string;
  /** Called for each piece of a streamed reply, with the text of the first choice so far. */
  onText?: (text: string) => void;
  /** Called for each piece of a streamed reply, with the number of characters so far, including reasoning and tool calls. */
  onProgress?: (characters: number) => void;
}

/** Calls the operations of the service, which docs/interface.md describes. Every failure is a HeddleError. */
export class ServiceClient {
  readonly #options: ServiceClientOptions;
  readonly #sender: RequestSender;
  readonly facts: ServiceFacts;
  /** Cancels every request of this client, also at the service. */
  readonly signal: AbortSignal | undefined;

  constructor(
    options: ServiceClientOptions,
    sender = new RequestSender(options),
    facts = new ServiceFacts(),
    signal?: AbortSignal,
  ) {
    this.#options = options;
    this.#sender = sender;
    this.facts = facts;
    this.signal = signal;
  }

  /** Returns a client over the same connections for one tool call, whose requests share one deadline that begins now. */
  forToolCall(scope?: McpCallScope): ServiceClient {
    return new ServiceClient(this.#options, this.#sender.forToolCall(scope), this.facts, this.signal);
  }

  /** Returns the same client with requests that `signal` cancels; with `undefined`, nothing cancels them. */
  withSignal(signal: AbortSignal | undefined): ServiceClient {
    return new ServiceClient(this.#options, this.#sender, this.facts, signal);
  }

  /**
   * Calls an operation of the service and returns the value of its response; a list if the response has lines, a `Blob` if it
   * is a file. After a failure, feedback and starts of calls are sent again only if they have an `id`. A streamed reply of
   * `runInference` is assembled; if the stream breaks, the error holds the text that had arrived.
   * @param parts the values for the path, the query and the body.
   * @example
   * const { items } = await client.call('queryQueueItems', { path: { queue_id }, body: { project_id, limit: 20 } });
   */
  async call<Name extends EndpointName>(
    name: Name,
    parts: CallParts<Name>,
    { signal = this.signal, project, ...callbacks }: RequestOptions = {},
  ): Promise<ResultOf<Name>> {
    const endpoint: Endpoint = endpoints[name];
    const { path, query, body } = parts as RequestParts;
    const content = endpoint.form ? await encodeForm(body as FormFields) : { body };
    // Names of projects may have characters beyond ASCII.
    const isNamed = endpoint.auth === 'bearer' && project !== undefined && /^[\x21-\x7e]+$/.test(project);
    const headers = { ...content.headers, ...(isNamed && { 'openai-project': project }) };
    const request = { path, query, body: content.body, headers };
    const result = await this.#sender.send(endpoint, request, signal, async (response, info, pause, pauseInStream) => {
      const isStream = /^text\/event-stream\b/i.test(String(response.headers['content-type'] ?? ''));
      if (name === 'runInference' && isStream) {
        const { idleTimeoutMs = defaultIdleTimeoutMs } = this.#options;
        const streamOptions = { idleTimeoutMs, pause: pauseInStream, ...callbacks };
        return { result: await readStreamedReply(response, info, streamOptions), isClean: false };
      }
      // Inference may be another server.
      if (endpoint.auth === 'basic') this.facts.noteClock(response.headers.date);
      return readResult(endpoint, response, info, pause);
    });
    return result as ResultOf<Name>;
  }

  /**
   * Returns a string that only this account at this service has, for ids of what it stores. It is derived from the password
   * by a slow function, so that it does not help to guess it.
   */
  async accountTag(): Promise<string> {
    const { baseUrl, basic, userId } = await this.#sender.connection();
    this.facts.userId ??= userId;
    // A known account needs no secret.
    if (userId !== undefined || !basic) return JSON.stringify([baseUrl, userId]);
    return this.facts.tagOf(JSON.stringify([baseUrl, basic.username]), basic.password);
  }

  /**
   * Lets other work run. Read-only tools call this between the steps of lengthy work on what they have read.
   * @throws HeddleError `timeout` when the time of the tool call is over, `cancelled` if the client's signal was aborted.
   */
  pause(): Promise<void> {
    return this.#sender.pause(this.signal);
  }

  /** Milliseconds until the deadline of the tool call. */
  get remainingMs(): number {
    return this.#sender.remainingMs;
  }

  /** True once a request of the tool call has missed the deadline. */
  get missedDeadline(): boolean {
    return this.#sender.missedDeadline;
  }

  /** Closes every connection. Requests in progress fail with `cancelled`. */
  close(): void {
    this.#sender.close();
  }
}

type FormFields = Record<string, string | Blob>;

/** Encodes a form with a file (multipart/form-data). */
async function encodeForm(fields: FormFields): Promise<Pick<RequestParts, 'body' | 'headers'>> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  const encoded = new Response(form);
  return {
    body: new Uint8Array(await encoded.arrayBuffer()),
    headers: { 'content-type': encoded.headers.get('content-type') ?? '' },
  };
}
