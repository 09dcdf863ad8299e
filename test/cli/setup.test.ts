import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import { command, emptyHome, run, temporaryFolder } from '../support/heddle.ts';

const started = { command: process.execPath, args: [command, 'serve'] };

function home() {
  const folder = temporaryFolder();
  const environment = emptyHome(folder, { XDG_CONFIG_HOME: join(folder, '.config') });
  const put = (file: string, text: string): string => {
    const path = join(folder, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  };
  return { folder, put, setup: (...args: string[]) => run(['setup', ...args], environment) };
}

describe('heddle setup', () => {
  it.each([
    ['claude-desktop', '.config/Claude/claude_desktop_config.json', { mcpServers: { heddle: started } }],
    ['claude-code', '.claude.json', { mcpServers: { heddle: { type: 'stdio', ...started } } }],
    ['cursor', '.cursor/mcp.json', { mcpServers: { heddle: started } }],
    ['vscode', '.config/Code/User/mcp.json', { servers: { heddle: { type: 'stdio', ...started } } }],
    ['codex', '.codex/config.toml', { mcp_servers: { heddle: started } }],
    ['gemini-cli', '.gemini/settings.json', { mcpServers: { heddle: started } }],
    ['windsurf', '.codeium/windsurf/mcp_config.json', { mcpServers: { heddle: started } }],
    [
      'opencode',
      '.config/opencode/opencode.json',
      { mcp: { heddle: { type: 'local', command: [started.command, ...started.args], enabled: true } } },
    ],
    [
      'copilot-cli',
      '.copilot/mcp-config.json',
      { mcpServers: { heddle: { type: 'local', ...started, tools: ['*'] } } },
    ],
    ['zed', '.config/zed/settings.json', { context_servers: { heddle: { source: 'custom', ...started } } }],
    ['jetbrains', '.junie/mcp/mcp.json', { mcpServers: { heddle: started } }],
    [
      'cline',
      '.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json',
      { mcpServers: { heddle: started } },
    ],
  ])('prints, writes and removes the entry of %s', async (client, file, expected) => {
    const { folder, setup } = home();
    const path = join(folder, file);
    const read = (text: string): unknown => (file.endsWith('.toml') ? parse(text) : JSON.parse(text));

    const printed = await setup(client, '--print');
    expect(read(printed.stdout)).toEqual(expected);
    expect(printed.stderr).toContain(path);
    expect(existsSync(path)).toBe(false);

    const made = await setup(client, '--yes');
    expect(made).toMatchObject({ code: 0, stderr: expect.stringContaining('seems not to be installed: there is no ') });
    expect(made.stdout).toContain(`Create ${path}:`);
    expect(made.stdout.match(/^\+/gm)).not.toBeNull();
    expect(read(readFileSync(path, 'utf8'))).toEqual(expected);
    expect((await setup(client, '--yes')).stdout).toBe(`${path} already has this entry.\n`);

    expect((await setup(client, '--remove', '--yes')).stdout).toContain(`Remove ${path}:`);
    // The file held nothing else, so no copy of it is kept.
    expect(readdirSync(dirname(path)).filter((name) => !name.startsWith('.'))).toEqual([]);
  });

  // biome-ignore-start lint/suspicious/noTemplateCurlyInString: clients fill these in
  it.each([
    ['claude-code', { mcpServers: { heddle: { type: 'http', url: 'URL', headers: 'Bearer ${TOKEN}' } } }],
    ['cursor', { mcpServers: { heddle: { url: 'URL', headers: 'Bearer ${env:TOKEN}' } } }],
    ['vscode', { servers: { heddle: { type: 'http', url: 'URL', headers: 'Bearer ${env:TOKEN}' } } }],
    ['codex', { mcp_servers: { heddle: { url: 'URL', bearer_token_env_var: 'TOKEN' } } }],
    ['gemini-cli', { mcpServers: { heddle: { httpUrl: 'URL', headers: 'Bearer ${TOKEN}' } } }],
    ['windsurf', { mcpServers: { heddle: { serverUrl: 'URL', headers: 'Bearer ${env:TOKEN}' } } }],
    ['opencode', { mcp: { heddle: { type: 'remote', url: 'URL', enabled: true, headers: 'Bearer {env:TOKEN}' } } }],
    ['copilot-cli', { mcpServers: { heddle: { type: 'http', url: 'URL', tools: ['*'], headers: 'Bearer ${TOKEN}' } } }],
    // biome-ignore-end lint/suspicious/noTemplateCurlyInString: clients fill these in
    ['zed', { context_servers: { heddle: { source: 'custom', url: 'URL' } } }],
    ['jetbrains', { mcpServers: { heddle: { url: 'URL' } } }],
    ['cline', { mcpServers: { heddle: { type: 'streamableHttp', url: 'URL' } } }],
  ])(
    'writes the entry of %s for a server over HTTP, with the variable that holds the token',
    async (client, expected) => {
      const { setup } = home();
      const url = 'http://127.0.0.1:3920/mcp';
      const takesVariable = !['zed', 'jetbrains', 'cline'].includes(client);
      const { code, stdout, stderr } = await setup(
        client,
        '--print',
        '--url',
        url,
        ...(takesVariable ? ['--token-env', 'TOKEN'] : []),
      );
      expect(code, stderr).toBe(0);
      const entry = client === 'codex' ? parse(stdout) : JSON.parse(stdout);
      const text = JSON.stringify(expected)
        .replace('"URL"', JSON.stringify(url))
        .replace(/"headers":("[^"]*")/, '"headers":{"Authorization":$1}');
      expect(entry).toEqual(JSON.parse(text));
      if (takesVariable) return;
      expect(await setup(client, '--print', '--url', url, '--token-env', 'TOKEN')).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('heddle writes no secret into it'),
      });
    },
  );

  it('refuses options that are invalid, or have no effect together', async () => {
    const { setup } = home();
    const url = 'http://127.0.0.1:3920/mcp';
    for (const [args, message] of [
      [['claude-desktop', '--url', url], 'The file of Claude Desktop takes no servers over HTTP.'],
      [['cursor', '--url', 'http://x/?token=1'], '--url must not have a query or fragment'],
      [['cursor', '--url', url, '--project', 'a/b'], '--project has no effect with --url'],
      [['cursor', '--token-env', 'TOKEN'], '--token-env has no effect without --url'],
      [['cursor', '--url', url, '--token-env', 'ab-c'], 'It must be the name of a variable, not the token.'],
      [['cursor', '--all'], 'name a client or pass --all, not both'],
    ] as const) {
      expect(await setup(...args), args.join(' ')).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
    }
  });

  it('replaces an entry for stdio by one for HTTP, and back', async () => {
    const { folder, put, setup } = home();
    const path = put('.cursor/mcp.json', '{"mcpServers":{"heddle":{"command":"old","env":{"A":"1"}}}}');
    await setup('cursor', '--yes', '--url', 'http://127.0.0.1:3920/mcp');
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({
      mcpServers: { heddle: { url: 'http://127.0.0.1:3920/mcp' } },
    });
    await setup('cursor', '--yes');
    expect(JSON.parse(readFileSync(join(folder, '.cursor/mcp.json'), 'utf8'))).toEqual({
      mcpServers: { heddle: started },
    });
  });

  it('considers a command-line client installed when its program is on the PATH', async () => {
    const { folder, setup } = home();
    const missing = await setup('codex', '--yes');
    expect(missing.stderr).toBe(
      `Codex seems not to be installed: there is no ${join(folder, '.codex')}, and no program \`codex\`. The entry waits for it.\n`,
    );
    const programs = join(folder, 'programs');
    mkdirSync(programs);
    writeFileSync(join(programs, 'claude'), '');
    const found = await run(['setup', 'claude-code', '--yes'], { ...emptyHome(folder), PATH: programs });
    expect(found).toMatchObject({ code: 0, stderr: '' });
  });

  it('shows in the preview which variable an entry refers to', async () => {
    const args = ['cursor', '--url', 'http://127.0.0.1:3920/mcp', '--token-env', 'HEDDLE_HTTP_TOKEN', '--yes'];
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the client replaces it
    expect((await home().setup(...args)).stdout).toContain('"Authorization": "Bearer ${env:HEDDLE_HTTP_TOKEN}"');
  });

  it('refuses an address without a path', async () => {
    const { code, stderr } = await home().setup('cursor', '--url', 'http://127.0.0.1:3920', '--print');
    expect([code, stderr]).toEqual([
      2,
      'heddle: --url must have a path: `node dist/heddle.js serve --http` serves at http://127.0.0.1:3920/mcp\n',
    ]);
  });

  it('sets up every installed client with --all, and names those that are not', async () => {
    const { folder, put, setup } = home();
    put('.cursor/mcp.json', '{}');
    put('.codex/config.toml', 'model = "o4\n');
    mkdirSync(join(folder, '.claude'));
    const { code, stdout, stderr } = await setup('--all', '--yes');
    expect(JSON.parse(readFileSync(join(folder, '.cursor/mcp.json'), 'utf8'))).toEqual({
      mcpServers: { heddle: started },
    });
    expect(existsSync(join(folder, '.claude.json'))).toBe(true);
    expect(stdout).toContain(`Zed: not installed (there is no ${join(folder, '.config/zed')})`);
    expect(existsSync(join(folder, '.config/zed'))).toBe(false);
    // A broken file is reported, and keeps no other client from being set up.
    expect(stderr).toContain('is not valid TOML');
    expect(code).toBe(2);
  });

  describe('with an existing file', () => {
    const other =
      '{\n  // mine\n  "mcpServers": {\n    "db": { "command": "db", "env": { "API_KEY": "hush-1" } }\n  }\n}\n';

    it('shows the change, makes it and keeps a copy of the previous version', async () => {
      const { folder, put, setup } = home();
      const path = put('.cursor/mcp.json', other);
      chmodSync(path, 0o640);
      const { code, stdout } = await setup('cursor', '--yes', '--project', 'team/support', '--read-only');
      expect(code).toBe(0);
      expect(stdout).not.toContain('hush-1');
      const text = readFileSync(path, 'utf8');
      expect(text).toContain('// mine');
      expect(text).toContain('"API_KEY": "hush-1"');
      expect(JSON.parse(text.replace('// mine', '')).mcpServers.heddle.args).toEqual([
        command,
        'serve',
        '--project',
        'team/support',
        '--read-only',
      ]);
      expect(statSync(path).mode & 0o777).toBe(0o640);

      const copies = readdirSync(join(folder, '.cursor')).filter((name) => name !== 'mcp.json');
      expect(copies).toEqual(['mcp.json.heddle.bak']);
      expect(readFileSync(join(folder, '.cursor', copies[0]!), 'utf8')).toBe(other);
      await setup('cursor', '--remove', '--yes');
      expect(readFileSync(path, 'utf8')).toBe(other);
    });

    it('writes nothing without --yes if there is no terminal', async () => {
      const { put, setup } = home();
      const path = put('.cursor/mcp.json', other);
      const { code, stdout, stderr } = await setup('cursor');
      expect([code, stderr]).toEqual([
        2,
        'heddle: nothing was changed: there is no terminal to ask for confirmation on; add --yes\n',
      ]);
      expect(stdout).toContain('+    "heddle": {');
      expect(readFileSync(path, 'utf8')).toBe(other);
    });

    it.each([
      ['claude-desktop', '.config/Claude/claude_desktop_config.json', '{ "mcpServers": {', 'is not valid JSON'],
      ['codex', '.codex/config.toml', 'model = "o4\n', 'is not valid TOML'],
      ['vscode', '.config/Code/User/mcp.json', Buffer.from([0x7b, 0xff, 0x7d]).toString('latin1'), undefined],
    ])('leaves a malformed file of %s unchanged', async (client, file, text, message) => {
      const { folder, put, setup } = home();
      const path = put(file, text);
      if (message === undefined) writeFileSync(path, Buffer.from([0x7b, 0xff, 0x7d]));
      const before = readFileSync(path);
      const { code, stderr } = await setup(client, '--yes');
      expect(code).toBe(2);
      expect(stderr).toContain(path);
      expect(stderr).toContain(message ?? 'cannot be read');
      expect(readFileSync(path)).toEqual(before);
      expect(readdirSync(dirname(join(folder, file)))).toHaveLength(1);
    });

    it('writes through a symbolic link', async () => {
      const { folder, put, setup } = home();
      const target = put('dotfiles/cursor.json', '{}');
      mkdirSync(join(folder, '.cursor'));
      symlinkSync(target, join(folder, '.cursor', 'mcp.json'));
      await setup('cursor', '--yes');
      expect(JSON.parse(readFileSync(target, 'utf8'))).toEqual({ mcpServers: { heddle: started } });
      expect(readFileSync(join(folder, '.cursor', 'mcp.json'), 'utf8')).toBe(readFileSync(target, 'utf8'));
    });
  });

  it('accepts another name and another file, for a project or a second profile', async () => {
    const { folder, setup } = home();
    const file = join(folder, 'work', '.vscode', 'mcp.json');
    await setup('vscode', '--yes', '--file', file, '--name', 'heddle-eu', '--profile', 'eu');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
      servers: {
        'heddle-eu': { type: 'stdio', command: process.execPath, args: [command, 'serve', '--profile', 'eu'] },
      },
    });
  });

  it('rejects an invalid setting and an unknown client', async () => {
    const { folder, setup } = home();
    expect(await setup('cursor', '--yes', '--project', 'support')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('must have the shape entity/project'),
    });
    expect(await setup('emacs')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('claude-desktop, claude-code'),
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('writes no secret into the entry', async () => {
    const folder = temporaryFolder();
    const secrets = {
      HEDDLE_PASSWORD: 'hush-1',
      HEDDLE_TOKEN: 'hush-2',
      HEDDLE_HTTP_TOKEN: 'hush-3',
      HEDDLE_MODEL_PROVIDER_KEY: 'hush-4',
    };
    const { stdout } = await run(['setup', 'cursor', '--print'], emptyHome(folder, secrets));
    expect(stdout).not.toContain('hush');
    const url = await run(
      ['setup', 'cursor', '--print', '--database', 'postgres://ada:hush-5@db/heddle'],
      emptyHome(folder),
    );
    expect([url.code, url.stdout]).toEqual([2, '']);
  });
});
