import * as z from 'zod';
import type { EndpointName } from '../../contract/endpoints.ts';
import { projectId } from '../../contract/identifiers.ts';
import { HeddleError } from '../../core/errors.ts';
import type { CallContext } from '../../records/call-context.ts';
import type { TerminalAccess } from './terminal-command.ts';

/** The environment in which a tool runs. */
export interface ToolContext extends CallContext {
  /** Project for tool calls that name none. */
  project?: string;
  terminal: TerminalAccess;
  /** Returns whether the user offers a tool of this name. */
  offersTool: (name: string) => boolean;
  /**
   * Asks the user at the client; returns `cannot` when the client has no way to ask, or the user did not answer. The first call
   * throws: the tool call is suspended, and the tool starts over once the user has answered. Call it before anything that
   * has effects.
   */
  ask: (question: string) => 'yes' | 'no' | 'cannot';
}

/** The four behaviour hints of the protocol, all of them set. */
export interface ToolHints {
  readOnlyHint: boolean;
  destructiveHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
}

/** Groups of tools that a user can offer by name. */
export const toolGroups = ['queue', 'inference', 'evaluation'] as const;
export type ToolGroup = (typeof toolGroups)[number];

/** A queue and its project, `entity/project`. */
export interface QueueName {
  project: string;
  id: string;
}

/** The definition of a tool. Its functions throw {@link HeddleError}s; `runTool` returns them as objects. */
export interface Tool<Input = unknown, Output extends object = object> {
  name: string;
  title: string;
  groups: ToolGroup[];
  /** Service operations that the tool requires. */
  uses: EndpointName[];
  /** Tells the model when to use the tool, what its arguments mean (with an example) and what it returns. */
  description: string;
  hints: ToolHints;
  /** Address of the View that clients with MCP Apps show for a result. */
  view?: `ui://${string}`;
  input: z.ZodType<Input>;
  output: z.ZodType;
  run: (args: Input, context: ToolContext) => Promise<Output>;
  /** True if results have times, or returns whether one has: heddle adds what time it is, as `now`. */
  hasTimes?: boolean | ((data: Output) => boolean);
  /** Returns whether less was done than the call asked for. Absent where a call does all of it, or throws. */
  isIncomplete?: (data: Output) => boolean;
  /** Returns the queue whose judgements a result is about, so that it links to their export. */
  judgedQueue?: (args: Input, context: ToolContext) => QueueName;
  /** Renders the result as text for a model. */
  render: (data: Output) => string;
  /** Name of the member with the rows of a page, a plural in s. A page that is too large loses its last rows. */
  rows?: string & keyof Output;
  /**
   * Returns the result cut to about `share` (0–1) of its size, stating that it is partial and how to continue;
   * undefined when it cannot be cut. Absent where `rows` says enough, and where a result is always small.
   */
  shrink?: (data: Output, share: number) => Output | undefined;
}

/** Returns the tool unchanged; infers its input and output types. */
export function defineTool<Input, Output extends object>(tool: Tool<Input, Output>): Tool<Input, Output> {
  return tool;
}

/** Returns whether a result mentions a day or a time. */
export function mentionsTime(data: object): boolean {
  return /\b\d{4}-\d\d-\d\d(T|\b)/.test(JSON.stringify(data));
}

/** Argument for a queue: its id, or its name if no other queue has it. */
export const queueArgument = z.string().trim().min(1).max(256);

/** Returns the `project_id` argument of a tool; `subject` begins its description, like `Project of the queue`. */
export function projectArgument(subject: string) {
  return projectId.optional().describe(`${subject}, written entity/project; defaults to the configured one.`);
}

/**
 * Returns the project of a tool call: its argument, or else the configured project.
 * @throws HeddleError `invalid_arguments` when there is neither.
 */
export function projectOf(args: { project_id?: string }, context: Pick<ToolContext, 'project'>): string {
  const project = args.project_id ?? context.project;
  if (project !== undefined) return project;
  throw new HeddleError({
    code: 'invalid_arguments',
    message: 'No project: the call has no project_id, and no project is configured.',
    hint: 'Call again with project_id, written entity/project, or ask the user to set HEDDLE_PROJECT.',
    terminalHint:
      'Add --project entity/project, or run `heddle config set project entity/project` once for all commands.',
    detail: [{ loc: ['arguments', 'project_id'], msg: 'Required member is missing', type: 'missing' }],
  });
}
