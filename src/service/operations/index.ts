import type { EndpointName } from '../../contract/endpoints.ts';
import { queryCalls, readCall } from './calls.ts';
import { createEvaluation } from './evaluations.ts';
import { createFeedback } from './feedback.ts';
import { listModels, runInference } from './inference.ts';
import { listObjects } from './objects.ts';
import type { OperationHandler, TransactionOperation } from './operation.ts';
import { addQueueItems, queryQueueItems, updateProgress } from './queue-items.ts';
import { createQueue, queryQueues, queueStats, readQueue } from './queues.ts';

/** The handler of each endpoint; an endpoint without one does not compile. */
export const handlers: { [Name in EndpointName]: OperationHandler<Name> } = {
  queryQueues: reading(queryQueues),
  queueStats: reading(queueStats),
  readQueue: reading(readQueue),
  createQueue: writing(createQueue),
  queryQueueItems: reading(queryQueueItems),
  addQueueItems: writing(addQueueItems),
  updateProgress: writing(updateProgress),
  readCall: reading(readCall),
  queryCalls: reading(queryCalls),
  createFeedback: writing(createFeedback),
  runInference,
  listModels,
  createEvaluation: writing(createEvaluation),
  listEvaluations: reading((transaction, input) => listObjects(transaction, input, 'evaluation')),
  listDatasets: reading((transaction, input) => listObjects(transaction, input, 'dataset')),
  listScorers: reading((transaction, input) => listObjects(transaction, input, 'scorer')),
};

function reading<Name extends EndpointName>(operation: TransactionOperation<Name>): OperationHandler<Name> {
  return (input, { database }) => database.read((transaction) => operation(transaction, input));
}

function writing<Name extends EndpointName>(operation: TransactionOperation<Name>): OperationHandler<Name> {
  return (input, { database }) => database.write((transaction) => operation(transaction, input));
}
