import {
  type ListToolsResult,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
  type ServerOptions,
} from '@modelcontextprotocol/server';
import type { ServiceClient } from '../client/service-client.ts';
import { version } from '../config/version.ts';
import { type RegisteredTool, tools } from '../tools/registry.ts';
import { callTool, type ResultSettings } from './call-tool.ts';

/** What every server instance of a process shares; made once, however many connections or requests are served. */
export interface ServerSettings extends ResultSettings {
  service: ServiceClient;
  /** Project for calls that name none. */
  project?: string;
  /** For the client's model: what this server is and which service it works on. */
  instructions: string;
}

/** Progress of one call is told at most this often, in milliseconds. */
const progressIntervalMs = 250;

/** The tools as clients see them. */
export const listedTools: ListToolsResult['tools'] = tools.map(
  ({ name, title, description, inputJsonSchema, outputJsonSchema, hints }) => ({
    name,
    title,
    description,
    inputSchema: inputJsonSchema as ListToolsResult['tools'][number]['inputSchema'],
    outputSchema: outputJsonSchema as ListToolsResult['tools'][number]['outputSchema'],
    annotations: { title, ...hints },
  }),
);
const listed: ListToolsResult = { tools: listedTools };

const toolsByName = new Map<string, RegisteredTool>(tools.map((tool) => [tool.name, tool]));

/**
 * A protocol server over the tools. It is cheap to make: one serves one stdio connection or one HTTP request. `extra`
 * is merged into the options, for tests that add what an outside suite wants.
 */
export function createServer(settings: ServerSettings, extra: ServerOptions = {}): Server {
  const server = new Server(
    { name: 'heddle', title: 'heddle', version },
    {
      ...extra,
      capabilities: { tools: { listChanged: false }, ...extra.capabilities },
      instructions: settings.instructions,
      // The list changes only with the version of the package.
      cacheHints: { 'tools/list': { ttlMs: 3_600_000, cacheScope: 'public' }, ...extra.cacheHints },
    },
  );
  server.setRequestHandler('tools/list', () => listed);
  server.setRequestHandler('tools/call', (request, context) => {
    const tool = toolsByName.get(request.params.name);
    if (!tool) {
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `Unknown tool ${JSON.stringify(request.params.name)}; known are ${[...toolsByName.keys()].join(', ')}`,
      );
    }
    return callTool(
      tool,
      request.params.arguments,
      {
        service: settings.service,
        project: settings.project,
        maxResultChars: settings.maxResultChars,
        signal: context.mcpReq.signal,
        progress: progressTo(context, settings),
      },
      settings,
    );
  });
  return server;
}

/** Sends progress to a client that asked for it, and not more often than it is of use. */
function progressTo({ mcpReq }: ServerContext, { log }: ServerSettings): (done: number, message: string) => void {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return () => {};
  let last = Number.NEGATIVE_INFINITY;
  return (progress, message) => {
    const now = performance.now();
    if (now - last < progressIntervalMs) return;
    last = now;
    mcpReq
      .notify({ method: 'notifications/progress', params: { progressToken, progress, message } })
      .catch((error: Error) => log('debug', 'progress not delivered', { error: error.message }));
  };
}
