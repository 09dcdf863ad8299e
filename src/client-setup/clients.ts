import { posix, win32 } from 'node:path';
import type { Entry, ServersMember } from './entry.ts';

/** The facts of a system that determine where a client keeps its configuration file. */
export interface SystemInfo {
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
  servers: ServersMember;
  /** Returns the path of the file that applies to all projects of the user. */
  file: (system: SystemInfo) => string;
  /** Path, in the folder of a project, of the file that applies to this project alone. */
  projectFile?: string;
  /** Returns the folder or file that exists where the client is installed; by default the folder of its file. */
  trace?: (system: SystemInfo) => string;
  /** Name of its program, for a client of the command line, which may leave no trace before its first start. */
  program?: string;
  /** Returns the entry for a server that the client starts; by default the command and its arguments. */
  localEntry?: (server: LocalServer) => Entry;
  /** Returns the entry for a server over HTTP; absent for a client whose file takes none. */
  remoteEntry?: (server: RemoteServer) => Entry;
  /** Returns the file that names an installed plugin, and the path of the member that is its state, for a client with plugins. */
  plugin?: (system: SystemInfo) => { file: string; member: readonly string[] };
  /** Writes the reference to a variable of the environment; absent where the client takes none. */
  variableReference?: (name: string) => string;
  /** Tells the user how to make the client read the file again. */
  afterwards: string;
}

/** Returns the `headers` member with the bearer token of a server, whose secret stays in the environment. */
function headers({ tokenVariable }: RemoteServer, referenceTo: (variable: string) => string): Entry {
  return tokenVariable === undefined ? {} : { headers: { Authorization: `Bearer ${referenceTo(tokenVariable)}` } };
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
    file: (system) => applicationData(system, 'Claude', 'claude_desktop_config.json'),
    afterwards: 'Quit Claude Desktop and open it again.',
  },
  'claude-code': {
    title: 'Claude Code',
    program: 'claude',
    servers: 'mcpServers',
    file: (system) => join(system, system.environment.CLAUDE_CONFIG_DIR || system.home, '.claude.json'),
    projectFile: '.mcp.json',
    trace: claudeFolder,
    plugin: (system) => ({
      file: join(system, claudeFolder(system), 'settings.json'),
      member: ['enabledPlugins', 'heddle@heddle'],
    }),
    localEntry: typedLocal,
    remoteEntry: (server) => ({ type: 'http', url: server.url, ...headers(server, dollar) }),
    variableReference: dollar,
    afterwards: 'Start a new session of Claude Code; /mcp lists the servers.',
  },
  cursor: {
    title: 'Cursor',
    servers: 'mcpServers',
    file: (system) => join(system, system.home, '.cursor', 'mcp.json'),
    projectFile: '.cursor/mcp.json',
    remoteEntry: (server) => ({ url: server.url, ...headers(server, dollarEnv) }),
    variableReference: dollarEnv,
    afterwards: 'Turn heddle on in the MCP settings of Cursor if it is off.',
  },
  vscode: {
    title: 'VS Code',
    servers: 'servers',
    file: (system) => applicationData(system, 'Code', 'User', 'mcp.json'),
    projectFile: '.vscode/mcp.json',
    localEntry: typedLocal,
    remoteEntry: (server) => ({ type: 'http', url: server.url, ...headers(server, dollarEnv) }),
    variableReference: dollarEnv,
    afterwards: 'Allow VS Code to start the server when it asks; "MCP: List Servers" shows it.',
  },
  codex: {
    title: 'Codex',
    program: 'codex',
    format: 'toml',
    servers: 'mcp_servers',
    file: codexFile,
    projectFile: '.codex/config.toml',
    plugin: (system) => ({ file: codexFile(system), member: ['plugins', 'heddle@heddle', 'enabled'] }),
    remoteEntry: ({ url, tokenVariable }) => ({
      url,
      ...(tokenVariable !== undefined && { bearer_token_env_var: tokenVariable }),
    }),
    variableReference: (name) => name,
    afterwards: 'Start Codex again; /mcp lists the servers.',
  },
  'gemini-cli': {
    title: 'Gemini CLI',
    program: 'gemini',
    servers: 'mcpServers',
    file: (system) => join(system, geminiFolder(system), 'settings.json'),
    projectFile: '.gemini/settings.json',
    plugin: (system) => ({
      file: join(system, geminiFolder(system), 'extensions', 'heddle', 'gemini-extension.json'),
      member: ['name'],
    }),
    remoteEntry: (server) => ({ httpUrl: server.url, ...headers(server, dollar) }),
    variableReference: dollar,
    afterwards: 'Start Gemini CLI again in a folder that it trusts; /mcp lists the servers.',
  },
  windsurf: {
    title: 'Windsurf',
    servers: 'mcpServers',
    file: (system) => join(system, system.home, '.codeium', 'windsurf', 'mcp_config.json'),
    remoteEntry: (server) => ({ serverUrl: server.url, ...headers(server, dollarEnv) }),
    variableReference: dollarEnv,
    afterwards: 'Press Refresh in the MCP panel of Windsurf.',
  },
  opencode: {
    title: 'opencode',
    program: 'opencode',
    servers: 'mcp',
    file: (system) => join(system, configFolder(system), 'opencode', 'opencode.json'),
    projectFile: 'opencode.json',
    localEntry: ({ command, args }) => ({ type: 'local', command: [command, ...args], enabled: true }),
    remoteEntry: (server) => ({ type: 'remote', url: server.url, enabled: true, ...headers(server, braceEnv) }),
    variableReference: braceEnv,
    afterwards: 'Start opencode again; `opencode mcp list` lists the servers.',
  },
  'copilot-cli': {
    title: 'GitHub Copilot CLI',
    program: 'copilot',
    servers: 'mcpServers',
    file: (system) =>
      join(system, system.environment.COPILOT_HOME || join(system, system.home, '.copilot'), 'mcp-config.json'),
    localEntry: (server) => ({ type: 'local', ...server, tools: ['*'] }),
    remoteEntry: (server) => ({ type: 'http', url: server.url, tools: ['*'], ...headers(server, dollar) }),
    variableReference: dollar,
    afterwards: 'Start Copilot CLI again; /mcp show lists the servers.',
  },
  zed: {
    title: 'Zed',
    servers: 'context_servers',
    file: (system) =>
      system.platform === 'win32'
        ? applicationData(system, 'Zed', 'settings.json')
        : join(system, configFolder(system), 'zed', 'settings.json'),
    localEntry: (server) => ({ source: 'custom', ...server }),
    remoteEntry: ({ url }) => ({ source: 'custom', url }),
    afterwards: 'Open the settings of the agent panel of Zed, which lists the servers.',
  },
  jetbrains: {
    title: 'JetBrains (Junie)',
    servers: 'mcpServers',
    file: (system) => join(system, system.home, '.junie', 'mcp', 'mcp.json'),
    projectFile: '.junie/mcp/mcp.json',
    trace: (system) => join(system, system.home, '.junie'),
    remoteEntry: ({ url }) => ({ url }),
    afterwards: 'Open Settings, Tools, Junie, MCP Settings in the IDE, which lists the servers.',
  },
  cline: {
    title: 'Cline',
    servers: 'mcpServers',
    file: (system) => join(system, clineFolder(system), 'settings', 'cline_mcp_settings.json'),
    trace: (system) => clineFolder(system),
    remoteEntry: ({ url }) => ({ type: 'streamableHttp', url }),
    afterwards: 'Open the MCP servers of Cline in VS Code, which lists them.',
  },
} as const satisfies Record<string, McpClient>;

export type ClientName = keyof typeof clients;

function claudeFolder(system: SystemInfo): string {
  return system.environment.CLAUDE_CONFIG_DIR || join(system, system.home, '.claude');
}

function codexFile(system: SystemInfo): string {
  return join(system, system.environment.CODEX_HOME || join(system, system.home, '.codex'), 'config.toml');
}

function geminiFolder(system: SystemInfo): string {
  return join(system, system.environment.GEMINI_CLI_HOME || system.home, '.gemini');
}

/** Returns the folder of the extension in VS Code, which Cline makes when it first runs. */
function clineFolder(system: SystemInfo): string {
  return applicationData(system, 'Code', 'User', 'globalStorage', 'saoudrizwan.claude-dev');
}

/** Returns the folder of command-line programs that follow the XDG specification, also on macOS. */
function configFolder(system: SystemInfo): string {
  return system.environment.XDG_CONFIG_HOME || join(system, system.home, '.config');
}

/** Joins a path in the form of the given platform. */
function join({ platform }: SystemInfo, ...parts: string[]): string {
  return (platform === 'win32' ? win32 : posix).join(...parts);
}

/** Returns a path in the folder where desktop applications of the platform keep their settings. */
function applicationData(system: SystemInfo, ...parts: string[]): string {
  const { platform, home, environment } = system;
  if (platform === 'win32') {
    return join(system, environment.APPDATA || join(system, home, 'AppData', 'Roaming'), ...parts);
  }
  if (platform === 'darwin') return join(system, home, 'Library', 'Application Support', ...parts);
  return join(system, environment.XDG_CONFIG_HOME || join(system, home, '.config'), ...parts);
}
