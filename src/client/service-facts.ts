import { scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import type { EndpointName } from '../contract/endpoints.ts';

const derive = promisify(scrypt) as (secret: string, salt: string, length: number) => Promise<Buffer>;

/** The facts that a client has learned about its service and account, shared by all tool calls. */
export class ServiceFacts {
  /** Operations that turned out to be missing, recorded by callers that have an alternative. */
  readonly unsupportedOperations = new Set<EndpointName>();
  /** Ids of models that inference lists. */
  readonly listedModels = new Set<string>();
  /** Scores that a service was asked for which does not tell when they are there, by project, scorer and call. */
  readonly requestedScores = new Set<string>();
  /** True for a service that applies every condition on queue items; undefined until a response tells. */
  appliesItemConditions: boolean | undefined;
  /** Name that the service gives the account in feedback; undefined until a response has it. */
  userId: string | undefined;
  /** Name that the service gives the account as the annotator of an item; it may differ from the one in feedback. */
  annotatorId: string | undefined;
  /** Milliseconds by which the clock of the service is ahead; at most a second less than it really is. */
  #clockOffsetMs = 0;

  /** Notes the time in the header of a response that has just arrived. */
  noteClock(date: string | string[] | undefined): void {
    const time = Date.parse(String(date));
    if (!Number.isNaN(time)) this.#clockOffsetMs = time - Date.now();
  }

  /**
   * Returns a time by the clock of the service, in full seconds, that is surely before a time by this machine's clock. What
   * the service stores later has a later time.
   */
  timeBefore(timeMs: number): string {
    return `${new Date(timeMs + this.#clockOffsetMs - 1000).toISOString().slice(0, 19)}Z`;
  }

  /** Returns a time by the clock of the service, in full seconds, that is surely after a time by this machine's clock. */
  timeAfter(timeMs: number): string {
    return this.timeBefore(timeMs + 3000);
  }

  /** Returns the time by the clock of the service, in full seconds. */
  now(): string {
    return this.timeBefore(Date.now() + 1000);
  }

  readonly #tags = new Map<string, Promise<string>>();

  /** Returns a tag that is derived from a secret, once for each secret. */
  tagOf(salt: string, secret: string): Promise<string> {
    const key = JSON.stringify([salt, secret]);
    const tag = this.#tags.get(key) ?? derive(secret, salt, 16).then((bytes) => bytes.toString('hex'));
    // Only the latest credentials are of use.
    this.#tags.clear();
    this.#tags.set(key, tag);
    return tag;
  }
}
