import { posix, win32 } from 'node:path';

/** What decides where a client keeps its configuration. */
export interface Places {
  platform: NodeJS.Platform;
  /** Home folder of the person. */
  home: string;
  environment: NodeJS.ProcessEnv;
}

/** An MCP client that heddle can be entered into. */
export interface McpClient {
  title: string;
  format: 'json' | 'toml';
  /** Member of the file that holds the servers by name. */
  servers: 'mcpServers' | 'servers' | 'mcp_servers';
  /** Whether an entry says its transport. */
  typed: boolean;
  /** The file that holds for every project of the person. */
  file: (places: Places) => string;
  /** What the person does so that the client reads the file anew. */
  afterwards: string;
}

const usual = { format: 'json', servers: 'mcpServers', typed: false } as const;

/** The clients of `heddle setup`, by the name that is typed. */
export const clients = {
  'claude-desktop': {
    title: 'Claude Desktop',
    ...usual,
    file: (places) => applicationData(places, 'Claude', 'claude_desktop_config.json'),
    afterwards: 'Quit Claude Desktop and open it again.',
  },
  'claude-code': {
    title: 'Claude Code',
    ...usual,
    typed: true,
    file: (places) => under(places, places.environment.CLAUDE_CONFIG_DIR || places.home, '.claude.json'),
    afterwards: 'Start a new session of Claude Code; /mcp lists the servers.',
  },
  cursor: {
    title: 'Cursor',
    ...usual,
    file: (places) => under(places, places.home, '.cursor', 'mcp.json'),
    afterwards: 'Turn heddle on in the MCP settings of Cursor if it is off.',
  },
  vscode: {
    title: 'VS Code',
    format: 'json',
    servers: 'servers',
    typed: true,
    file: (places) => applicationData(places, 'Code', 'User', 'mcp.json'),
    afterwards: 'VS Code asks once whether it may start the server; "MCP: List Servers" shows it.',
  },
  codex: {
    title: 'Codex',
    format: 'toml',
    servers: 'mcp_servers',
    typed: false,
    file: (places) =>
      under(places, places.environment.CODEX_HOME || under(places, places.home, '.codex'), 'config.toml'),
    afterwards: 'Start Codex again; /mcp lists the servers.',
  },
  'gemini-cli': {
    title: 'Gemini CLI',
    ...usual,
    file: (places) => under(places, places.environment.GEMINI_CLI_HOME || places.home, '.gemini', 'settings.json'),
    afterwards: 'Start Gemini CLI again; /mcp lists the servers.',
  },
  windsurf: {
    title: 'Windsurf',
    ...usual,
    file: (places) => under(places, places.home, '.codeium', 'windsurf', 'mcp_config.json'),
    afterwards: 'Press Refresh in the MCP panel of Windsurf.',
  },
} as const satisfies Record<string, McpClient>;

export type ClientName = keyof typeof clients;

/** Paths in the form of the platform that is asked about, which in tests is not the one that runs. */
function under({ platform }: Places, ...parts: string[]): string {
  return (platform === 'win32' ? win32 : posix).join(...parts);
}

/** A file in the folder where desktop applications of the platform keep their settings. */
function applicationData(places: Places, ...parts: string[]): string {
  const { platform, home, environment } = places;
  if (platform === 'win32') {
    return under(places, environment.APPDATA || under(places, home, 'AppData', 'Roaming'), ...parts);
  }
  if (platform === 'darwin') return under(places, home, 'Library', 'Application Support', ...parts);
  return under(places, environment.XDG_CONFIG_HOME || under(places, home, '.config'), ...parts);
}
