import type { ServerResponse } from 'node:http';
import type * as z from 'zod';
import type { Endpoint, EndpointName, endpoints } from '../../contract/endpoints.ts';
import type { ModelProvider } from '../inference/model-provider.ts';
import type { Database } from '../storage/database.ts';

/** The parts of the service that operations use. */
export interface ServiceContext {
  database: Database;
  /** The built-in echo model runs inference when absent. */
  modelProvider: ModelProvider | undefined;
}

type PathParameter<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? (Name extends `${infer Wildcard}*` ? Wildcard : Name) | PathParameter<Rest>
  : never;

/** An authenticated and validated request for the operation of an endpoint. */
export interface OperationInput<Name extends EndpointName> {
  /** Name of the account that sent the request. */
  account: string;
  path: Record<PathParameter<(typeof endpoints)[Name]['path']>, string>;
  query: (typeof endpoints)[Name] extends Endpoint<z.ZodType, z.ZodType, infer Query> ? z.output<Query> : never;
  body: (typeof endpoints)[Name] extends Endpoint<infer Request> ? z.output<Request> : never;
  /** For operations that write the response themselves and return undefined. */
  response: ServerResponse;
}

/** A plain object is sent as JSON with status 200, a list as NDJSON. */
export type OperationResult = Response | Record<string, unknown> | Record<string, unknown>[] | undefined;

/** Carries out the operation of an endpoint. */
export type OperationHandler<Name extends EndpointName> = (
  input: OperationInput<Name>,
  context: ServiceContext,
) => Promise<OperationResult>;
