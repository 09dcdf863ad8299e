import type { Client } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import { connectClient } from '../support/client.ts';
import { emptyHome, temporaryFolder } from '../support/heddle.ts';

const review = 'ui://heddle/review';
const evaluation = 'ui://heddle/evaluation';
const mimeType = 'text/html;profile=mcp-app';

async function listedViews(client: Client) {
  return (await client.listResources()).resources.filter(({ uri }) => uri.startsWith('ui:'));
}

const linkTo = (uri: string) => ({ ui: { resourceUri: uri, visibility: ['model', 'app'] }, 'ui/resourceUri': uri });

describe.each(['legacy', 'auto'] as const)('the Views of a client in the %s era', async (mode) => {
  const { client } = await connectClient(emptyHome(temporaryFolder()), { mode });

  it('are declared, linked and listed, although the client did not ask for Views', async () => {
    expect(client.getServerCapabilities()?.extensions).toMatchObject({ 'io.modelcontextprotocol/ui': {} });
    const { tools } = await client.listTools();
    const linked = tools.filter(({ _meta }) => _meta !== undefined).map(({ name, _meta }) => [name, _meta]);
    expect(linked).toEqual([
      ['review_queue', linkTo(review)],
      ['read_evaluation', linkTo(evaluation)],
    ]);
    expect(await listedViews(client)).toMatchObject([
      { uri: review, mimeType, name: 'review' },
      { uri: evaluation, mimeType, name: 'evaluation' },
    ]);
  });

  it.each([review, evaluation])('are one HTML file of at most 100 kB that loads nothing: %s', async (uri) => {
    const { contents, ...cache } = await client.readResource({ uri });
    expect(contents).toHaveLength(1);
    const [content] = contents as { uri: string; mimeType: string; text: string; _meta: object }[];
    expect(content).toMatchObject({ uri, mimeType, _meta: { ui: { prefersBorder: true } } });
    expect(content!.text).toMatch(/^<!doctype html>/);
    expect(Buffer.byteLength(content!.text)).toBeLessThanOrEqual(100_000);
    expect(content!.text.match(/<\/script/gi)).toHaveLength(1);
    // Names of namespaces are not loaded.
    expect(content!.text).not.toMatch(/https?:(?!\/\/www\.w3\.org\/)|@import|\/\* (script|style) \*\//);
    expect(cache).toMatchObject({ ttlMs: 3_600_000, cacheScope: 'public' });
  });

  it('find the error of a failed call in its _meta, without the lists that its text has', async () => {
    const { isError, _meta } = await client.callTool({
      name: 'review_queue',
      arguments: { queue_id: 'support-triag' },
    });
    expect(isError).toBe(true);
    expect(_meta?.['io.github.heddle-mcp/error']).toEqual({
      code: 'not_found',
      message: 'Project demo/support has no queue with the id "support-triag".',
      hint: 'The nearest ids are support-triage. Call list_queues for all of them.',
      retryable: false,
    });
  });

  it('are not offered without their tools', async () => {
    const { client } = await connectClient(emptyHome(temporaryFolder(), { HEDDLE_TOOLS: 'evaluation' }), { mode });
    expect(await listedViews(client)).toMatchObject([{ uri: evaluation }]);
    await expect(client.readResource({ uri: review })).rejects.toThrow();
  });
});
