import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, it, onTestFinished } from 'vitest';
import { emptyHome, temporaryFolder } from '../../support/heddle.ts';

const root = join(import.meta.dirname, '../../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const json = (file: string) => JSON.parse(read(file));

interface Entry {
  command: string;
  args: string[];
  cwd?: string;
}

/** Starts the server as a client would whose plugin is in this checkout, and returns the names of its tools. */
async function toolsOf({ command, args, cwd }: Entry, placeholder: string): Promise<string[]> {
  expect(command).toBe('node');
  const client = new Client({ name: 'host', version: '1.0.0' });
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: args.map((arg) => arg.replace(placeholder, root)),
      env: emptyHome(temporaryFolder()),
      cwd: cwd === undefined ? temporaryFolder() : join(root, cwd),
    }),
  );
  onTestFinished(() => client.close());
  return (await client.listTools()).tools.map(({ name }) => name);
}

describe('the manifests of plugins', () => {
  it.each([
    ['mcp.json', '$' + '{PLUGIN_ROOT}'],
    ['.claude-plugin/plugin.json', '$' + '{CLAUDE_PLUGIN_ROOT}'],
    ['.codex-plugin/plugin.json', 'not used'],
    ['gemini-extension.json', '$' + '{extensionPath}'],
  ])('start the server from %s', async (file, placeholder) => {
    expect(Object.keys(json(file).mcpServers)).toEqual(['heddle']);
    expect(await toolsOf(json(file).mcpServers.heddle, placeholder)).toContain('query_queue_items');
  });

  it('follow Agent Plugins 1.0, which allows no other members', () => {
    const plugin = json('plugin.json');
    expect(Object.keys(plugin)).toEqual(['$schema', 'name', 'version', 'description', 'author', 'license', 'keywords']);
    expect(plugin.$schema).toBe('https://agent-plugins.org/schemas/1.0.0/plugin.schema.json');
    expect(plugin.name).toMatch(/^[a-z0-9]([a-z0-9.-]{0,62}[a-z0-9])?$/);
    expect(plugin.author).toEqual({ name: 'The heddle authors' });
    const servers = json('mcp.json');
    expect(Object.keys(servers)).toEqual(['$schema', 'mcpServers']);
    expect(servers.$schema).toBe('https://agent-plugins.org/schemas/1.0.0/mcp.schema.json');
    expect(Object.keys(servers.mcpServers.heddle)).toEqual(['type', 'command', 'args']);
    expect(servers.mcpServers.heddle.type).toBe('stdio');
  });

  it('name files that exist', () => {
    const { skills, interface: shown } = json('.codex-plugin/plugin.json');
    const [{ source }] = json('.claude-plugin/marketplace.json').plugins;
    for (const path of [skills, shown.composerIcon, shown.logo, source]) {
      expect(path).toMatch(/^\.\//);
      expect(existsSync(join(root, path)), path).toBe(true);
    }
  });

  it('show Codex users prompts of at most 128 characters', () => {
    const { defaultPrompt } = json('.codex-plugin/plugin.json').interface;
    expect(defaultPrompt).toHaveLength(3);
    for (const prompt of defaultPrompt) expect(prompt.length).toBeLessThanOrEqual(128);
  });
});

describe('the links of docs/connect.md that add heddle to a client', () => {
  const links = [...read('docs/connect.md').matchAll(/\[Add to ([\w ]+)\]\((\S+)\)/g)].map(([, client, link]) => ({
    client,
    url: new URL(link!),
  }));

  it('point to Cursor and VS Code with the entry of the installed command', () => {
    expect(links.map(({ client, url }) => [client, url.host])).toEqual([
      ['Cursor', 'cursor.com'],
      ['VS Code', 'insiders.vscode.dev'],
    ]);
    const [cursor, vscode] = links.map(({ url }) => url.searchParams);
    const entry = { command: 'heddle', args: ['serve'] };
    expect([cursor!.get('name'), vscode!.get('name')]).toEqual(['heddle', 'heddle']);
    expect(JSON.parse(atob(cursor!.get('config')!))).toEqual(entry);
    expect(JSON.parse(vscode!.get('config')!)).toEqual(entry);
  });
});

describe.each(['llms.txt', 'AGENTS.md'])('%s', (file) => {
  it('links only files that exist', () => {
    const links = [...read(file).matchAll(/\]\(([^)#:]+)\)/g)].map(([, path]) => path!);
    expect(links.length).toBeGreaterThan(2);
    expect(links.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});

describe('llms.txt', () => {
  it('names every page of the package, tool and skill', () => {
    const text = read('llms.txt');
    for (const page of readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))) {
      if (page === 'architecture.md') continue;
      expect(text).toContain(`](docs/${page})`);
    }
    for (const skill of readdirSync(join(root, 'skills'))) expect(text).toContain(`](skills/${skill}/SKILL.md): `);
    for (const { name } of json('manifest.json').tools) expect(text).toContain(`- \`${name}\`: `);
  });
});
