import { type ReadResourceResult, ResourceNotFoundError } from '@modelcontextprotocol/server';
import { views } from '../board/views.ts';

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
