import type { EndpointName } from '../../contract/endpoints.ts';
import {
  completeCalls,
  countCalls,
  deleteCalls,
  endCall,
  endCallInProject,
  queryCalls,
  readCall,
  recordCalls,
  startCall,
  startCallInProject,
  updateCall,
} from './calls.ts';
import { createCosts, purgeCosts, queryCosts } from './costs.ts';
import { createDataset } from './datasets.ts';
import {
  createEvaluationRun,
  createPrediction,
  createScore,
  finishEvaluationRun,
  finishPrediction,
  listEvaluationRuns,
  listPredictions,
  listScores,
  queryEvaluationResults,
  readEvaluationRun,
  readPrediction,
  readScore,
} from './evaluation-runs.ts';
import { cancelEvaluation, createEvaluation, evaluateModel, evaluationStatus } from './evaluations.ts';
import { createFeedback, createFeedbackBatch, purgeFeedback, queryFeedback, replaceFeedback } from './feedback.ts';
import { createFile, readFile } from './files.ts';
import { listModels, readModel, runInference } from './inference.ts';
import { createObject, deleteObject, listObjects, queryObjects, readObject, readReferences } from './objects.ts';
import type { OperationHandler, TransactionOperation } from './operation.ts';
import { listProjects } from './projects.ts';
import { addQueueItems, queryQueueItems, updateProgress, updateProgressBatch } from './queue-items.ts';
import { createQueue, deleteQueue, queryQueues, queueStats, readQueue, updateQueue } from './queues.ts';
import {
  countRowsOfTables,
  countTableRows,
  createTable,
  createTableFromDigests,
  queryTable,
  updateTable,
} from './tables.ts';

/** The handler of each endpoint; an endpoint without one does not compile. */
export const handlers: { [Name in EndpointName]: OperationHandler<Name> } = {
  listProjects: reading(listProjects),
  queryQueues: reading(queryQueues),
  queueStats: reading(queueStats),
  readQueue: reading(readQueue),
  createQueue: writing(createQueue),
  updateQueue: writing(updateQueue),
  deleteQueue: writing(deleteQueue),
  queryQueueItems: reading(queryQueueItems),
  addQueueItems: writing(addQueueItems),
  updateProgress: writing(updateProgress),
  updateProgressBatch: writing(updateProgressBatch),
  readCall,
  queryCalls,
  countCalls,
  recordCalls,
  startCall: writing(startCall),
  endCall: writing(endCall),
  startCallInProject: writing(startCallInProject),
  endCallInProject: writing(endCallInProject),
  completeCalls,
  updateCall: writing(updateCall),
  deleteCalls: writing(deleteCalls),
  createFeedback: writing(createFeedback),
  createFeedbackBatch: writing(createFeedbackBatch),
  queryFeedback: reading(queryFeedback),
  replaceFeedback: writing(replaceFeedback),
  purgeFeedback: writing(purgeFeedback),
  createCosts: writing(createCosts),
  queryCosts: reading(queryCosts),
  purgeCosts: writing(purgeCosts),
  createObject: writing(createObject),
  readObject: reading(readObject),
  deleteObject: writing(deleteObject),
  queryObjects: reading(queryObjects),
  readReferences: reading(readReferences),
  createTable,
  updateTable: writing(updateTable),
  queryTable: reading(queryTable),
  createTableFromDigests,
  countTableRows: reading(countTableRows),
  createDataset,
  countRowsOfTables: reading(countRowsOfTables),
  createFile,
  readFile,
  runInference,
  listModels,
  readModel,
  createEvaluation: writing(createEvaluation),
  evaluateModel,
  evaluationStatus,
  cancelEvaluation,
  createEvaluationRun,
  listEvaluationRuns,
  readEvaluationRun,
  finishEvaluationRun,
  createPrediction,
  listPredictions,
  readPrediction,
  finishPrediction,
  createScore,
  listScores,
  readScore,
  queryEvaluationResults,
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
