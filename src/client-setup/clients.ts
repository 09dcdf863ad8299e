import { posix, win32 } from 'node:path';
import type { Entry } from './entry.ts';

/** Determines where a client keeps its configuration file. */
export interface Places {
  platform: NodeJS.Platform;
  home: string;
  environment: NodeJS.ProcessEnv;
}

/** The command by which a client starts heddle. */
export interface LocalServer {
  command: string;
  args: string[];
}

/** The address at which a client reaches heddle over HTTP. */
export interface RemoteServer {
  url: string;
  /** Variable of the client's environment that holds the bearer token. */
  tokenVariable?: string;
}

/** An MCP client that `heddle setup` can configure. */
export interface McpClient {
  title: string;
  /** Format of the file; JSON if absent. */
  format?: 'toml';
  /** Member of the file that holds the servers by name. */
  servers: string;
  /** Returns the path of the file that applies to all projects of the user. */
  file: (places: Places) => string;
  /** Returns the folder or file that exists where the client is installed; by default the folder of its file. */
  trace?: (places: Places) => string;
  /** Name of its program, for a client of the command line, which may leave no trace before its first start. */
  program?: string;
  /** Returns the entry for a server that the client starts; by default the command and its arguments. */
  local?: (server: LocalServer) => Entry;
  /** Returns the entry for a server over HTTP; absent for a client whose file takes none. */
  remote?: (server: RemoteServer) => Entry;
  /** Writes the reference to a variable of the environment; absent where the client takes none. */
  variable?: (name: string) => string;
  /** Tells the user how to make the client read the file again. */
  afterwards: string;
}

/** Returns the `headers` member with the bearer token of a server, whose secret stays in the environment. */
function headers({ tokenVariable }: RemoteServer, variable: (name: string) => string): Entry {
  return tokenVariable === undefined ? {} : { headers: { Authorization: `Bearer ${variable(tokenVariable)}` } };
}

const dollar = (name: string): string => `\${${name}}`;
const dollarEnv = (name: string): string => `\${env:${name}}`;
const braceEnv = (name: string): string => `{env:${name}}`;
const typedLocal = (server: LocalServer): Entry => ({ type: 'stdio', ...server });

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
    program: 'claude',
    servers: 'mcpServers',
    file: (places) => join(places, places.environment.CLAUDE_CONFIG_DIR || places.home, '.claude.json'),
    trace: (places) => places.environment.CLAUDE_CONFIG_DIR || join(places, places.home, '.claude'),
    local: typedLocal,
    remote: (server) => ({ type: 'http', url: server.url, ...headers(server, dollar) }),
    variable: dollar,
    afterwards: 'Start a new session of Claude Code; /mcp lists the servers.',
  },
  cursor: {
    title: 'Cursor',
    servers: 'mcpServers',
    file: (places) => join(places, places.home, '.cursor', 'mcp.json'),
    remote: (server) => ({ url: server.url, ...headers(server, dollarEnv) }),
    variable: dollarEnv,
    afterwards: 'Turn heddle on in the MCP settings of Cursor if it is off.',
  },
  vscode: {
    title: 'VS Code',
    servers: 'servers',
    file: (places) => applicationData(places, 'Code', 'User', 'mcp.json'),
    local: typedLocal,
    remote: (server) => ({ type: 'http', url: server.url, ...headers(server, dollarEnv) }),
    variable: dollarEnv,
    afterwards: 'Allow VS Code to start the server when it asks; "MCP: List Servers" shows it.',
  },
  codex: {
    title: 'Codex',
    program: 'codex',
    format: 'toml',
    servers: 'mcp_servers',
    file: (places) => join(places, places.environment.CODEX_HOME || join(places, places.home, '.codex'), 'config.toml'),
    remote: ({ url, tokenVariable }) => ({
      url,
      ...(tokenVariable !== undefined && { bearer_token_env_var: tokenVariable }),
    }),
    variable: (name) => name,
    afterwards: 'Start Codex again; /mcp lists the servers.',
  },
  'gemini-cli': {
    title: 'Gemini CLI',
    program: 'gemini',
    servers: 'mcpServers',
    file: (places) => join(places, places.environment.GEMINI_CLI_HOME || places.home, '.gemini', 'settings.json'),
    remote: (server) => ({ httpUrl: server.url, ...headers(server, dollar) }),
    variable: dollar,
    afterwards: 'Start Gemini CLI again in a folder that it trusts; /mcp lists the servers.',
  },
  windsurf: {
    title: 'Windsurf',
    servers: 'mcpServers',
    file: (places) => join(places, places.home, '.codeium', 'windsurf', 'mcp_config.json'),
    remote: (server) => ({ serverUrl: server.url, ...headers(server, dollarEnv) }),
    variable: dollarEnv,
    afterwards: 'Press Refresh in the MCP panel of Windsurf.',
  },
  opencode: {
    title: 'opencode',
    program: 'opencode',
    servers: 'mcp',
    file: (places) => join(places, configFolder(places), 'opencode', 'opencode.json'),
    local: ({ command, args }) => ({ type: 'local', command: [command, ...args], enabled: true }),
    remote: (server) => ({ type: 'remote', url: server.url, enabled: true, ...headers(server, braceEnv) }),
    variable: braceEnv,
    afterwards: 'Start opencode again; `opencode mcp list` lists the servers.',
  },
  'copilot-cli': {
    title: 'GitHub Copilot CLI',
    program: 'copilot',
    servers: 'mcpServers',
    file: (places) =>
      join(places, places.environment.COPILOT_HOME || join(places, places.home, '.copilot'), 'mcp-config.json'),
    local: (server) => ({ type: 'local', ...server, tools: ['*'] }),
    remote: (server) => ({ type: 'http', url: server.url, tools: ['*'], ...headers(server, dollar) }),
    variable: dollar,
    afterwards: 'Start Copilot CLI again; /mcp show lists the servers.',
  },
  zed: {
    title: 'Zed',
    servers: 'context_servers',
    file: (places) =>
      places.platform === 'win32'
        ? applicationData(places, 'Zed', 'settings.json')
        : join(places, configFolder(places), 'zed', 'settings.json'),
    local: (server) => ({ source: 'custom', ...server }),
    remote: ({ url }) => ({ source: 'custom', url }),
    afterwards: 'Open the settings of the agent panel of Zed, which lists the servers.',
  },
  jetbrains: {
    title: 'JetBrains (Junie)',
    servers: 'mcpServers',
    file: (places) => join(places, places.home, '.junie', 'mcp', 'mcp.json'),
    trace: (places) => join(places, places.home, '.junie'),
    remote: ({ url }) => ({ url }),
    afterwards: 'Open Settings, Tools, Junie, MCP Settings in the IDE, which lists the servers.',
  },
  cline: {
    title: 'Cline',
    servers: 'mcpServers',
    file: (places) => join(places, clineFolder(places), 'settings', 'cline_mcp_settings.json'),
    trace: (places) => clineFolder(places),
    remote: ({ url }) => ({ type: 'streamableHttp', url }),
    afterwards: 'Open the MCP servers of Cline in VS Code, which lists them.',
  },
} as const satisfies Record<string, McpClient>;

export type ClientName = keyof typeof clients;

/** Returns the folder of the extension in VS Code, which Cline makes when it first runs. */
function clineFolder(places: Places): string {
  return applicationData(places, 'Code', 'User', 'globalStorage', 'saoudrizwan.claude-dev');
}

/** Returns the folder of command-line programs that follow the XDG specification, also on macOS. */
function configFolder(places: Places): string {
  return places.environment.XDG_CONFIG_HOME || join(places, places.home, '.config');
}

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
