import type { ServerResponse } from 'node:http';
import type * as z from 'zod';
import type { Endpoint, EndpointName, endpoints } from '../../contract/endpoints.ts';
import { answerAsEcho, echoModels } from '../inference/echo-model.ts';
import type { ModelProvider } from '../inference/model-provider.ts';
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
export interface ServiceContext {
  database: Database;
  modelProvider: ModelProvider | undefined;
}

type BodyOf<Name extends EndpointName> =
  (typeof endpoints)[Name] extends Endpoint<infer Request, z.ZodType> ? z.output<Request> : never;

type QueryOf<Name extends EndpointName> =
  (typeof endpoints)[Name] extends Endpoint<z.ZodType, z.ZodType, infer Query> ? z.output<Query> : never;

/** A request that passed authorization and validation. */
export interface OperationCall<Name extends EndpointName> {
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
export type OperationResult = Response | Record<string, unknown> | Record<string, unknown>[] | undefined;

/** One handler for each endpoint: an endpoint without one does not compile. */
export const handlers: {
  [Name in EndpointName]: (call: OperationCall<Name>, context: ServiceContext) => Promise<OperationResult>;
} = {
  async queryQueueItems({ path, body }, { database }) {
    return { items: await database.read((transaction) => queryQueueItems(transaction, path.queue_id!, body)) };
  },

  async runInference({ path, body, response }, { database, modelProvider }) {
    const messages = await effectiveMessages(database, body);
    if (!modelProvider) return answerAsEcho(path.path!, body, messages ?? []);
    await modelProvider.infer(path.path!, body, messages, response);
    return undefined;
  },

  async listModels({ response }, { modelProvider }) {
    if (!modelProvider) return echoModels();
    await modelProvider.models(response);
    return undefined;
  },

  async createEvaluation({ path, body, account }, { database }) {
    return createEvaluation(database, `${path.entity}/${path.project}`, account, body);
  },

  async queryQueues({ body }, { database }) {
    return database.read((transaction) => queryQueues(transaction, body));
  },

  async queueStats({ body }, { database }) {
    return { stats: await database.read((transaction) => queueStats(transaction, body)) };
  },

  async readQueue({ path, query }, { database }) {
    return { queue: await database.read((transaction) => readQueue(transaction, query.project_id, path.queue_id!)) };
  },

  async createQueue({ body, account }, { database }) {
    return { id: await database.write((transaction) => createQueue(transaction, account, body)) };
  },

  async addQueueItems({ path, body, account }, { database }) {
    return database.write((transaction) => addQueueItems(transaction, path.queue_id!, account, body));
  },

  async updateProgress({ path, body, account }, { database }) {
    const { queue_id = '', item_id = '' } = path;
    return {
      item: await database.write((transaction) => updateProgress(transaction, queue_id, item_id, account, body)),
    };
  },

  async readCall({ body }, { database }) {
    return { call: await database.read((transaction) => readCall(transaction, body)) };
  },

  async queryCalls({ body }, { database }) {
    return database.read((transaction) => queryCalls(transaction, body));
  },

  async createFeedback({ body, account }, { database }) {
    return database.write((transaction) => createFeedback(transaction, account, body));
  },

  listEvaluations: objectList('evaluation'),
  listDatasets: objectList('dataset'),
  listScorers: objectList('scorer'),
};

function objectList(kind: ObjectKind) {
  return async (
    { path, query }: Pick<OperationCall<'listEvaluations'>, 'path' | 'query'>,
    { database }: ServiceContext,
  ) => database.read((transaction) => listObjects(transaction, `${path.entity}/${path.project}`, kind, query));
}
