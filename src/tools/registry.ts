import * as z from 'zod';
import type { JsonSchema } from './arguments.ts';
import { createEvaluation } from './create-evaluation.ts';
import { queryQueueItems } from './query-queue-items.ts';
import { runInference } from './run-inference.ts';
import type { Tool } from './tool.ts';

/** A tool with its schemas as clients see them, made once: neither changes while a process runs. */
export interface RegisteredTool extends Tool {
  inputJsonSchema: JsonSchema;
  outputJsonSchema: JsonSchema;
}

/** Every tool, in the order in which clients see them. A harmless one comes first: some clients try the first. */
export const tools: readonly RegisteredTool[] = [queryQueueItems, runInference, createEvaluation].map((tool) => ({
  // The registry holds tools of different inputs; each only ever gets what its own schema has let through.
  ...(tool as unknown as Tool),
  inputJsonSchema: jsonSchema(tool.input, 'input'),
  outputJsonSchema: jsonSchema(tool.output, 'output'),
}));

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
