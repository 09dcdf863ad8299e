import type * as z from 'zod';
import { type Endpoint, endpoints } from '../../src/contract/endpoints.ts';
import { nameOfSchema, openApiDocument, type Schema } from '../../src/service/http/openapi.ts';

/** The types of the contract without the library that its schemas are written in. */
export function apiTypes(): string {
  const { schemas } = openApiDocument().components;
  const types = Object.entries(schemas).map(([name, schema]) => {
    const type = typeOf(schema);
    return type.startsWith('{') ? `export interface ${name} ${type}` : `export type ${name} = ${type};`;
  });
  const operations = Object.entries(endpoints).map(([name, endpoint]: [string, Endpoint]) => {
    const [request, response] = [named(endpoint.request), named(endpoint.response)];
    return `  readonly ${name}: Operation<${request}, ${response}${endpoint.query ? `, ${named(endpoint.query)}` : ''}>;`;
  });
  return `// Made from src/contract by \`npm run generate\`.
import type { Operation } from './interfaces.ts';

${types.join('\n\n')}

/** The operations of the service by name. */
export interface Contract {
${operations.join('\n')}
}
`;
}

function named(schema: z.ZodType | undefined): string {
  return nameOfSchema(schema) ?? 'unknown';
}

function typeOf(schema: Schema): string {
  const { $ref, enum: values, anyOf, type, properties, additionalProperties, items } = schema;
  if (typeof $ref === 'string') return $ref.split('/').at(-1)!;
  if (Array.isArray(values)) return values.map((value) => `'${value}'`).join(' | ');
  if (Array.isArray(anyOf)) return anyOf.map((one) => typeOf(one as Schema)).join(' | ');
  if (Array.isArray(type)) return type.map((one) => typeOf({ ...schema, type: one })).join(' | ');
  if (type === 'array') return `(${typeOf((items ?? {}) as Schema)})[]`;
  if (type === 'integer') return 'number';
  if (type !== 'object') return type === undefined ? 'unknown' : String(type);
  if (properties === undefined || Object.keys(properties as Schema).length === 0) return 'Record<string, unknown>';
  const required = new Set(schema.required as string[] | undefined);
  const members = Object.entries(properties as Record<string, Schema>).map(([name, member]) => {
    const about = typeof member.description === 'string' ? `/** ${member.description.replaceAll('*/', '')} */\n` : '';
    return `${about}${name}${required.has(name) ? '' : '?'}: ${typeOf(member)};`;
  });
  const others = additionalProperties === false ? [] : ['[member: string]: unknown;'];
  return `{\n${[...members, ...others].join('\n')}\n}`;
}
