import { posix, win32 } from 'node:path';

/** Determines where a client keeps its configuration file. */
export interface Places {
  platform: NodeJS.Platform;
  home: string;
  environment: NodeJS.ProcessEnv;
}

/** An MCP client that `heddle setup` can configure. */
export interface McpClient {
  title: string;
  /** Format of the file; JSON if absent. */
  format?: 'toml';
  /** Member of the file that holds the servers by name. */
  servers: 'mcpServers' | 'servers' | 'mcp_servers';
  /** True if an entry names its transport. */
  typed?: true;
  /** Returns the path of the file that applies to all projects of the user. */
  file: (places: Places) => string;
  /** Tells the user how to make the client read the file again. */
  afterwards: string;
}

/** The clients of `heddle setup`, by their name on the command line. */
export const clients = {
  'claude-desktop': {
    title: 'Claude Desktop',
    servers: 'mcpServers',
    file: (places) => applicationData(places, 'Claude', 'claude_desktop_config.json'),
    afterwards: 'Quit Claude Desktop and open it again.',
  },
  'claude-code': {
    title: 'Claude Code',
    servers: 'mcpServers',
    typed: true,
    file: (places) => join(places, places.environment.CLAUDE_CONFIG_DIR || places.home, '.claude.json'),
    afterwards: 'Start a new session of Claude Code; /mcp lists the servers.',
  },
  cursor: {
    title: 'Cursor',
    servers: 'mcpServers',
    file: (places) => join(places, places.home, '.cursor', 'mcp.json'),
    afterwards: 'Turn heddle on in the MCP settings of Cursor if it is off.',
  },
  vscode: {
    title: 'VS Code',
    servers: 'servers',
    typed: true,
    file: (places) => applicationData(places, 'Code', 'User', 'mcp.json'),
    afterwards: 'Allow VS Code to start the server when it asks; "MCP: List Servers" shows it.',
  },
  codex: {
    title: 'Codex',
    format: 'toml',
    servers: 'mcp_servers',
    file: (places) => join(places, places.environment.CODEX_HOME || join(places, places.home, '.codex'), 'config.toml'),
    afterwards: 'Start Codex again; /mcp lists the servers.',
  },
  'gemini-cli': {
    title: 'Gemini CLI',
    servers: 'mcpServers',
    file: (places) => join(places, places.environment.GEMINI_CLI_HOME || places.home, '.gemini', 'settings.json'),
    afterwards: 'Start Gemini CLI again; /mcp lists the servers.',
  },
  windsurf: {
    title: 'Windsurf',
    servers: 'mcpServers',
    file: (places) => join(places, places.home, '.codeium', 'windsurf', 'mcp_config.json'),
    afterwards: 'Press Refresh in the MCP panel of Windsurf.',
  },
} as const satisfies Record<string, McpClient>;

export type ClientName = keyof typeof clients;

/** Joins a path in the form of the given platform. */
function join({ platform }: Places, ...parts: string[]): string {
  return (platform === 'win32' ? win32 : posix).join(...parts);
}

/** Returns a path in the folder where desktop applications of the platform keep their settings. */
function applicationData(places: Places, ...parts: string[]): string {
  const { platform, home, environment } = places;
  if (platform === 'win32') {
    return join(places, environment.APPDATA || join(places, home, 'AppData', 'Roaming'), ...parts);
  }
  if (platform === 'darwin') return join(places, home, 'Library', 'Application Support', ...parts);
  return join(places, environment.XDG_CONFIG_HOME || join(places, home, '.config'), ...parts);
}
