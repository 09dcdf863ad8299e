import { createHash } from 'node:crypto';
import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type ClientCapabilities,
  type Implementation,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type McpRequestContext,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type Resource,
  Server,
  type ServerContext,
  type ServerOptions,
} from '@modelcontextprotocol/server';
import * as z from 'zod';
import { errorKey } from '../board/error-key.ts';
import type { ServiceClient } from '../client/service-client.ts';
import { HeddleError } from '../core/errors.ts';
import { ownMember } from '../core/json/member-at.ts';
import type { McpCallStart } from '../core/observer.ts';
import type { Progress } from '../records/call-context.ts';
import { shortName } from '../text/names.ts';
import { exportCommand } from '../tools/definition/people-only.ts';
import { tools as allTools, type ListedTool } from '../tools/definition/registry.ts';
import { withProgram } from '../tools/definition/terminal-command.ts';
import type { QueueName, ToolContext } from '../tools/definition/tool.ts';
import { complete } from './completions.ts';
import { listedPrompt, type PromptDefinition, promptResult, prompts } from './mcp-prompts.ts';
import { noteJson } from './message-json.ts';
import { ResourceWatch } from './resource-watch.ts';
import {
  completionOfVariable,
  judgementsLink,
  listedTemplates,
  listQueueResources,
  readResource,
} from './resources.ts';
import {
  adviceOnCall,
  type CallCircumstances,
  type CallOptions,
  errorText,
  runTool,
  type ToolOutcome,
} from './run-tool.ts';
import {
  capabilities,
  listCacheHint,
  listeningCapabilities,
  serverInfo,
  tasksExtension,
  toMcpTool,
} from './server-facts.ts';
import { clientNameIn } from './session-id.ts';
import { getSkill, getSkillParams, isSkill, listSkills, listSkillsParams, readSkill } from './skills.ts';
import { continuationOf, mayTakeLong, TaskStore } from './tasks.ts';
import { listedViews, readView } from './view-resources.ts';
import { InputRequired, originOf, watchCall } from './watch-call.ts';

/** Options that all MCP servers of one runtime share. */
export interface McpServerOptions extends CallOptions {
  /** `stdio` on stdio; absent over HTTP, which is recognized by the request's headers. */
  transport?: 'stdio';
  /** Tells the client's model about this server and its service. */
  instructions: string;
}

/** Creates a protocol server for one stdio connection or one HTTP request; by default for a revision before 2026-07-28. */
export interface ServerFactory {
  (context?: Pick<McpRequestContext, 'era'>): Server;
  /** Creates what watches resources for the clients that listen to them. */
  watch: (onChange: (uri: string) => void) => ResourceWatch;
}

/** Key under which the `_meta` of a progress notification has the id of an evaluation's run. */
const runIdKey = 'io.github.heddle-mcp/run_id';

/** Minimum time between two progress notifications of a call. */
const progressIntervalMs = 250;

/** Queues come and go while a client is connected. */
const queueCacheHint = { ttlMs: 60_000, cacheScope: 'private' } as const;

/** Returns a function that creates an MCP server with the offered tools, their prompts and the resources. */
export function serverFactory(options: McpServerOptions): ServerFactory {
  const tasks = new TaskStore();
  const create = ({ era }: Pick<McpRequestContext, 'era'> = { era: 'legacy' }): Server => {
    const server = new Server(serverInfo, protocolOptions(options, era));
    registerHandlers(server, options, tasks);
    return server;
  };
  return Object.assign(create, { watch: (onChange: (uri: string) => void) => new ResourceWatch(options, onChange) });
}

/** Returns the options of the SDK's server: capabilities, instructions and cache hints. */
export function protocolOptions(
  { instructions }: McpServerOptions,
  era: McpRequestContext['era'] = 'legacy',
): ServerOptions {
  return {
    capabilities: era === 'modern' ? listeningCapabilities : capabilities,
    instructions,
    cacheHints: {
      'tools/list': listCacheHint,
      'prompts/list': listCacheHint,
      'resources/list': queueCacheHint,
      'resources/templates/list': listCacheHint,
    },
  };
}

/** Registers the handlers of all requests that heddle serves. `tasks` are those of all connections. */
export function registerHandlers(server: Server, options: McpServerOptions, tasks = new TaskStore()): void {
  const toolsByName = new Map(options.tools.map((tool) => [tool.name, tool]));
  const isOffered = (name: string): boolean => toolsByName.has(name);
  const promptsByName = new Map(
    prompts
      .filter((prompt) => prompt.tools.every(isOffered))
      .map((prompt): [string, PromptDefinition] => {
        const offered = prompt.arguments.filter(({ tools = [] }) => tools.every(isOffered));
        return [prompt.name, { ...prompt, arguments: offered }];
      }),
  );
  registerTools(server, options, toolsByName, tasks);
  registerPrompts(server, options, promptsByName);
  registerResourcesAndCompletions(server, options, promptsByName);
  server.setRequestHandler('skills/list', { params: listSkillsParams }, () => listSkills(isOffered));
  server.setRequestHandler('skills/get', { params: getSkillParams }, ({ uri }) => getSkill(uri, isOffered));
}

function registerTools(
  server: Server,
  options: McpServerOptions,
  toolsByName: ReadonlyMap<string, ListedTool>,
  tasks: TaskStore,
): void {
  server.setRequestHandler('tools/list', () => ({ tools: options.tools.map(toMcpTool) }));
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const origin = originOf(context, server, options.transport);
    const tool = toolsByName.get(params.name);
    if (!tool) {
      const advice = adviceOnCall([params.name], params.arguments, options);
      const error = unknownTool(options.redactor.redact(params.name), toolsByName, advice);
      return watchCall({ method: 'tools/call' }, origin, options, () => Promise.reject(error));
    }
    const capabilities = requestCapabilities(context) ?? server.getClientCapabilities();
    const runWith = async (
      args: unknown,
      {
        responses,
        ...given
      }: Pick<CallCircumstances, 'signal' | 'progress'> & { responses: Record<string, unknown> | undefined },
    ): Promise<ToolOutcome | InputRequired> => {
      const ask = createAsk(responses, capabilities);
      const circumstances = { ...origin, clientName: clientName(context, server), ask, ...given };
      try {
        return await runTool(tool, args, circumstances, options);
      } catch (error) {
        if (error instanceof InputRequired) return error;
        throw error;
      }
    };
    const toResult = (outcome: ToolOutcome | InputRequired): CallToolResult | InputRequiredResult =>
      outcome instanceof InputRequired
        ? confirmationRequest(outcome.question)
        : toCallToolResult(outcome, origin.protocolVersion);
    if (acceptsTasks(context) && mayTakeLong(tool.name, params.arguments)) {
      const started = tasks.start(async ({ signal, responses, report }) => {
        const given = { signal, responses, progress: (progress: Progress) => report(progressText(progress)) };
        let outcome = await runWith(params.arguments, given);
        for (;;) {
          const rest = 'data' in outcome ? continuationOf(outcome.data, params.arguments) : undefined;
          if (rest === undefined || signal.aborted) return toResult(outcome);
          outcome = await runWith(rest, given);
        }
      });
      if (started) return started as unknown as CallToolResult;
    }
    const progress = createProgress(context, options, origin.requestId);
    return toResult(
      await runWith(params.arguments, { signal: origin.signal, responses: context.mcpReq.inputResponses, progress }),
    );
  });
  registerTasks(server, tasks);
}

const taskParams = z.looseObject({ taskId: z.string() });

/** Registers the requests about tasks, for clients that know them. */
function registerTasks(server: Server, tasks: TaskStore): void {
  const requireTasks = (context: ServerContext): void => {
    if (acceptsTasks(context)) return;
    throw new MissingRequiredClientCapabilityError({
      requiredCapabilities: { extensions: { [tasksExtension]: {} } },
    });
  };
  server.setRequestHandler('tasks/get', { params: taskParams }, ({ taskId }, context) => {
    requireTasks(context);
    return { ...tasks.get(taskId) };
  });
  server.setRequestHandler('tasks/update', { params: taskParams }, ({ taskId }, context) => {
    requireTasks(context);
    // The SDK takes the answers out of the parameters of every request.
    tasks.update(taskId, context.mcpReq.inputResponses ?? {});
    return {};
  });
  server.setRequestHandler('tasks/cancel', { params: taskParams }, ({ taskId }, context) => {
    requireTasks(context);
    tasks.cancel(taskId);
    return {};
  });
}

/** The first revision with links to resources in results. */
const firstWithLinks = '2025-06-18';

/** Returns the outcome of a tool call in the form of the protocol. A model reads the text of an error, a View its `_meta`. */
function toCallToolResult(outcome: ToolOutcome, revision = ''): CallToolResult {
  if (!('error' in outcome)) {
    const { data, json, text, judged } = outcome;
    noteJson(data, json);
    const links = judged && revision >= firstWithLinks ? [judgementsLink(judged)] : [];
    return { content: [{ type: 'text', text }, ...links], structuredContent: data as Record<string, unknown> };
  }
  // The members that can be long are in the text alone.
  const { detail: _, partial_text: __, ...members } = outcome.error.toJSON();
  return {
    content: [{ type: 'text', text: errorText(outcome.error) }],
    isError: true,
    _meta: { [errorKey]: members },
  };
}

function registerPrompts(
  server: Server,
  { redactor }: McpServerOptions,
  promptsByName: ReadonlyMap<string, PromptDefinition>,
): void {
  server.setRequestHandler('prompts/list', () => ({ prompts: [...promptsByName.values()].map(listedPrompt) }));
  server.setRequestHandler('prompts/get', ({ params }) => {
    const prompt = promptsByName.get(params.name);
    if (!prompt) throw unknownName('prompt', redactor.redact(params.name), promptsByName);
    const missing = prompt.arguments.filter(({ name, required }) => required && !ownMember(params.arguments, name));
    if (missing.length > 0) {
      const names = missing.map(({ name }) => name).join(', ');
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Prompt ${params.name} needs ${names}`);
    }
    return promptResult(prompt, params.arguments ?? {});
  });
}

function registerResourcesAndCompletions(
  server: Server,
  options: McpServerOptions,
  promptsByName: ReadonlyMap<string, PromptDefinition>,
): void {
  const runWatched = async <T>(
    method: McpCallStart['method'],
    context: ServerContext,
    work: (service: ServiceClient) => Promise<T>,
  ): Promise<T> => {
    try {
      return await watchCall({ method }, originOf(context, server, options.transport), options, work);
    } catch (error) {
      throw error instanceof HeddleError ? asProtocolError(error, options) : error;
    }
  };
  const addresses = new Set(options.tools.flatMap(({ view }) => view ?? []));
  const views = listedViews.filter(({ uri }) => addresses.has(uri));
  // Clients find further queues, and calls, through the templates and their completions.
  server.setRequestHandler('resources/list', async (_, context) => ({
    resources: [...views, ...(await queueResources(context))],
  }));
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: listedTemplates }));
  const isOffered = (name: string): boolean => options.tools.some((tool) => tool.name === name);
  const commandFor = ({ project: calledProject, id: queueId }: QueueName): string =>
    exportCommand({ terminal: options.terminal, project: options.project, calledProject, queueId });
  server.setRequestHandler('resources/read', ({ params: { uri } }, context) => {
    if (isSkill(uri)) return readSkill(uri, isOffered);
    if (views.some((view) => view.uri === uri)) return readView(uri);
    return runWatched('resources/read', context, (service) => readResource(uri, service, commandFor));
  });
  const queueResources = async ({ mcpReq }: ServerContext): Promise<Resource[]> => {
    const { project, service, log } = options;
    if (project === undefined) return [];
    try {
      return await listQueueResources(project, await service(), mcpReq.signal);
    } catch (error) {
      // Clients list resources when they connect; a service that is down must not keep them from the tools.
      log('info', 'queues not listed', { error: options.redactor.redact((error as Error).message) });
      return [];
    }
  };
  server.setRequestHandler('completion/complete', async ({ params: { ref, argument, context: filled } }, context) => {
    const kind =
      ref.type === 'ref/prompt'
        ? promptsByName.get(ref.name)?.arguments.find(({ name }) => name === argument.name)?.completion
        : completionOfVariable(ref.uri, argument.name);
    if (!kind) return { completion: { values: [] } };
    const { project_id, entity, project } = filled?.arguments ?? {};
    // Models belong to no project: the service attributes the request to the configured one.
    const named = kind === 'model' ? undefined : project_id || (entity && project && `${entity}/${project}`);
    const searchedProject = named || options.project;
    const values = await runWatched('completion/complete', context, (service) =>
      complete(kind, argument.value, searchedProject, service),
    );
    return { completion: { values } };
  });
}

/** Returns a protocol error with the message and the hint of a tool error. */
function asProtocolError(error: HeddleError, { redactor, terminal }: CallOptions): ProtocolError {
  const { message, hint } = error;
  return new ProtocolError(
    ProtocolErrorCode.InternalError,
    redactor.redact(`${message} ${withProgram(hint, terminal.program)}`),
    redactor.redactStrings(error),
  );
}

function unknownTool(name: string, offered: ReadonlyMap<string, ListedTool>, advice?: string): ProtocolError {
  if (!allTools.some((tool) => tool.name === name)) return unknownName('tool', name, offered, advice);
  const names = [...offered.keys()].join(', ') || 'none';
  return new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `The user has switched the tool ${name} off with HEDDLE_READ_ONLY or HEDDLE_TOOLS; offered tools: ${names}`,
  );
}

function unknownName(kind: string, name: string, known: ReadonlyMap<string, unknown>, advice?: string): ProtocolError {
  const names = [...known.keys()].join(', ') || 'none';
  const next = advice === undefined ? '' : `. ${advice}`;
  return new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `Unknown ${kind} ${JSON.stringify(shortName(name))}; known names: ${names}${next}`,
  );
}

/** Returns the key of a question, so that an answer counts only for exactly this question, including the number of items in it. */
function questionKey(question: string): string {
  return `confirm_${createHash('sha256').update(question).digest('hex').slice(0, 16)}`;
}

/** Puts a question into a result: the client asks the user, then repeats the call with the answer. */
function confirmationRequest(message: string) {
  const properties = { confirm: { type: 'boolean', title: 'Do it' } } as const;
  const requestedSchema = { type: 'object' as const, properties, required: ['confirm'] };
  return inputRequired({
    inputRequests: { [questionKey(message)]: inputRequired.elicit({ message, requestedSchema }) },
  });
}

/**
 * Returns the name of the client: from protocol revision 2026-07-28 on it comes with each request, in earlier ones with `initialize`,
 * and over HTTP then in the id of the session.
 */
function clientName({ mcpReq, http }: ServerContext, server: Server): string | undefined {
  const envelope = mcpReq.envelope as Record<string, Implementation> | undefined;
  return (envelope?.[CLIENT_INFO_META_KEY] ?? server.getClientVersion())?.name ?? clientNameIn(http?.req?.headers);
}

/** Returns the capabilities that came with a request, as from protocol revision 2026-07-28 on. */
function requestCapabilities({ mcpReq }: ServerContext): ClientCapabilities | undefined {
  const envelope = mcpReq.envelope as Record<string, ClientCapabilities> | undefined;
  return envelope?.[CLIENT_CAPABILITIES_META_KEY];
}

/** Returns whether a client follows calls that go on after their answer. Earlier revisions do not have the extension. */
function acceptsTasks(context: ServerContext): boolean {
  return requestCapabilities(context)?.extensions?.[tasksExtension] !== undefined;
}

/** Creates a tool's `ask`, which reads the answer that came with the call or throws InputRequired to get one. */
function createAsk(
  responses: Record<string, unknown> | undefined,
  capabilities: ClientCapabilities | undefined,
): ToolContext['ask'] {
  return (question) => {
    const answer = inputResponse(responses, questionKey(question));
    // Clients without a user at the screen cancel every question.
    if (answer.kind === 'elicit' && answer.action === 'cancel') return 'cannot';
    if (answer.kind === 'elicit') return answer.action === 'accept' && answer.content?.confirm === true ? 'yes' : 'no';
    const elicitation = capabilities?.elicitation;
    // Before elicitation had modes, an empty object meant that the client can show a form.
    if (!elicitation || (Object.keys(elicitation).length > 0 && !elicitation.form)) return 'cannot';
    throw new InputRequired(question);
  };
}

/** Returns the progress of a call as text for the person at the client. */
function progressText({ done, total, unit, run_id }: Progress): string {
  const run = run_id === undefined ? '' : `run_id ${run_id}: `;
  return `${run}${total === undefined ? done : `${done} of ${total}`} ${unit}`;
}

/** Creates a tool's `progress`, which notifies a client that asked for it, at most every 250 ms. */
function createProgress(
  { mcpReq }: ServerContext,
  { log }: McpServerOptions,
  requestId: string,
): ToolContext['progress'] {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return () => {};
  let lastAt = Number.NEGATIVE_INFINITY;
  return (progress) => {
    const now = performance.now();
    if (now - lastAt < progressIntervalMs) return;
    lastAt = now;
    const { done, total, run_id } = progress;
    const params = {
      progressToken,
      progress: done,
      ...(total !== undefined && { total }),
      message: progressText(progress),
      ...(run_id !== undefined && { _meta: { [runIdKey]: run_id } }),
    };
    mcpReq
      .notify({ method: 'notifications/progress', params })
      .catch((error: Error) => log('debug', 'progress not delivered', { request_id: requestId, error: error.message }));
  };
}
