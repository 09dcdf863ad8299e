import * as z from 'zod';
import type { ServiceClient } from '../../client/service-client.ts';
import type { EndpointName } from '../../contract/endpoints.ts';
import { projectId } from '../../contract/identifiers.ts';
import { HeddleError } from '../../core/errors.ts';

/** What a tool may use while it runs. */
export interface ToolContext {
  service: ServiceClient;
  /** Project for calls that name none. */
  project?: string;
  /** Most characters that the serialised result may have; a tool need not ask the service for more than fits. */
  maxResultChars: number;
  /** Aborted when the client cancels the call or goes away. */
  signal: AbortSignal;
  /**
   * Asks the person at the client; `cannot` where the client has no way to ask. The first time it does not return: the
   * call is put off, and the tool is run anew once the person has answered. So it comes before anything that changes.
   */
  ask: (question: string) => 'yes' | 'no' | 'cannot';
  /** Tells the waiting client how far the work is: `done` only ever grows, in a unit that `message` names. */
  progress: (done: number, message: string) => void;
}

/** The four behaviour hints of the protocol; all are always said. */
export interface ToolHints {
  readOnlyHint: boolean;
  destructiveHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
}

/** Kinds of work, by which a person can choose the tools on offer. */
export const toolGroups = ['queue', 'inference', 'evaluation'] as const;
export type ToolGroup = (typeof toolGroups)[number];

/** A tool as plain data and functions. It throws {@link HeddleError}s and has no error handling of its own. */
export interface Tool<Input = unknown, Output extends object = object> {
  name: string;
  title: string;
  groups: ToolGroup[];
  /** Operations of the service that it cannot do without. */
  uses: EndpointName[];
  /** For the model: when to use it, what the arguments mean with an example, what comes back. */
  description: string;
  hints: ToolHints;
  input: z.ZodType<Input>;
  output: z.ZodType;
  run: (args: Input, context: ToolContext) => Promise<Output>;
  /** The text that an agent reads, from the data alone. */
  render: (data: Output) => string;
  /**
   * The same result with about `share` (0–1) of its size, saying that it is partial and how to go on; undefined when
   * it cannot be made smaller.
   */
  shrink: (data: Output, share: number) => Output | undefined;
}

/** Fixes the types of a tool's parts to each other. */
export function defineTool<Input, Output extends object>(tool: Tool<Input, Output>): Tool<Input, Output> {
  return tool;
}

type WithoutNull<T extends z.ZodType> =
  T extends z.ZodOptional<infer Inner>
    ? z.ZodOptional<WithoutNull<Inner & z.ZodType>>
    : T extends z.ZodNullable<infer Inner>
      ? Inner & z.ZodType
      : T;

/** A member without null. */
function withoutNull<T extends z.ZodType>(schema: T): WithoutNull<T> {
  const { description } = schema;
  let inner: z.ZodType = schema;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodNullable) inner = inner.unwrap() as z.ZodType;
  const member: z.ZodType = schema.isOptional() ? inner.optional() : inner;
  return (description === undefined ? member : member.describe(description)) as WithoutNull<T>;
}

/**
 * The members of an object of the interface as a tool takes them: optional means absent, so null goes out of the
 * advertised schema. A null that a client sends all the same is dropped before the check (see `parseArguments`).
 */
export function shapeWithoutNull<Shape extends Record<string, z.ZodType>>(
  shape: Shape,
): { [Name in keyof Shape]: WithoutNull<Shape[Name]> } {
  return Object.fromEntries(Object.entries(shape).map(([name, schema]) => [name, withoutNull(schema)])) as {
    [Name in keyof Shape]: WithoutNull<Shape[Name]>;
  };
}

/** The argument that names the project of a call; `what` says which one that is. */
export function projectArgument(what: string) {
  return projectId.optional().describe(`${what}, written entity/project; the configured one when absent.`);
}

/**
 * The project of a call: the argument, else the configured one.
 * @throws HeddleError `invalid_arguments` when there is neither.
 */
export function projectOf(args: { project_id?: string }, context: Pick<ToolContext, 'project'>): string {
  const project = args.project_id ?? context.project;
  if (project !== undefined) return project;
  throw new HeddleError({
    code: 'invalid_arguments',
    message: 'No project: the call has no project_id and none is configured.',
    hint: 'Call again with project_id, written entity/project, or ask the user to set HEDDLE_PROJECT.',
    detail: [{ loc: ['arguments', 'project_id'], msg: 'Required member is missing', type: 'missing' }],
  });
}
