import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, it } from 'vitest';
import { command, emptyHome, temporaryFolder } from '../support/heddle.ts';
import { onEnd } from '../support/on-end.ts';

const review = 'ui://heddle/review';
const evaluation = 'ui://heddle/evaluation';
const mimeType = 'text/html;profile=mcp-app';

async function connect(mode: 'legacy' | 'auto', args: string[] = []): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
  const env = emptyHome(temporaryFolder());
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [command, 'serve', ...args], env }));
  onEnd(() => client.close());
  return client;
}

async function listedViews(client: Client) {
  return (await client.listResources()).resources.filter(({ uri }) => uri.startsWith('ui:'));
}

const linkTo = (uri: string) => ({ ui: { resourceUri: uri, visibility: ['model', 'app'] }, 'ui/resourceUri': uri });

describe.each(['legacy', 'auto'] as const)('the Views of a client in the %s era', (mode) => {
  it('are declared, linked and listed, although the client did not ask for Views', async () => {
    const client = await connect(mode);
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

  it.each([review, evaluation])('are one HTML file of at most 40 kB that loads nothing: %s', async (uri) => {
    const client = await connect(mode);
    const { contents, ...cache } = await client.readResource({ uri });
    expect(contents).toHaveLength(1);
    const [content] = contents as { uri: string; mimeType: string; text: string; _meta: object }[];
    expect(content).toMatchObject({ uri, mimeType, _meta: { ui: { prefersBorder: true } } });
    expect(content!.text).toMatch(/^<!doctype html>/);
    expect(Buffer.byteLength(content!.text)).toBeLessThanOrEqual(40_000);
    expect(content!.text.match(/<\/script/gi)).toHaveLength(1);
    expect(content!.text).not.toMatch(/https?:|@import|\/\* (script|style) \*\//);
    expect(cache).toMatchObject({ ttlMs: 3_600_000, cacheScope: 'public' });
  });

  it('are not offered without their tools', async () => {
    const client = await connect(mode, ['--tools', 'evaluation']);
    expect(await listedViews(client)).toMatchObject([{ uri: evaluation }]);
    await expect(client.readResource({ uri: review })).rejects.toThrow();
  });
});
