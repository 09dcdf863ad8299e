import * as z from 'zod';
import { HeddleError } from '../contract/errors.ts';
import type { JsonSchema } from './arguments.ts';
import { createEvaluation } from './create-evaluation.ts';
import { listObjects } from './list-objects.ts';
import { listQueues } from './list-queues.ts';
import { queryQueueItems } from './query-queue-items.ts';
import { readCall } from './read-call.ts';
import { runInference } from './run-inference.ts';
import { type Tool, toolGroups } from './tool.ts';
import { updateQueueItems } from './update-queue-items.ts';

/** A tool with its schemas as clients see them. */
export interface RegisteredTool extends Tool {
  inputJsonSchema: JsonSchema;
  outputJsonSchema: JsonSchema;
}

/** Every tool, in the order in which clients see them. A harmless one comes first: some clients try the first. */
export const tools: readonly RegisteredTool[] = [
  listQueues,
  queryQueueItems,
  readCall,
  updateQueueItems,
  listObjects,
  runInference,
  createEvaluation,
  // The registry holds tools of different inputs; each only ever gets what its own schema has let through.
].map((tool) => registered(tool as unknown as Tool));

/**
 * The tools on offer: all, or those that `only` names itself or by a group, and with `readOnly` only those that change
 * nothing.
 * @throws HeddleError `not_configured` for a name that is neither a tool nor a group.
 */
export function selectTools({ readOnly, only }: { readOnly: boolean; only?: readonly string[] }): RegisteredTool[] {
  const names: readonly string[] = [...toolGroups, ...tools.map(({ name }) => name)];
  const unknown = only?.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new HeddleError({
      code: 'not_configured',
      message: `HEDDLE_TOOLS or --tools names "${unknown}", which is neither a tool nor a group.`,
      hint: `Known are ${names.join(', ')}.`,
    });
  }
  return tools.filter(
    ({ name, groups, hints }) =>
      (!readOnly || hints.readOnlyHint) &&
      (!only || only.includes(name) || groups.some((group) => only.includes(group))),
  );
}

/** The schemas are made when first asked for, and once: a handshake needs none of them. */
function registered(tool: Tool): RegisteredTool {
  let input: JsonSchema | undefined;
  let output: JsonSchema | undefined;
  return {
    ...tool,
    get inputJsonSchema() {
      input ??= jsonSchema(tool.input, 'input');
      return input;
    },
    get outputJsonSchema() {
      output ??= jsonSchema(tool.output, 'output');
      return output;
    },
  };
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
