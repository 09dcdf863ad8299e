import { type ReadResourceResult, ResourceNotFoundError } from '@modelcontextprotocol/server';
import { views } from '../board/views.ts';

/** The extension for Views, which clients show beside a conversation (MCP Apps). */
export const appsExtension = 'io.modelcontextprotocol/ui';

const mimeType = 'text/html;profile=mcp-app';
const _meta = { ui: { prefersBorder: true } };

/** The Views, in the form of `resources/list`. They declare no sources, so clients let them load nothing. */
export const listedViews = views.map(({ uri, name, title, description }) => ({
  uri,
  name,
  title,
  description,
  mimeType,
  _meta,
}));

/** Returns the `_meta` that links a tool to its View. Older clients know only the second key. */
export function viewLink(uri: string): Record<string, unknown> {
  return { ui: { resourceUri: uri, visibility: ['model', 'app'] }, 'ui/resourceUri': uri };
}

/**
 * Reads a View. Clients may keep it for an hour.
 * @throws ResourceNotFoundError for an unknown address.
 */
export async function readView(uri: string): Promise<ReadResourceResult> {
  const view = views.find((candidate) => candidate.uri === uri);
  if (!view) throw new ResourceNotFoundError(uri);
  const text = await view.load();
  return { contents: [{ uri, mimeType, text, _meta }], ttlMs: 3_600_000, cacheScope: 'public' };
}
