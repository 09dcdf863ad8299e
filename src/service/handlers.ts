import type { ServerResponse } from 'node:http';
import type * as z from 'zod';
import type { Endpoint, EndpointName, endpoints } from '../contract/endpoints.ts';
import type { Database } from './database.ts';
import { answerAsEcho, echoModels } from './echo-model.ts';
import { createEvaluation } from './evaluations.ts';
import { effectiveMessages } from './inference.ts';
import { queryQueueItems } from './queue-items.ts';
import type { Upstream } from './upstream.ts';

/** What handlers work with. */
export interface Context {
  database: Database;
  upstream: Upstream | undefined;
}

type BodyOf<Name extends EndpointName> =
  (typeof endpoints)[Name] extends Endpoint<infer Request, z.ZodType> ? z.output<Request> : never;

/** A request that passed authorization and validation. */
export interface Call<Name extends EndpointName> {
  /** Name of the account that calls. */
  account: string;
  /** Values of the path template's parameters. */
  path: Record<string, string>;
  body: BodyOf<Name>;
  /** For answers that are passed through: whoever writes to it returns nothing. */
  response: ServerResponse;
}

/** A plain object is answered as JSON with status 200. */
export type Answer = Response | Record<string, unknown> | undefined;

/** One handler for each endpoint: an endpoint without one does not compile. */
export const handlers: { [Name in EndpointName]: (call: Call<Name>, context: Context) => Promise<Answer> } = {
  async queryQueueItems({ path, body }, { database }) {
    return { items: await database.read((session) => queryQueueItems(session, path.queue_id!, body)) };
  },

  async runInference({ path, body, response }, { database, upstream }) {
    const messages = await effectiveMessages(database, body);
    if (!upstream) return answerAsEcho(path.path!, body, messages ?? []);
    await upstream.infer(path.path!, body, messages, response);
    return undefined;
  },

  async listModels({ response }, { upstream }) {
    if (!upstream) return echoModels();
    await upstream.models(response);
    return undefined;
  },

  async createEvaluation({ path, body, account }, { database }) {
    return createEvaluation(database, `${path.entity}/${path.project}`, account, body);
  },
};
