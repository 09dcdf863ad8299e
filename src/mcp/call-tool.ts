import type { CallToolResult } from '@modelcontextprotocol/server';
import { HeddleError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { Observer } from '../core/observer.ts';
import type { Redactor } from '../core/redaction.ts';
import { parseArguments } from '../tools/support/arguments.ts';
import { cutValue } from '../tools/support/call-values.ts';
import type { ListedTool } from '../tools/support/registry.ts';
import { escapeInvisible } from '../tools/support/table.ts';
import type { Tool, ToolContext } from '../tools/support/tool.ts';
import { type Origin, ownOrigin, watchCall } from './watch-call.ts';

/** How results are shaped, the same for every call of a process. */
export interface ResultOptions {
  /** `json` repeats the structured result as the text; `compact` is written for a model. */
  text: 'compact' | 'json';
  /** Most characters of the serialised result. */
  maxResultChars: number;
  /** Said at the end of every text, where there is something to say about the service in use. */
  footnote?: string;
  log: Log;
  /** Is told of every call, where somebody asked for metrics or traces. */
  observer?: Observer | undefined;
  /** Removes secrets from results and errors: the last step before they leave the process. */
  redactor: Redactor;
  /** The tools on offer. */
  tools: readonly ListedTool[];
}

/** Thrown by a context's `ask`: the call is put off until the person has answered. It is no failure. */
export class InputRequired {
  readonly question: string;

  constructor(question: string) {
    this.question = question;
  }
}

/** Runs one tool. The one place where any failure becomes a tool result (design §5). */
export async function callTool(
  listed: ListedTool,
  args: unknown,
  context: ToolContext,
  settings: ResultOptions,
  origin: Origin = ownOrigin(),
): Promise<CallToolResult> {
  const watch = watchCall({ method: 'tools/call', tool: listed.name }, origin, settings);
  try {
    const tool = await listed.load();
    const input = parseArguments(tool.input, args, listed);
    // However many requests a tool makes, its caller waits for one deadline.
    const service = context.service.withSharedDeadline(watch.scope);
    let data: object | undefined = await tool.run(input, { ...context, service });
    while (data !== undefined) {
      const whole = resultOf(tool, data, settings);
      let text = JSON.stringify(whole);
      // A service may send back what it was sent; a live secret goes no further, whatever else the result holds.
      const result = settings.redactor.redactValue(whole, text);
      if (result !== whole) text = JSON.stringify(result);
      if (text.length <= settings.maxResultChars) {
        watch.end('ok');
        return result;
      }
      data = tool.shrink(data, settings.maxResultChars / text.length);
    }
    throw new HeddleError({
      code: 'too_large',
      message: `The result of ${tool.name} is larger than ${settings.maxResultChars} characters.`,
      hint: 'Ask for less, or ask the user to raise HEDDLE_MAX_RESULT_CHARS.',
    });
  } catch (error) {
    if (error instanceof InputRequired) {
      watch.end('input_required');
      throw error;
    }
    const failure = toHeddleError(error, listed.name, watch);
    watch.end(failure.code, failure);
    return errorResult(withRemainingTools(failure, settings), settings);
  }
}

function resultOf(tool: Tool, data: object, { text, footnote }: ResultOptions): CallToolResult {
  const body = text === 'json' ? JSON.stringify(data) : tool.render(data);
  return {
    content: [{ type: 'text', text: footnote === undefined || text === 'json' ? body : `${body}\n${footnote}` }],
    structuredContent: data as Record<string, unknown>,
  };
}

/** Where the service lacks an operation, the next step is one of the tools that do without it. */
function withRemainingTools(error: HeddleError, { tools }: ResultOptions): HeddleError {
  if (error.code !== 'unsupported') return error;
  const remaining = tools.filter(({ uses }) => !uses.some((name) => name === error.endpoint));
  const hint = `This service does not have the operation. Tools that do without it: ${remaining.map(({ name }) => name).join(', ')}.`;
  return new HeddleError({ ...error, message: error.message, hint });
}

/** Gives every failure the one error type; what is not foreseen is logged whole and told without its inside. */
export function toHeddleError(error: unknown, what: string, { log }: Pick<ResultOptions, 'log'>): HeddleError {
  if (error instanceof HeddleError) return error;
  log('error', 'unexpected failure', { what, error: error instanceof Error ? (error.stack ?? error.message) : error });
  return new HeddleError({
    code: 'internal',
    message: `heddle failed in ${what}: the fault is in heddle itself, not in the call or the service.`,
    hint: 'Try once more; if it stays, ask the user to report it with the log on stderr.',
    cause: error,
  });
}

/** Most entries of `detail` that an error result has. */
const maxDetail = 50;

/**
 * A sentence for the model with the next step, then the same as one line of JSON. Like every result it keeps to its
 * size: of a reply's text so far the beginning stays, with a mark that says how much is missing.
 */
export function errorResult(
  error: HeddleError,
  { redactor, maxResultChars }: Pick<ResultOptions, 'redactor' | 'maxResultChars'>,
): CallToolResult {
  const json = error.toJSON();
  if (error.detail && error.detail.length > maxDetail) json.detail = error.detail.slice(0, maxDetail);
  if (error.partialText !== undefined) json.partial_text = cutValue(error.partialText, Math.floor(maxResultChars / 2));
  const text = `${escapeInvisible(`${error.message} ${error.hint}`)}\n${escapeInvisible(JSON.stringify(json))}`;
  return { content: [{ type: 'text', text: redactor.redact(text) }], isError: true };
}
