import type { ServerResponse } from 'node:http';
import type * as z from 'zod';
import type { Endpoint, EndpointName, endpoints } from '../../contract/endpoints.ts';
import { answerAsEcho, echoModels } from '../inference/echo-model.ts';
import type { Upstream } from '../inference/model-provider.ts';
import type { Database } from '../storage/database.ts';
import type { ObjectKind } from '../storage/tables.ts';
import { addQueueItems } from './add-queue-items.ts';
import { queryCalls, readCall } from './calls.ts';
import { createEvaluation } from './evaluations.ts';
import { createFeedback } from './feedback.ts';
import { effectiveMessages } from './inference.ts';
import { listObjects } from './objects.ts';
import { updateProgress } from './progress.ts';
import { queryQueueItems } from './queue-items.ts';
import { createQueue, queryQueues, queueStats, readQueue } from './queues.ts';

/** What handlers work with. */
export interface Context {
  database: Database;
  upstream: Upstream | undefined;
}

type BodyOf<Name extends EndpointName> =
  (typeof endpoints)[Name] extends Endpoint<infer Request, z.ZodType> ? z.output<Request> : never;

type QueryOf<Name extends EndpointName> =
  (typeof endpoints)[Name] extends Endpoint<z.ZodType, z.ZodType, infer Query> ? z.output<Query> : never;

/** A request that passed authorization and validation. */
export interface Call<Name extends EndpointName> {
  /** Name of the account that calls. */
  account: string;
  /** Values of the path template's parameters. */
  path: Record<string, string>;
  /** The query parameters. */
  query: QueryOf<Name>;
  body: BodyOf<Name>;
  /** For answers that are passed through: whoever writes to it returns nothing. */
  response: ServerResponse;
}

/** A plain object is answered as JSON with status 200, a list as NDJSON. */
export type Answer = Response | Record<string, unknown> | Record<string, unknown>[] | undefined;

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

  async queryQueues({ body }, { database }) {
    return database.read((session) => queryQueues(session, body));
  },

  async queueStats({ body }, { database }) {
    return { stats: await database.read((session) => queueStats(session, body)) };
  },

  async readQueue({ path, query }, { database }) {
    return { queue: await database.read((session) => readQueue(session, query.project_id, path.queue_id!)) };
  },

  async createQueue({ body, account }, { database }) {
    return { id: await database.write((session) => createQueue(session, account, body)) };
  },

  async addQueueItems({ path, body, account }, { database }) {
    return database.write((session) => addQueueItems(session, path.queue_id!, account, body));
  },

  async updateProgress({ path, body, account }, { database }) {
    const { queue_id = '', item_id = '' } = path;
    return { item: await database.write((session) => updateProgress(session, queue_id, item_id, account, body)) };
  },

  async readCall({ body }, { database }) {
    return { call: await database.read((session) => readCall(session, body)) };
  },

  async queryCalls({ body }, { database }) {
    return database.read((session) => queryCalls(session, body));
  },

  async createFeedback({ body, account }, { database }) {
    return database.write((session) => createFeedback(session, account, body));
  },

  listEvaluations: objectList('evaluation'),
  listDatasets: objectList('dataset'),
  listScorers: objectList('scorer'),
};

function objectList(kind: ObjectKind) {
  return async ({ path, query }: Pick<Call<'listEvaluations'>, 'path' | 'query'>, { database }: Context) =>
    database.read((session) => listObjects(session, `${path.entity}/${path.project}`, kind, query));
}
