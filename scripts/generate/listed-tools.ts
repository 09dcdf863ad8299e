import * as z from 'zod';
import { allTools } from '../../src/tools/index.ts';
import type { JsonSchema } from '../../src/tools/support/arguments.ts';

/** What is listed of every tool, with the JSON Schemas that zod makes. */
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

/** src/tools/listed.json: the same, one tool a line. */
export function listedToolsFile(): string {
  return `[\n${listedTools.map((tool) => JSON.stringify(tool)).join(',\n')}\n]\n`;
}

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    override: ({ jsonSchema: node }) => {
      // What a model cannot use, it should not pay for.
      if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
      if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
      delete node.propertyNames;
    },
  });
  return rest as JsonSchema;
}
