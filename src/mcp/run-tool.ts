import { projectId } from '../contract/identifiers.ts';
import { parsePartReference } from '../contract/references.ts';
import { HeddleError } from '../core/errors.ts';
import { ownMember } from '../core/json/member-at.ts';
import type { Redactor } from '../core/secrets/redaction.ts';
import { longTextChars, nextTurn, type Pause } from '../core/turns.ts';
import { namingRefusedProject } from '../records/require-project.ts';
import { cutValue } from '../text/call-values.ts';
import { cell, escapeInvisible } from '../text/compact-table.ts';
import { withFirstRows } from '../text/page.ts';
import { parseArguments } from '../tools/definition/arguments.ts';
import { adviceForPeople } from '../tools/definition/people-only.ts';
import { runOnNamedQueue } from '../tools/definition/queue-names.ts';
import type { ListedTool } from '../tools/definition/registry.ts';
import { type TerminalAccess, withProgram } from '../tools/definition/terminal-command.ts';
import { type QueueName, queueArgument, type Tool, type ToolContext } from '../tools/definition/tool.ts';
import { type CallOrigin, type WatchOptions, watchCall } from './watch-call.ts';

/** Options that are the same for every tool call of a process. */
export interface CallOptions extends WatchOptions {
  /** Project for calls without `project_id`. */
  project?: string;
  /** Where that project comes from, like `HEDDLE_PROJECT`; absent for a default. */
  projectSource?: string;
  /** `json` repeats the structured result as the text; `compact` is written for a model. */
  text: 'compact' | 'json';
  /** Maximum size of each of the two forms of a result, as {@link sizeOf} measures it. */
  maxResultChars: number;
  /** True if the service is the embedded one, whose data commands on this machine manage. */
  isEmbedded?: boolean;
  /** The project of sample data, which results mark so that it is not mistaken for real data. */
  sampleProject?: string;
  terminal: TerminalAccess;
  /** Removes secrets from results and errors before they leave the process. */
  redactor: Redactor;
  tools: readonly ListedTool[];
}

/** The result of a tool, without secrets and cut to the size limit. */
export interface ToolReturn {
  data: object;
  /** The same as JSON. */
  json: string;
  /** The same as a model reads it. */
  text: string;
  /** The queue whose judgements the result is about; clients can read them as a file. */
  judged?: QueueName | undefined;
}

/** The outcome of a tool call. Its error has no secrets either, and a long partial text and a long `detail` are cut. */
export type ToolOutcome = ToolReturn | { error: HeddleError };

/**
 * The circumstances of a tool call. By default it comes from this process itself, the user cannot be asked, and progress is
 * discarded.
 */
export type CallCircumstances = Pick<CallOrigin, 'signal'> &
  Partial<CallOrigin & Pick<ToolContext, 'clientName' | 'ask' | 'progress'>>;

/**
 * Runs a tool, for every transport, page and command alike.
 * @throws InputRequired when the tool asks the user a question. Every other failure is part of the outcome.
 */
export async function runTool(
  listed: ListedTool,
  args: unknown,
  circumstances: CallCircumstances,
  options: CallOptions,
): Promise<ToolOutcome> {
  const { project, maxResultChars, redactor } = options;
  const { clientName, ask = () => 'cannot' as const, progress = () => {}, ...partialOrigin } = circumstances;
  const origin = { requestId: crypto.randomUUID(), trace: {}, ...partialOrigin };
  const offersTool = offeredBy(options);
  try {
    return await watchCall({ method: 'tools/call', tool: listed.name }, origin, options, async (service) => {
      const tool = await listed.load();
      const redact = (text: string): string => redactor.redact(text);
      const adviceFor = (names: string[]): string | undefined => adviceOnCall(names, args, options, tool.name);
      const input = parseArguments(tool.input, args, listed, redact, adviceFor);
      const withoutSecrets = <T>(value: T): Promise<T> => redactor.redactValueInSteps(value);
      const meant = new Map<string, string>();
      const noteMeant = (name: string, annotator: string): void => void meant.set(name, annotator);
      const given = { clientName, ask, progress, service, project, maxResultChars, noteMeant };
      const context = { ...given, offersTool, withoutSecrets, terminal: options.terminal };
      // The arguments on which the tool has run have the id of a queue that the call names.
      let used = input;
      const run: Tool['run'] = (usedArgs, given) => {
        used = usedArgs;
        return tool.run(usedArgs, given);
      };
      const result = await runOnNamedQueue({ ...tool, run }, input, context);
      const hasTimes = typeof tool.hasTimes === 'function' ? tool.hasTimes(result) : tool.hasTimes;
      const named = meant.size === 0 ? result : { ...result, meant: Object.fromEntries(meant) };
      const data = hasTimes ? { ...named, now: service.facts.now() } : named;
      const isSample = readsSample(listed, input, options);
      // The result of a change is returned however late, and so is one that lacks parts because a request took too long.
      const endsInTime = tool.hints.readOnlyHint && !service.missedDeadline;
      const pause: Pause = () => (endsInTime ? service.pause() : nextTurn());
      const fitting = await fittingResult(tool, isSample ? { ...data, sample_data: true } : data, options, pause);
      const judged = tool.judgedQueue?.(used, context);
      return { ...fitting, ...(judged && { judged: redactor.redactStrings(judged) }) };
    });
  } catch (error) {
    const named = await namingProject(error, args, options);
    if (named instanceof HeddleError) return { error: reportable(withAlternatives(named, options), options) };
    throw named;
  }
}

/** Names the project of a call that the service has refused. */
async function namingProject(error: unknown, args: unknown, options: CallOptions): Promise<unknown> {
  if (!(error instanceof HeddleError) || error.code !== 'forbidden') return error;
  const called = projectId.safeParse(ownMember(args, 'project_id')).data;
  const source = called === undefined ? options.projectSource : undefined;
  return namingRefusedProject(error, called ?? options.project, source, await options.service());
}

function offeredBy({ tools }: CallOptions): (name: string) => boolean {
  return (name) => tools.some((offered) => offered.name === name);
}

/** Returns how people do what a call asks for by unknown names, if that is something which no tool does. */
export function adviceOnCall(
  names: readonly string[],
  args: unknown,
  options: CallOptions,
  tool?: string,
): string | undefined {
  const { terminal, project, redactor, isEmbedded = false } = options;
  const advice = adviceForPeople(names, {
    terminal,
    project,
    calledProject: projectId.safeParse(ownMember(args, 'project_id')).data,
    queueId: queueArgument.safeParse(ownMember(args, 'queue_id')).data,
    tool,
    isEmbedded,
    offersTool: offeredBy(options),
  });
  return advice && redactor.redact(advice);
}

/** Shrinks the data of a tool until the result fits into `maxResultChars`. Calls `pause` between its steps. */
async function fittingResult(tool: Tool, data: object, options: CallOptions, pause: Pause): Promise<ToolReturn> {
  const { maxResultChars, redactor } = options;
  // Values of the service no longer contain secrets, but an argument that the result repeats may. Removed before anything
  // is cut, because part of a secret is not recognized.
  let json = JSON.stringify(data);
  let rest: object | undefined = data;
  if (!redactor.isClean(json)) {
    rest = await redactor.redactValueInSteps(data, pause);
    json = JSON.stringify(rest);
  }
  for (; rest !== undefined; json = JSON.stringify(rest)) {
    if (json.length >= longTextChars) await pause();
    // Before the text is written: that of data which is too large can be many times its size.
    const dataSize = sizeOf(json);
    if (dataSize > maxResultChars) {
      rest = shrink(tool, rest, maxResultChars / dataSize);
      continue;
    }
    const text = options.text === 'json' ? json : textOf(tool, rest);
    const textSize = sizeOf(text);
    if (textSize <= maxResultChars) return { data: rest, json, text };
    rest = shrink(tool, rest, maxResultChars / textSize);
  }
  throw new HeddleError({
    code: 'too_large',
    message: `The result of ${tool.name} is larger than ${maxResultChars} characters.`,
    hint: 'Ask for less, or ask the user to raise HEDDLE_MAX_RESULT_CHARS.',
  });
}

/**
 * Returns the size of a text in characters, of which those outside ASCII count as 2 to 4: as many as they have bytes in UTF-8,
 * which is how clients measure results, and closer to their tokens.
 */
function sizeOf(text: string): number {
  return Buffer.byteLength(text);
}

/** Returns the mean size of a character of a text; 1 for an empty one. */
function charSize(text: string): number {
  return text === '' ? 1 : sizeOf(text) / text.length;
}

/** Returns whether the result of a tool is of the sample project; models belong to no project. */
function readsSample(listed: ListedTool, input: unknown, { project, sampleProject }: CallOptions): boolean {
  const { project_id, ref, kind } = input as { project_id?: string; ref?: string; kind?: string };
  const reference = ref === undefined ? undefined : parsePartReference(ref)?.object;
  const used = reference ? `${reference.entity}/${reference.project}` : (project_id ?? project);
  const { properties = {} } = listed.inputJsonSchema;
  const hasProject = (properties.project_id ?? properties.ref) !== undefined && kind !== 'model';
  return sampleProject !== undefined && hasProject && used === sampleProject;
}

/** The members that heddle adds to the data of a tool. */
type AddedMembers = { meant?: Record<string, string>; now?: string; sample_data?: true };

/** Shrinks the data of a tool and keeps the members that heddle has added. */
function shrink(tool: Tool, data: object, share: number): object | undefined {
  const rest = tool.rows === undefined ? tool.shrink?.(data, share) : withFirstRows(data, tool.rows, share);
  const { meant, now, sample_data }: AddedMembers = data;
  return (
    rest && { ...rest, ...(meant && { meant }), ...(now !== undefined && { now }), ...(sample_data && { sample_data }) }
  );
}

function textOf(tool: Tool, data: object): string {
  const { meant = {}, now, sample_data }: AddedMembers = data;
  return [
    tool.render(data),
    ...Object.entries(meant).map(([name, annotator]) => `${JSON.stringify(name)} means ${cell(annotator)}.`),
    ...(now === undefined ? [] : [`Now: ${now}`]),
    ...(sample_data ? ['(Sample data.)'] : []),
  ].join('\n');
}

/** Names the tools that work without an operation that the service lacks. */
function withAlternatives(error: HeddleError, { tools }: CallOptions): HeddleError {
  if (error.code !== 'unsupported' || error.endpoint === undefined) return error;
  const alternatives = tools.filter(({ uses }) => !uses.some((name) => name === error.endpoint));
  const hint = `This service does not have the operation. Tools that work without it: ${alternatives.map(({ name }) => name).join(', ')}.`;
  return new HeddleError({ ...error, message: error.message, hint });
}

/** Maximum number of `detail` entries in an error. */
const maxDetails = 50;

/** Removes secrets from an error, cuts its long members, and has its commands begin as the user types them. */
function reportable(error: HeddleError, { redactor, maxResultChars, terminal }: CallOptions): HeddleError {
  const { message, hint, partialText, detail } = error;
  // The partial text has no secrets; what the cut leaves of one is found by the mark of the cut.
  const cut = partialText !== undefined && {
    partialText: String(cutValue(partialText, Math.floor(maxResultChars / 2 / charSize(partialText)))),
  };
  return new HeddleError(
    redactor.redactStrings({
      ...error,
      message,
      hint: withProgram(hint, terminal.program),
      detail: detail?.slice(0, maxDetails),
      ...cut,
    }),
  );
}

/** Formats an error for a model: what happened, the next step, and the other members as one line of JSON. */
export function errorText(error: HeddleError): string {
  const { statedDetails = Number.POSITIVE_INFINITY } = error;
  const stated = new Set<string | undefined>(error.detail?.slice(0, statedDetails).map(({ msg }) => msg));
  const isStated = (msg: string | undefined, index: number): boolean =>
    index < statedDetails || (stated.size === 1 && stated.has(msg));
  const detail = error.detail?.map(({ msg, ...place }, index) => (isStated(msg, index) ? place : { ...place, msg }));
  const rest = { ...error.toJSON(), message: undefined, hint: undefined, detail };
  return [error.message, error.hint, JSON.stringify(rest)].map(escapeInvisible).join('\n');
}
