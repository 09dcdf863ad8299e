import type { ServerResponse } from 'node:http';
import type * as z from 'zod';
import type { Endpoint, EndpointName, endpoints } from '../../contract/endpoints.ts';
import type { EvaluationRunner } from '../evaluation/runner.ts';
import type { ModelProvider } from '../inference/model-provider.ts';
import type { Database, ProjectFilter, Transaction } from '../storage/database.ts';

/** The parts of the service that operations use. */
export interface ServiceContext {
  database: Database;
  /** The built-in echo model runs inference when absent. */
  modelProvider: ModelProvider | undefined;
  runner: EvaluationRunner;
}

type PathParameter<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? (Name extends `${infer Wildcard}*` ? Wildcard : Name) | PathParameter<Rest>
  : never;

/** An authenticated and validated request for the operation of an endpoint. */
export interface OperationInput<Name extends EndpointName> {
  /** Name of the account that sent the request. */
  account: string;
  /** Where an operation follows references or lists projects, it checks them; the others have been checked. */
  maySee: ProjectFilter;
  path: Record<PathParameter<(typeof endpoints)[Name]['path']>, string>;
  query: (typeof endpoints)[Name] extends Endpoint<z.ZodType, z.ZodType, infer Query> ? z.output<Query> : never;
  body: (typeof endpoints)[Name] extends Endpoint<infer Request> ? z.output<Request> : never;
  /** For operations that write the response themselves and return undefined. */
  response: ServerResponse;
}

/** The value to send with status 200: JSON, or a list as NDJSON. */
export type OperationOutput<Name extends EndpointName> = (typeof endpoints)[Name] extends { lines: true }
  ? z.output<(typeof endpoints)[Name]['response']>[]
  : z.output<(typeof endpoints)[Name]['response']>;

/** The values of a list that is sent while it is read; the first failure must come before the first value. */
type ValueStream<Name extends EndpointName> = (typeof endpoints)[Name] extends { lines: true }
  ? AsyncIterable<z.output<(typeof endpoints)[Name]['response']>>
  : never;

/** Carries out an operation. It may also return a whole response, or undefined once it has written one. */
export type OperationHandler<Name extends EndpointName> = (
  input: OperationInput<Name>,
  context: ServiceContext,
) => Promise<OperationOutput<Name> | ValueStream<Name> | Response | undefined>;

/** An operation that only reads or writes the database, in one transaction. */
export type TransactionOperation<Name extends EndpointName> = (
  transaction: Transaction,
  input: OperationInput<Name>,
) => Promise<OperationOutput<Name>>;
