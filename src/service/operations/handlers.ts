import type { EndpointName } from '../../contract/endpoints.ts';
import * as calls from './calls.ts';
import * as claims from './claims.ts';
import * as costs from './costs.ts';
import * as datasets from './datasets.ts';
import * as evaluationRuns from './evaluation-runs.ts';
import * as evaluations from './evaluations.ts';
import * as feedback from './feedback.ts';
import * as files from './files.ts';
import * as graphql from './graphql.ts';
import * as inference from './inference.ts';
import * as itemSummary from './item-summary.ts';
import * as objects from './objects.ts';
import type { OperationHandler } from './operation.ts';
import * as projects from './projects.ts';
import * as queueItems from './queue-items.ts';
import * as queues from './queues.ts';
import * as tables from './tables.ts';
import * as threads from './threads.ts';
import * as usage from './usage.ts';

/** The handler of each operation, which a file of this folder exports under its name; an operation without one does not compile. */
export const handlers: { [Name in EndpointName]: OperationHandler<Name> } = {
  ...calls,
  ...claims,
  ...costs,
  ...datasets,
  ...evaluationRuns,
  ...evaluations,
  ...feedback,
  ...files,
  ...graphql,
  ...inference,
  ...itemSummary,
  ...objects,
  ...projects,
  ...queueItems,
  ...queues,
  ...tables,
  ...threads,
  ...usage,
};
