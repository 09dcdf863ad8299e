import type { ServerResponse } from 'node:http';
import {
  type BodyOf,
  type EndpointName,
  endpoints,
  type PathOf,
  type QueryOf,
  type ResultOf,
} from '../../contract/endpoints.ts';
import type { Log } from '../../core/log.ts';
import type { ModelProvider } from '../inference/model-provider.ts';
import type { MemoryPool, RequestBudget } from '../request-budget.ts';
import type { EvaluationRunner } from '../runs/evaluation-runner.ts';
import type { Database, ProjectFilter, Transaction } from '../storage/database.ts';

/** The parts of the service that operations use. */
export interface ServiceContext {
  database: Database;
  /** The built-in echo model runs inference when absent. */
  modelProvider: ModelProvider | undefined;
  runner: EvaluationRunner;
  memoryPool: MemoryPool;
  log: Log;
}

/** An authenticated and validated request for the operation of an endpoint. */
export interface OperationInput<Name extends EndpointName> {
  /** Name of the account that sent the request. */
  account: string;
  /** Checks the projects that an operation reaches by references or in lists; those that the request names have been checked. */
  maySee: ProjectFilter;
  path: PathOf<Name>;
  query: QueryOf<Name>;
  body: BodyOf<Name>;
  /** Limits the memory and the work of the request. */
  budget: RequestBudget;
  /** For operations that write the response themselves and return undefined. */
  response: ServerResponse;
}

/** The values of a list that is sent while it is read; the first failure must come before the first value. */
type ValueStream<Name extends EndpointName> =
  ResultOf<Name> extends readonly (infer Value)[] ? AsyncIterable<Value> : never;

/** Carries out an operation. Its value is sent with status 200: JSON, or a list as lines. It may also return a whole response, or undefined once it has written one. */
export type OperationHandler<Name extends EndpointName> = (
  input: OperationInput<Name>,
  context: ServiceContext,
) => Promise<ResultOf<Name> | ValueStream<Name> | Response | undefined>;

/**
 * Returns the handler of an operation that only reads or writes the database, in one transaction: for writing if the endpoint
 * says that it writes.
 */
export function inTransaction<Name extends EndpointName>(
  name: Name,
  run: (transaction: Transaction, input: OperationInput<Name>) => Promise<ResultOf<Name>>,
): OperationHandler<Name> {
  const mode = endpoints[name].writes ? 'write' : 'read';
  return (input, { database }) => database[mode]((transaction) => run(transaction, input));
}
