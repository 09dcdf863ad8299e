import * as z from 'zod';
import type { Endpoint } from '../../contract/endpoint.ts';
import { contractFiles, endpoints } from '../../contract/endpoints.ts';
import { errorDetail, validationErrorBody } from '../../contract/validation.ts';
import { ownMember } from '../../core/json/member-at.ts';
import { version } from '../../core/version.ts';

/** A JSON Schema, or another object of the document. */
export type Schema = Record<string, unknown>;

interface OpenApiDocument extends Schema {
  paths: Record<string, Record<string, Schema>>;
  components: { schemas: Record<string, Schema> } & Schema;
}

/**
 * The schemas that the document lists by name: those that the contract exports, and those that an operation has in its
 * definition, such as `QueryQueuesRequest`. Other schemas are written out where they are used.
 */
const namedSchemas = new Map<string, z.ZodType>();

for (const file of [...contractFiles, { errorDetail, validationErrorBody }]) {
  for (const [name, value] of Object.entries(file)) if (value instanceof z.ZodType) nameSchema(name, value);
}
for (const [name, { request, query, response }] of Object.entries<Endpoint>(endpoints)) {
  if (request) nameSchema(`${name}Request`, request);
  if (query) nameSchema(`${name}Query`, query);
  nameSchema(`${name}Response`, response);
}

function nameSchema(name: string, schema: z.ZodType): void {
  if (nameOfSchema(schema) === undefined) namedSchemas.set(name[0]!.toUpperCase() + name.slice(1), schema);
}

/** Returns the name of a schema in the document; undefined if it is written out. */
export function nameOfSchema(schema: z.ZodType | undefined): string | undefined {
  return [...namedSchemas].find(([, candidate]) => candidate === schema)?.[0];
}

/** Returns the OpenAPI 3.1 document of the embedded service, generated from the contract. */
export function openApiDocument(): OpenApiDocument {
  const paths: OpenApiDocument['paths'] = {};
  for (const [name, endpoint] of Object.entries<Endpoint>(endpoints)) {
    const path = documentedPath(endpoint);
    paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: operationOf(name, endpoint) };
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'heddle embedded service',
      version,
      summary: 'Annotation queues, model inference and evaluation definitions.',
      description:
        'Errors are JSON: {"reason": "…"}, {"detail": "…"}, or {"detail": [{"loc", "msg", "type"}]} for invalid input. GET /health needs no account and reports whether the data can be read.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'The service that serves this document' }],
    paths,
    components: {
      schemas: componentSchemas(),
      securitySchemes: {
        basic: { type: 'http', scheme: 'basic', description: 'User name and password of an account.' },
        bearer: { type: 'http', scheme: 'bearer', description: 'The bearer token of an account.' },
      },
      responses: {
        Unauthorized: { description: 'The credentials are missing or wrong; WWW-Authenticate names the scheme.' },
        Forbidden: { description: 'The account may not see the project, or there is none.' },
        Invalid: {
          description: 'The input is invalid; detail lists the faults.',
          content: { 'application/json': { schema: schemaOf(validationErrorBody) } },
        },
      },
    },
  };
}

function operationOf(name: string, endpoint: Endpoint): Schema {
  const { summary, description, auth, request, response, lines, form, bytes } = endpoint;
  const parameters = [...pathParameters(endpoint), ...queryParameters(endpoint)];
  const schema = schemaOf(response);
  const content = lines
    ? { 'application/x-ndjson': { schema: { ...schema, description: 'One such value per line.' } } }
    : { [bytes ? 'application/octet-stream' : 'application/json']: { schema } };
  const requestType = form ? 'multipart/form-data' : 'application/json';
  const stream = name === 'runInference' && { 'text/event-stream': { schema: { type: 'string' } } };
  return {
    operationId: name,
    summary,
    ...(description !== undefined && { description }),
    security: [{ [auth]: [] }],
    ...(parameters.length > 0 && { parameters }),
    ...(request && { requestBody: { required: true, content: { [requestType]: { schema: schemaOf(request) } } } }),
    responses: {
      200: { description: 'Done.', content: { ...content, ...stream } },
      401: { $ref: '#/components/responses/Unauthorized' },
      ...(auth === 'basic' && { 403: { $ref: '#/components/responses/Forbidden' } }),
      422: { $ref: '#/components/responses/Invalid' },
    },
  };
}

/** Returns the path for the document. OpenAPI has no parameter of several segments: inference has its usual path there. */
function documentedPath({ path, method }: Endpoint): string {
  return path.replace('{path*}', method === 'POST' ? '/chat/completions' : '/{model}');
}

function pathParameters(endpoint: Endpoint): Schema[] {
  return [...documentedPath(endpoint).matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', maxLength: 256 },
  }));
}

function queryParameters({ query }: Endpoint): Schema[] {
  if (!query) return [];
  const { properties = {}, required = [] } = simplified(z.toJSONSchema(query));
  return Object.entries(properties as Record<string, Schema>).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: (required as string[]).includes(name),
    ...(description !== undefined && { description }),
    schema,
  }));
}

function componentSchemas(): Record<string, Schema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of namedSchemas) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, { uri: (id) => `#/components/schemas/${id}` });
  const names = [...namedSchemas.keys()].sort();
  return Object.fromEntries(names.map((name) => [name, simplified(ownMember(schemas, name)!)]));
}

function schemaOf(schema: z.ZodType): Schema {
  const name = nameOfSchema(schema);
  return name === undefined ? simplified(z.toJSONSchema(schema)) : { $ref: `#/components/schemas/${name}` };
}

/** Strips `$schema`, `$id` and zod's placeholder integer bounds. */
function simplified(schema: object): Schema {
  const isPlaceholder = (key: string, value: unknown): boolean =>
    ['$schema', '$id'].includes(key) ||
    (key === 'maximum' && value === Number.MAX_SAFE_INTEGER) ||
    (key === 'minimum' && value === Number.MIN_SAFE_INTEGER);
  return JSON.parse(JSON.stringify(schema, (key, value) => (isPlaceholder(key, value) ? undefined : value)));
}
