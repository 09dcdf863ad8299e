import packageJson from '../../package.json' with { type: 'json' };

const { name, version, description, license, keywords } = packageJson;
const author = { name: packageJson.author };

/** Address of a schema of Agent Plugins 1.0. */
const schemaOf = (kind: string): string => `https://agent-plugins.org/schemas/1.0.0/${kind}.schema.json`;

/** Returns the entry of the server in a plugin whose files are at `root`, a placeholder that the client fills in. */
function server(root: string): { command: string; args: string[] } {
  return { command: 'node', args: [`${root}/dist/heddle.js`, 'serve'] };
}

/**
 * Returns the manifests with which clients install heddle with its skills, by path. The root of the plugin is the root of the
 * repository and of the npm package; the skills are in its folder `skills`, where each client looks for them.
 */
export function pluginFiles(): Record<string, object> {
  const plugin = { name, version, description, author, license, keywords };
  return {
    // Agent Plugins 1.0, which several clients read.
    'plugin.json': { $schema: schemaOf('plugin'), ...plugin },
    'mcp.json': {
      $schema: schemaOf('mcp'),
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the client fills it in
      mcpServers: { [name]: { type: 'stdio', ...server('${PLUGIN_ROOT}') } },
    },
    '.claude-plugin/plugin.json': {
      ...plugin,
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the client fills it in
      mcpServers: { [name]: server('${CLAUDE_PLUGIN_ROOT}') },
    },
    '.claude-plugin/marketplace.json': {
      name,
      owner: author,
      description,
      plugins: [{ name, source: './', description, version, author, license, keywords }],
    },
    '.codex-plugin/plugin.json': {
      ...plugin,
      skills: './skills/',
      mcpServers: { [name]: { ...server('.'), cwd: '.' } },
      interface: {
        displayName: name,
        shortDescription: description,
        developerName: author.name,
        category: 'Developer Tools',
        capabilities: ['Read', 'Write'],
        defaultPrompt: [
          'What is waiting in my queue, and what is it about?',
          'Judge ten items of the queue by its guidelines.',
          'Compare the last two runs of my evaluation.',
        ],
        brandColor: '#0E4E47',
        composerIcon: './assets/icon.png',
        logo: './assets/icon.png',
      },
    },
    'gemini-extension.json': {
      name,
      version,
      description,
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the client fills it in
      mcpServers: { [name]: server('${extensionPath}') },
    },
  };
}

/** Returns the links of README that add the installed command to a client, as lines of Markdown. */
export function installLinks(): string {
  const entry = { command: name, args: ['serve'] };
  const query = (config: string): string => new URLSearchParams({ name, config }).toString();
  const cursor = `https://cursor.com/en/install-mcp?${query(btoa(JSON.stringify(entry)))}`;
  const vscode = `https://insiders.vscode.dev/redirect/mcp/install?${query(JSON.stringify(entry))}`;
  return `[Add to Cursor](${cursor}) · [Add to VS Code](${vscode})`;
}
