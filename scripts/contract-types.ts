import type * as z from 'zod';
import type { Endpoint } from '../src/contract/endpoint.ts';
import { endpoints } from '../src/contract/endpoints.ts';
import { nameOfSchema, openApiDocument, type Schema } from '../src/service/http/openapi.ts';

/**
 * Returns the declarations of the contract's types without the library that its schemas are written in: one type a named
 * schema, and the table of operations with schemas in the form of Standard Schema.
 */
export function contractTypes(): string {
  const { schemas } = openApiDocument().components;
  const types = Object.entries(schemas).map(([name, schema]) => {
    const type = typeOf(schema);
    return type.startsWith('{') ? `export interface ${name} ${type}` : `export type ${name} = ${type};`;
  });
  const operations = Object.entries(endpoints).map(([name, endpoint]: [string, Endpoint]) => {
    const [request, response] = [named(endpoint.request), named(endpoint.response)];
    return `    readonly ${name}: Operation<${request}, ${response}${endpoint.query ? `, ${named(endpoint.query)}` : ''}>;`;
  });
  const calls = Object.entries(endpoints).map(([name, endpoint]: [string, Endpoint]) => {
    const path = [...endpoint.path.matchAll(/\{(\w+)\*?\}/g)].map(([, parameter]) => `${parameter}: string`);
    const members = [
      ...(path.length > 0 ? [`path: { ${path.join('; ')} }`] : []),
      ...(endpoint.query ? [`query${endpoint.query.safeParse({}).success ? '?' : ''}: ${named(endpoint.query)}`] : []),
      ...(endpoint.request ? [`body: ${named(endpoint.request)}`] : []),
      `result: ${named(endpoint.response)}${endpoint.lines ? '[]' : ''}`,
    ];
    return `    /** ${endpoint.summary}. */\n    ${name}: { ${members.join('; ')} };`;
  });
  return `${types.join('\n')}
${operationTypes}
/** The operations of the service, with their schemas, by name. */
export declare const contract: {
${operations.join('\n')}
};
/** The parts of a request for each operation, and the value that it responds with. */
export interface Operations {
${calls.join('\n')}
}
export type CallParts<Name extends EndpointName> = Omit<Operations[Name], 'result'>;
export type ResultOf<Name extends EndpointName> = Operations[Name]['result'];
`;
}

const operationTypes = `/** A schema that validates at run time, in the form of Standard Schema 1, which validation libraries share. */
export interface Schema<T> {
    readonly '~standard': {
        readonly version: 1;
        readonly vendor: string;
        readonly validate: (value: unknown) => Validated<T> | Promise<Validated<T>>;
        readonly types?: { readonly input: unknown; readonly output: T } | undefined;
    };
}
export type Validated<T> =
    | { readonly value: T; readonly issues?: undefined }
    | { readonly issues: readonly { readonly message: string }[] };
/** One operation of the service. */
export interface Operation<Request, Response, Query = unknown> {
    readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
    /** Path below the base URL. \`{name}\` is one segment; \`{path*}\` is the rest, with its leading slash. */
    readonly path: string;
    readonly auth: 'basic' | 'bearer';
    /** Schema of the body; absent where there is none. */
    readonly request?: Schema<Request>;
    /** Schema of the query parameters; absent where there are none. */
    readonly query?: Schema<Query>;
    readonly response: Schema<Response>;
    /** The body is a form with a file. */
    readonly form?: true;
    /** The response has one such value a line. */
    readonly lines?: true;
    /** The response is bytes. */
    readonly bytes?: true;
    /** True if it may be carried out twice without harm. */
    readonly repeatable: boolean;
}
export type EndpointName = keyof typeof contract;`;

function named(schema: z.ZodType | undefined): string {
  return nameOfSchema(schema) ?? 'unknown';
}

function typeOf(schema: Schema): string {
  const { $ref, enum: values, const: literal, anyOf, type, properties, additionalProperties, items } = schema;
  if (typeof $ref === 'string') return $ref.split('/').at(-1)!;
  if (Array.isArray(values)) return values.map((value) => `'${value}'`).join(' | ');
  if (typeof literal === 'string') return `'${literal}'`;
  if (Array.isArray(anyOf)) return anyOf.map((one) => typeOf(one as Schema)).join(' | ');
  if (Array.isArray(type)) return type.map((one) => typeOf({ ...schema, type: one })).join(' | ');
  if (type === 'array') return `(${typeOf((items ?? {}) as Schema)})[]`;
  if (type === 'integer') return 'number';
  if (schema.format === 'binary') return 'Blob';
  if (type !== 'object') return type === undefined ? 'unknown' : String(type);
  if (properties === undefined || Object.keys(properties as Schema).length === 0) return 'Record<string, unknown>';
  const required = new Set(schema.required as string[] | undefined);
  const members = Object.entries(properties as Record<string, Schema>).map(([name, member]) => {
    const about = typeof member.description === 'string' ? `/** ${member.description.replaceAll('*/', '')} */\n` : '';
    return `${about}${name}${required.has(name) ? '' : '?'}: ${typeOf(member)};`;
  });
  const others = additionalProperties === false ? [] : ['[member: string]: unknown;'];
  const lines = [...members, ...others].join('\n').replaceAll(/^/gm, '    ');
  return `{\n${lines}\n}`;
}
