import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  inputRequired,
  inputResponse,
  type ListToolsResult,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
  type ServerOptions,
} from '@modelcontextprotocol/server';
import type { ServiceClient } from '../client/service-client.ts';
import { version } from '../core/version.ts';
import type { ListedTool } from '../tools/support/registry.ts';
import type { ToolContext } from '../tools/support/tool.ts';
import { callTool, InputRequired, type ResultOptions, toHeddleError } from './call-tool.ts';
import { listedPrompt, promptResult, prompts } from './prompts.ts';
import { completesFrom, listedTemplates, readResource } from './resources.ts';
import { type Origin, originOf, watchCall } from './watch-call.ts';

/** What every server instance of a process shares; made once, however many connections or requests are served. */
export interface McpServerOptions extends ResultOptions {
  /** The client of the service, made when first needed. */
  service: () => Promise<ServiceClient>;
  /** Project for calls that name none. */
  project?: string;
  /** What the one connection is, where it is known and not HTTP. */
  transport?: 'stdio';
  /** For the client's model: what this server is and which service it works on. */
  instructions: string;
  /** Called once, when a client has asked for the list of tools: the first call is not far. */
  onListed?: () => void;
}

/** Makes a server. */
export type ServerFactory = () => Server;

/** Progress of one call is told at most this often, in milliseconds. */
const progressIntervalMs = 250;

/** What is listed changes only with the version of the package and its configuration. */
const listHint = { ttlMs: 3_600_000, cacheScope: 'private' } as const;

/** A tool as clients see it. */
export function listedTool(tool: ListedTool): ListToolsResult['tools'][number] {
  const { name, title, description, inputJsonSchema, outputJsonSchema, hints } = tool;
  return {
    name,
    title,
    description,
    inputSchema: inputJsonSchema as ListToolsResult['tools'][number]['inputSchema'],
    outputSchema: outputJsonSchema as ListToolsResult['tools'][number]['outputSchema'],
    annotations: { title, ...hints },
  };
}

/**
 * Makes the factory of protocol servers over the tools on offer. What it returns is cheap to call: one server serves
 * one stdio connection or one HTTP request. `extra` is merged into the options, for tests that add what an outside
 * suite wants.
 */
export function serverFactory(settings: McpServerOptions, extra: ServerOptions = {}): ServerFactory {
  const { tools, service, project, instructions } = settings;
  const toolsByName = new Map(tools.map((tool) => [tool.name, tool]));
  let listed: ListToolsResult | undefined;
  const promptsByName = new Map(
    prompts
      .filter((prompt) => prompt.tools.every((name) => toolsByName.has(name)))
      .map((prompt) => [prompt.name, prompt]),
  );
  const listedPrompts = { prompts: [...promptsByName.values()].map(listedPrompt) };
  const options: ServerOptions = {
    ...extra,
    capabilities: {
      tools: { listChanged: false },
      prompts: { listChanged: false },
      resources: { listChanged: false },
      completions: {},
      ...extra.capabilities,
    },
    instructions,
    cacheHints: {
      'tools/list': listHint,
      'prompts/list': listHint,
      'resources/list': listHint,
      'resources/templates/list': listHint,
      ...extra.cacheHints,
    },
  };

  return () => {
    const server = new Server({ name: 'heddle', title: 'heddle', version }, options);
    const from = (context: ServerContext): Origin =>
      originOf(context, { transport: settings.transport, protocolVersion: server.getNegotiatedProtocolVersion() });
    server.setRequestHandler('tools/list', () => {
      if (!listed) {
        listed = { tools: tools.map(listedTool) };
        // After the answer, which must not wait for it.
        if (settings.onListed) setImmediate(settings.onListed);
      }
      return listed;
    });
    server.setRequestHandler('tools/call', async (request, context) => {
      const tool = toolsByName.get(request.params.name);
      const origin = from(context);
      if (!tool) {
        watchCall({ method: 'tools/call' }, origin, settings).end('invalid_arguments');
        throw unknown('tool', request.params.name, toolsByName);
      }
      try {
        return await callTool(
          tool,
          request.params.arguments,
          {
            service: await service(),
            project,
            maxResultChars: settings.maxResultChars,
            signal: context.mcpReq.signal,
            ask: asking(context, server),
            progress: progressTo(context, settings, origin),
          },
          settings,
          origin,
        );
      } catch (error) {
        if (error instanceof InputRequired) return confirmation(error.question);
        throw error;
      }
    });
    server.setRequestHandler('prompts/list', () => listedPrompts);
    server.setRequestHandler('prompts/get', ({ params }) => {
      const prompt = promptsByName.get(params.name);
      if (!prompt) throw unknown('prompt', params.name, promptsByName);
      const missing = prompt.arguments.filter(({ name, required }) => required && !params.arguments?.[name]);
      if (missing.length > 0) {
        const names = missing.map(({ name }) => name).join(', ');
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Prompt ${params.name} needs ${names}`);
      }
      return promptResult(prompt, params.arguments ?? {});
    });
    // Queues come and go; a client finds them by the template and its completions.
    server.setRequestHandler('resources/list', () => ({ resources: [] }));
    server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: listedTemplates }));
    server.setRequestHandler('resources/read', ({ params }, context) =>
      told('resources/read', from(context), settings, (service) =>
        readResource(params.uri, service, context.mcpReq.signal),
      ),
    );
    server.setRequestHandler('completion/complete', async ({ params }, context) => {
      const { ref, argument } = params;
      const given = params.context?.arguments ?? {};
      const what =
        ref.type === 'ref/prompt'
          ? promptsByName.get(ref.name)?.arguments.find(({ name }) => name === argument.name)?.completes
          : completesFrom(ref.uri, argument.name);
      if (!what) return { completion: { values: [] } };
      const within = given.project_id || (given.entity && given.project ? `${given.entity}/${given.project}` : project);
      const values = await told('completion/complete', from(context), settings, async (service) => {
        const { complete } = await import('./completions.ts');
        return complete(what, argument.value, within, service, context.mcpReq.signal);
      });
      return { completion: { values } };
    });
    return server;
  };
}

function unknown(kind: string, name: string, known: ReadonlyMap<string, unknown>): ProtocolError {
  const names = [...known.keys()].join(', ') || 'none';
  return new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `Unknown ${kind} ${JSON.stringify(name)}; known are ${names}`,
  );
}

/** Outside of tools a failure is a protocol error; it says the same. */
async function told<T>(
  method: 'resources/read' | 'completion/complete',
  origin: Origin,
  settings: McpServerOptions,
  work: (service: ServiceClient) => Promise<T>,
): Promise<T> {
  const watch = watchCall({ method }, origin, settings);
  try {
    const result = await work((await settings.service()).withSharedDeadline(watch.scope));
    watch.end('ok');
    return result;
  } catch (error) {
    // Nothing at the address: the protocol has an error of its own for that.
    if (error instanceof ProtocolError) {
      watch.end('not_found');
      throw error;
    }
    const failure = toHeddleError(error, method, watch);
    watch.end(failure.code, failure);
    throw new ProtocolError(
      ProtocolErrorCode.InternalError,
      settings.redactor.redact(`${failure.message} ${failure.hint}`),
      JSON.parse(settings.redactor.redact(JSON.stringify(failure))),
    );
  }
}

/** The question as a result: the client asks the person, and makes the call again with the answer. */
function confirmation(message: string) {
  const properties = { confirm: { type: 'boolean', title: 'Do it' } } as const;
  const requestedSchema = { type: 'object' as const, properties, required: ['confirm'] };
  return inputRequired({ inputRequests: { confirm: inputRequired.elicit({ message, requestedSchema }) } });
}

/** Answers `ask` from what the client brought with the call; without an answer yet, puts the call off. */
function asking({ mcpReq }: ServerContext, server: Server): ToolContext['ask'] {
  return (question) => {
    const declared = mcpReq.envelope as Record<string, ClientCapabilities> | undefined;
    const answer = inputResponse(mcpReq.inputResponses, 'confirm');
    if (answer.kind === 'elicit') return answer.action === 'accept' && answer.content?.confirm === true ? 'yes' : 'no';
    const capabilities: ClientCapabilities | undefined =
      declared?.[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities();
    const { elicitation } = capabilities ?? {};
    // An empty object is how revisions before modes said that they can show a form.
    if (!elicitation || (Object.keys(elicitation).length > 0 && !elicitation.form)) return 'cannot';
    throw new InputRequired(question);
  };
}

/** Sends progress to a client that asked for it, and not more often than it is of use. */
function progressTo(
  { mcpReq }: ServerContext,
  { log }: McpServerOptions,
  { requestId }: Origin,
): ToolContext['progress'] {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return () => {};
  let last = Number.NEGATIVE_INFINITY;
  return (progress, message) => {
    const now = performance.now();
    if (now - last < progressIntervalMs) return;
    last = now;
    mcpReq
      .notify({ method: 'notifications/progress', params: { progressToken, progress, message } })
      .catch((error: Error) => log('debug', 'progress not delivered', { request_id: requestId, error: error.message }));
  };
}
