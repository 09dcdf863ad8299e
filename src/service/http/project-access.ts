import type { EndpointName } from '../../contract/endpoints.ts';
import { Refusal } from '../../core/http/refusal.ts';
import type { OperationInput } from '../operations/operation.ts';

const ofBody = ({ body }: { body: { project_id: string } }) => [body.project_id];
const ofQuery = ({ query }: { query: { project_id: string } }) => [query.project_id];
const ofPath = ({ path }: { path: { entity: string; project: string } }) => [`${path.entity}/${path.project}`];
const none = () => [];

/** The projects that a request names, for each endpoint; an endpoint without an entry does not compile. */
const namedProjects: { [Name in EndpointName]: (input: OperationInput<Name>) => readonly string[] } = {
  // Leaves out projects that the account may not see.
  listProjects: none,
  // References to projects that the account may not see lead nowhere, like those to projects that do not exist.
  readReferences: none,
  runInference: none,
  listModels: none,
  readModel: none,
  queryQueues: ofBody,
  queueStats: ofBody,
  readQueue: ofQuery,
  createQueue: ofBody,
  updateQueue: ofBody,
  deleteQueue: ofQuery,
  queryQueueItems: ofBody,
  addQueueItems: ofBody,
  updateProgress: ofBody,
  updateProgressBatch: ofBody,
  readCall: ofBody,
  queryCalls: ofBody,
  countCalls: ofBody,
  recordCalls: ({ body }) => body.batch.map(({ req }) => ('start' in req ? req.start : req.end).project_id),
  startCall: ({ body }) => [body.start.project_id],
  endCall: ({ body }) => [body.end.project_id],
  startCallInProject: ({ path, body }) => [...ofPath({ path }), body.start.project_id],
  endCallInProject: ({ path, body }) => [...ofPath({ path }), body.end.project_id],
  completeCalls: ({ path, body }) => [...ofPath({ path }), ...body.batch.map(({ project_id }) => project_id)],
  updateCall: ofBody,
  deleteCalls: ofBody,
  createFeedback: ofBody,
  createFeedbackBatch: ({ body }) => body.batch.map(({ project_id }) => project_id),
  queryFeedback: ofBody,
  replaceFeedback: ofBody,
  purgeFeedback: ofBody,
  createCosts: ofBody,
  queryCosts: ofBody,
  purgeCosts: ofBody,
  createObject: ({ body }) => [body.obj.project_id],
  readObject: ofBody,
  deleteObject: ofBody,
  queryObjects: ofBody,
  createTable: ({ body }) => [body.table.project_id],
  updateTable: ofBody,
  queryTable: ofBody,
  createTableFromDigests: ofBody,
  countTableRows: ofBody,
  createDataset: ofPath,
  countRowsOfTables: ofBody,
  createFile: ofBody,
  readFile: ofBody,
  createEvaluation: ofPath,
  evaluateModel: ofBody,
  evaluationStatus: ofBody,
  cancelEvaluation: ofBody,
  createEvaluationRun: ofPath,
  listEvaluationRuns: ofPath,
  readEvaluationRun: ofPath,
  finishEvaluationRun: ofPath,
  createPrediction: ofPath,
  listPredictions: ofPath,
  readPrediction: ofPath,
  finishPrediction: ofPath,
  createScore: ofPath,
  listScores: ofPath,
  readScore: ofPath,
  queryEvaluationResults: ofPath,
  listEvaluations: ofPath,
  listDatasets: ofPath,
  listScorers: ofPath,
};

/**
 * Checks that the account of a request may see every project that the request names.
 * @throws Refusal 403, also for a project that does not exist: the response must not tell them apart.
 */
export function checkProjects<Name extends EndpointName>(name: Name, input: OperationInput<Name>): void {
  if (!namedProjects[name](input).every(input.maySee)) throw new Refusal(403, 'Forbidden');
}
