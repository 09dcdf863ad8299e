import { HttpClient, networkCode, readBody } from '../../core/http/http-client.ts';
import type { ProxySettings } from '../../core/http/proxies.ts';
import { exactJson } from '../../core/json/exact-number.ts';
import { parseJsonText } from '../../core/json/parse-json.ts';
import { digestOf } from '../storage/digest.ts';

/** Programs of the user that score, with their addresses by name. */
export interface ScorerEndpointsOptions {
  addresses: ReadonlyMap<string, string>;
  /** Proxies for the requests. None by default. */
  proxies?: ProxySettings | undefined;
}

/** Largest reply, and longest time for one. */
const maxReplyBytes = 1024 * 1024;
const replyTimeoutMs = 60_000;

/** Says why an endpoint gave no score. The message has no address, which may have a secret. */
export class NoEndpointReply extends Error {}

/** Asks programs of the user for scores, at the addresses that the settings name and at no others. */
export class ScorerEndpoints {
  readonly #addresses: ReadonlyMap<string, string>;
  readonly #httpClient: HttpClient;

  constructor({ addresses, proxies }: ScorerEndpointsOptions = { addresses: new Map() }) {
    this.#addresses = addresses;
    this.#httpClient = new HttpClient({ proxies });
  }

  /** Identifies the addresses, so that only processes with the same ones work on a run; empty if there are none. */
  get identity(): string {
    return this.#addresses.size === 0 ? '' : digestOf(JSON.stringify([...this.#addresses].sort()));
  }

  /** Returns whether the settings name an endpoint. */
  has(name: string): boolean {
    return this.#addresses.has(name);
  }

  /**
   * Sends a row and its output as JSON, and returns the JSON of the reply, which is the score. Nothing is sent twice.
   * @throws NoEndpointReply when there is none, the reason of `signal` when it is aborted.
   */
  async ask(name: string, body: object, signal: AbortSignal): Promise<unknown> {
    const url = this.#addresses.get(name);
    if (url === undefined) throw new NoEndpointReply(`The settings of the service name no endpoint ${name}.`);
    const deadline = AbortSignal.timeout(replyTimeoutMs);
    const headers = { 'Content-Type': 'application/json', Accept: 'application/json' };
    const request = { method: 'POST', url, headers, body: exactJson(body) } as const;
    try {
      const { status, body: received } = await this.#httpClient.send({
        ...request,
        signal: AbortSignal.any([signal, deadline]),
      });
      const { bytes, error } = await readBody(received, maxReplyBytes);
      signal.throwIfAborted();
      if (error instanceof RangeError) throw new NoEndpointReply(`The reply of the endpoint ${name} is over 1 MiB.`);
      if (error) throw new NoEndpointReply(`The endpoint ${name} broke off its reply.`);
      if (status !== 200) throw new NoEndpointReply(`The endpoint ${name} responded with status ${status}.`);
      return parseJsonText(bytes.toString());
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof NoEndpointReply) throw error;
      if (deadline.aborted) {
        throw new NoEndpointReply(`The endpoint ${name} did not reply within ${replyTimeoutMs / 1000} s.`);
      }
      if (error instanceof SyntaxError) {
        throw new NoEndpointReply(`The reply of the endpoint ${name} is no JSON that can be read.`);
      }
      throw new NoEndpointReply(`The endpoint ${name} cannot be reached (${networkCode(error) ?? 'no connection'}).`);
    }
  }
}
