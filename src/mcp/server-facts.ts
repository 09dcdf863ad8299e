import type { ListToolsResult, ServerOptions } from '@modelcontextprotocol/server';
import { version } from '../core/version.ts';
import type { ListedTool } from '../tools/definition/registry.ts';
import icons from './icons.json' with { type: 'json' };

// The facts that clients read before their first call. Only types of the SDK are imported, so that the front door loads without it.

/** The extension for Views, which clients show beside a conversation (MCP Apps). */
const appsExtension = 'io.modelcontextprotocol/ui';

/** The extension for skills: instructions for jobs that take several tool calls. */
const skillsExtension = 'io.modelcontextprotocol/skills';

/** The extension for tool calls that go on after their answer (SEP-2663); it exists from revision 2026-07-28 on. */
export const tasksExtension = 'io.modelcontextprotocol/tasks';

export const serverInfo = { name: 'heddle', title: 'heddle', version, icons: [icons.server] };

export const capabilities = {
  tools: { listChanged: false },
  prompts: { listChanged: false },
  resources: { listChanged: false },
  completions: {},
  extensions: { [appsExtension]: {}, [skillsExtension]: {}, [tasksExtension]: {} },
} satisfies ServerOptions['capabilities'];

/** From revision 2026-07-28 on, clients can also listen to resources; earlier ones would send requests that heddle does not serve. */
export const listeningCapabilities = {
  ...capabilities,
  resources: { ...capabilities.resources, subscribe: true },
} satisfies ServerOptions['capabilities'];

/** Clients may keep lists for an hour: they change only with heddle's version and configuration. */
export const listCacheHint = { ttlMs: 3_600_000, cacheScope: 'private' } as const;

/** Returns a tool in the form of `tools/list`, with the icon of its first group. */
export function toMcpTool(tool: ListedTool): ListToolsResult['tools'][number] {
  const { name, title, description, groups, inputJsonSchema, outputJsonSchema, hints, view } = tool;
  return {
    name,
    title,
    description,
    inputSchema: inputJsonSchema as ListToolsResult['tools'][number]['inputSchema'],
    outputSchema: outputJsonSchema as ListToolsResult['tools'][number]['outputSchema'],
    annotations: { title, ...hints },
    icons: [icons[groups[0]!]],
    ...(view !== undefined && { _meta: viewLink(view) }),
  };
}

/** Returns the `_meta` that links a tool to its View. Older clients know only the second key. */
function viewLink(uri: string): Record<string, unknown> {
  return { ui: { resourceUri: uri, visibility: ['model', 'app'] }, 'ui/resourceUri': uri };
}
