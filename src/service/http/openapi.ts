import * as z from 'zod';
import packageJson from '../../../package.json' with { type: 'json' };
import * as calls from '../../contract/calls.ts';
import { type Endpoint, type EndpointName, endpoints } from '../../contract/endpoints.ts';
import * as evaluation from '../../contract/evaluations.ts';
import * as feedback from '../../contract/feedback.ts';
import * as inference from '../../contract/inference.ts';
import * as objects from '../../contract/objects.ts';
import * as items from '../../contract/queue-items.ts';
import * as queues from '../../contract/queues.ts';
import { errorDetail, validationErrorBody } from '../../contract/validation-errors.ts';

/** A JSON Schema, as the document has it. */
export type Schema = Record<string, unknown>;

/** One operation of the document. */
export interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  security: Record<string, never[]>[];
  parameters?: { name: string; in: 'path' | 'query'; required: boolean; description?: string; schema: Schema }[];
  requestBody?: { required: true; content: Record<string, { schema: Schema }> };
  responses: Record<string, { description: string; content?: Record<string, { schema: Schema }> } | { $ref: string }>;
}

/** An OpenAPI 3.1 document, as far as this one goes. */
export interface OpenApiDocument {
  openapi: string;
  info: { title: string; version: string; summary: string; description: string; license: Schema };
  servers: { url: string; description: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema>; securitySchemes: Schema; responses: Record<string, Schema> };
}

/** Schemas that have a name in the document, their own; whatever else the contract holds is written out where it is used. */
const named: Record<string, z.ZodType> = Object.fromEntries(
  [evaluation, feedback, objects, items, queues, calls, inference]
    .flatMap((module) => Object.entries<unknown>({ ...module }))
    .concat(Object.entries({ errorDetail, validationErrorBody }))
    .filter((entry): entry is [string, z.ZodType] => entry[1] instanceof z.ZodType)
    .map(([name, schema]) => [name[0]!.toUpperCase() + name.slice(1), schema]),
);

/** The name of a schema of the contract in the document; undefined for one that is written out. */
export function nameOfSchema(schema: z.ZodType | undefined): string | undefined {
  return Object.entries(named).find(([, candidate]) => candidate === schema)?.[0];
}

/** What the table of endpoints does not say: a new endpoint does not compile without its words. */
const words: Record<
  EndpointName,
  { tag: 'Queues' | 'Inference' | 'Evaluations'; summary: string; description?: string }
> = {
  queryQueues: { tag: 'Queues', summary: 'Query queues', description: 'By default the newest first.' },
  queueStats: { tag: 'Queues', summary: 'Count the items of queues' },
  createQueue: { tag: 'Queues', summary: 'Create a queue' },
  readQueue: { tag: 'Queues', summary: 'Read one queue' },
  queryQueueItems: {
    tag: 'Queues',
    summary: 'Query the items of a queue',
    description:
      'Filter members are compared exactly and all must match. The default order is created_at ascending, and id always breaks ties. An unknown queue has no items. position_in_queue counts the whole queue, before every filter.',
  },
  addQueueItems: { tag: 'Queues', summary: 'Add recorded calls to a queue' },
  updateProgress: {
    tag: 'Queues',
    summary: 'Move an item to another state',
    description: 'The same state again changes nothing; a move back is refused with status 400.',
  },
  readCall: { tag: 'Queues', summary: 'Read a recorded call' },
  queryCalls: {
    tag: 'Queues',
    summary: 'Read many recorded calls',
    description:
      'The one that started first comes first, and id breaks ties. With columns, the other members are empty.',
  },
  createFeedback: { tag: 'Queues', summary: 'Keep feedback on a recorded call' },
  runInference: {
    tag: 'Inference',
    summary: 'Ask a model',
    description:
      'Every path below /inference/v1 takes the same body; /chat/completions is the usual one. With prompt, the messages of the stored prompt go first. {name} in messages is replaced from template_vars, {{ and }} stand for braces. With stream, the reply is a stream of server-sent events.',
  },
  listModels: { tag: 'Inference', summary: 'List the models' },
  createEvaluation: {
    tag: 'Evaluations',
    summary: 'Create an evaluation',
    description:
      'Definitions are addressed by their content: the same content gives the same digest and version_index, other content under the same name gives the next version.',
  },
  listEvaluations: { tag: 'Evaluations', summary: 'List evaluations' },
  listDatasets: { tag: 'Evaluations', summary: 'List datasets' },
  listScorers: { tag: 'Evaluations', summary: 'List scorers' },
};

/** The HTTP interface of the embedded service as OpenAPI 3.1, made from the contract. */
export function openApiDocument(): OpenApiDocument {
  const { schemas, refOf } = components();
  const paths: OpenApiDocument['paths'] = {};
  for (const name of Object.keys(endpoints) as EndpointName[]) {
    const endpoint: Endpoint = endpoints[name];
    const path = endpoint.path.replace('{path*}', '/chat/completions');
    paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: operationOf(name, endpoint, refOf) };
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'heddle embedded service',
      version: packageJson.version,
      summary: 'Annotation queues, model inference and evaluation definitions.',
      description:
        'Errors are JSON: {"reason": "…"}, {"detail": "…"}, or {"detail": [{"loc", "msg", "type"}]} for input that does not fit. GET /health needs no account and says whether the data can be read.',
      license: { name: packageJson.license, identifier: packageJson.license },
    },
    servers: [{ url: '/', description: 'The service that serves this document' }],
    tags: [
      { name: 'Queues', description: 'Recorded calls that wait for a judgement.' },
      { name: 'Inference', description: 'Models, with stored prompts and template variables.' },
      { name: 'Evaluations', description: 'Definitions of evaluations, and what they refer to.' },
    ],
    paths,
    components: {
      schemas,
      securitySchemes: {
        basic: { type: 'http', scheme: 'basic', description: 'User name and password of an account.' },
        bearer: { type: 'http', scheme: 'bearer', description: 'The bearer token of an account.' },
      },
      responses: {
        Unauthorized: { description: 'The account is missing or wrong; WWW-Authenticate names the scheme.' },
        Invalid: {
          description: 'The input does not fit; detail says where.',
          content: json({ $ref: '#/components/schemas/ValidationErrorBody' }),
        },
      },
    },
  };
}

function operationOf(name: EndpointName, endpoint: Endpoint, refOf: (schema: z.ZodType) => Schema): Operation {
  const { tag, summary, description } = words[name];
  const parameters = [...pathParameters(endpoint), ...queryParameters(endpoint)];
  const answer = refOf(endpoint.response);
  const content = endpoint.lines
    ? { 'application/x-ndjson': { schema: { ...answer, description: 'One such value a line.' } } }
    : json(answer);
  return {
    operationId: name,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    security: [{ [endpoint.auth]: [] }],
    ...(parameters.length > 0 && { parameters }),
    ...(endpoint.request && { requestBody: { required: true, content: json(refOf(endpoint.request)) } }),
    responses: {
      200: {
        description: 'Done.',
        content: {
          ...content,
          ...(name === 'runInference' && { 'text/event-stream': { schema: { type: 'string' } } }),
        },
      },
      401: { $ref: '#/components/responses/Unauthorized' },
      422: { $ref: '#/components/responses/Invalid' },
    },
  };
}

function pathParameters({ path }: Endpoint): NonNullable<Operation['parameters']> {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name: name!,
    in: 'path',
    required: true,
    schema: { type: 'string', maxLength: 256 },
  }));
}

function queryParameters({ query }: Endpoint): NonNullable<Operation['parameters']> {
  if (!query) return [];
  const { properties = {}, required = [] } = plain(z.toJSONSchema(query));
  return Object.entries(properties as Record<string, Schema>).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: (required as string[]).includes(name),
    ...(description !== undefined && { description: String(description) }),
    schema,
  }));
}

/** The named schemas, and the way to refer to a schema: by its name, or written out. */
function components(): { schemas: Record<string, Schema>; refOf: (schema: z.ZodType) => Schema } {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  const made = z.toJSONSchema(registry, { uri: (id) => `#/components/schemas/${id}` });
  const schemas = Object.fromEntries(
    Object.keys(named)
      .sort()
      .map((id) => [id, plain(made.schemas[id]!)]),
  );
  const refOf = (schema: z.ZodType): Schema => {
    const id = nameOfSchema(schema);
    return id === undefined ? plain(z.toJSONSchema(schema)) : { $ref: `#/components/schemas/${id}` };
  };
  return { schemas, refOf };
}

/** Without what only says that nothing more is known. */
function plain(schema: object): Schema {
  return JSON.parse(
    JSON.stringify(schema, (key, value) => {
      if (key === '$schema' || key === '$id') return undefined;
      if (key === 'maximum' && value === Number.MAX_SAFE_INTEGER) return undefined;
      if (key === 'minimum' && value === Number.MIN_SAFE_INTEGER) return undefined;
      return value;
    }),
  );
}

function json(schema: Schema): Record<string, { schema: Schema }> {
  return { 'application/json': { schema } };
}
