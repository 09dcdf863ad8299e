import type { EndpointName } from '../../contract/endpoints.ts';
import { countCalls, queryCalls, readCall } from './calls.ts';
import { createEvaluation } from './evaluations.ts';
import { createFeedback, createFeedbackBatch, purgeFeedback, queryFeedback } from './feedback.ts';
import { listModels, runInference } from './inference.ts';
import { createObject, listObjects, queryObjects, readObject, readReferences } from './objects.ts';
import type { OperationHandler, TransactionOperation } from './operation.ts';
import { addQueueItems, queryQueueItems, updateProgress } from './queue-items.ts';
import { createQueue, deleteQueue, queryQueues, queueStats, readQueue, updateQueue } from './queues.ts';

/** The handler of each endpoint; an endpoint without one does not compile. */
export const handlers: { [Name in EndpointName]: OperationHandler<Name> } = {
  queryQueues: reading(queryQueues),
  queueStats: reading(queueStats),
  readQueue: reading(readQueue),
  createQueue: writing(createQueue),
  updateQueue: writing(updateQueue),
  deleteQueue: writing(deleteQueue),
  queryQueueItems: reading(queryQueueItems),
  addQueueItems: writing(addQueueItems),
  updateProgress: writing(updateProgress),
  readCall: reading(readCall),
  queryCalls: reading(queryCalls),
  countCalls: reading(countCalls),
  createFeedback: writing(createFeedback),
  createFeedbackBatch: writing(createFeedbackBatch),
  queryFeedback: reading(queryFeedback),
  purgeFeedback: writing(purgeFeedback),
  createObject: writing(createObject),
  readObject: reading(readObject),
  queryObjects: reading(queryObjects),
  readReferences: reading(readReferences),
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
