import type * as z from 'zod';
import * as calls from './calls.ts';
import * as claims from './claims.ts';
import * as costs from './costs.ts';
import * as datasets from './datasets.ts';
import type { PathValues } from './endpoint.ts';
import * as runs from './evaluation-runs.ts';
import * as evaluations from './evaluations.ts';
import * as feedback from './feedback.ts';
import * as files from './files.ts';
import * as graphql from './graphql.ts';
import * as inference from './inference.ts';
import * as objects from './objects.ts';
import * as projects from './projects.ts';
import * as items from './queue-items.ts';
import * as queues from './queues.ts';
import * as scorers from './scorers.ts';
import * as sortKeys from './sort-keys.ts';
import * as tables from './tables.ts';
import * as threads from './threads.ts';
import * as usage from './usage.ts';

/** The files of the contract, whose schemas the OpenAPI document lists by their names. */
export const contractFiles: readonly object[] = [
  calls,
  claims,
  costs,
  datasets,
  runs,
  evaluations,
  feedback,
  files,
  graphql,
  inference,
  objects,
  projects,
  items,
  queues,
  scorers,
  sortKeys,
  tables,
  threads,
  usage,
];

/** The operations of the service, which drive the client, the embedded service and its documentation: docs/interface.md. */
export const endpoints = {
  ...queues.queueEndpoints,
  ...items.queueItemEndpoints,
  ...claims.claimEndpoints,
  ...calls.callEndpoints,
  ...feedback.feedbackEndpoints,
  ...inference.inferenceEndpoints,
  ...objects.objectEndpoints,
  ...tables.tableEndpoints,
  ...datasets.datasetEndpoints,
  ...evaluations.evaluationEndpoints,
  ...runs.evaluationRunEndpoints,
  ...files.fileEndpoints,
  ...costs.costEndpoints,
  ...projects.projectEndpoints,
  ...threads.threadEndpoints,
  ...usage.usageEndpoints,
  ...graphql.graphqlEndpoints,
};

type Endpoints = typeof endpoints;
export type EndpointName = keyof Endpoints;

type RequestSchema<Name extends EndpointName> = NonNullable<Endpoints[Name]['request']>;

/** The values of the parameters in the path of an operation. */
export type PathOf<Name extends EndpointName> = PathValues<Endpoints[Name]['path']>;

/** The query parameters of an operation, as its schema parses them. */
export type QueryOf<Name extends EndpointName> = z.output<NonNullable<Endpoints[Name]['query']>>;

/** The body of a request for an operation, as its schema parses it. */
export type BodyOf<Name extends EndpointName> = z.output<RequestSchema<Name>>;

/** The value that an operation responds with; a list if the response has lines. */
export type ResultOf<Name extends EndpointName> = [NonNullable<Endpoints[Name]['lines']>] extends [never]
  ? z.output<Endpoints[Name]['response']>
  : z.output<Endpoints[Name]['response']>[];

/** The parts of a request that an operation needs. */
export type CallParts<Name extends EndpointName> = ([keyof PathOf<Name>] extends [never]
  ? { path?: undefined }
  : { path: PathOf<Name> }) &
  ([QueryOf<Name>] extends [never]
    ? { query?: undefined }
    : Partial<QueryOf<Name>> extends QueryOf<Name>
      ? { query?: QueryOf<Name> }
      : { query: QueryOf<Name> }) &
  ([RequestSchema<Name>] extends [never] ? { body?: undefined } : { body: z.input<RequestSchema<Name>> });
