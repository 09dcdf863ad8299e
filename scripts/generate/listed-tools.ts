import * as z from 'zod';
import { allTools } from '../../src/tools/index.ts';
import type { JsonSchema } from '../../src/tools/support/arguments.ts';

/** Every tool as clients see it, with JSON Schemas generated from its zod schemas. */
export const listedTools = allTools.map(({ name, title, description, groups, uses, hints, input, output }) => ({
  name,
  title,
  description,
  groups,
  uses,
  hints,
  inputJsonSchema: jsonSchema(input, 'input'),
  outputJsonSchema: jsonSchema(output, 'output'),
}));

/** Returns src/tools/support/listed.json, with one tool per line. */
export function listedToolsFile(): string {
  return `[\n${listedTools.map((tool) => JSON.stringify(tool)).join(',\n')}\n]\n`;
}

/** Converts a zod schema, without the keywords that a model cannot use but would pay for. */
function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    override: ({ jsonSchema: node }) => {
      if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
      if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
      delete node.propertyNames;
    },
  });
  return rest as JsonSchema;
}
