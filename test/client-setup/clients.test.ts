import { describe, expect, it } from 'vitest';
import { type ClientName, clients } from '../../src/client-setup/clients.ts';

const homes = { linux: '/home/ada', darwin: '/Users/ada', win32: 'C:\\Users\\ada' } as const;

function places(environment: Record<string, string>) {
  return (Object.keys(homes) as (keyof typeof homes)[]).map((platform) =>
    (Object.keys(clients) as ClientName[]).map((name) =>
      clients[name].file({ platform, home: homes[platform], environment }),
    ),
  );
}

describe('clients', () => {
  it('names the configuration file that each client documents', () => {
    expect(places({})).toEqual([
      [
        '/home/ada/.config/Claude/claude_desktop_config.json',
        '/home/ada/.claude.json',
        '/home/ada/.cursor/mcp.json',
        '/home/ada/.config/Code/User/mcp.json',
        '/home/ada/.codex/config.toml',
        '/home/ada/.gemini/settings.json',
        '/home/ada/.codeium/windsurf/mcp_config.json',
        '/home/ada/.config/opencode/opencode.json',
        '/home/ada/.copilot/mcp-config.json',
        '/home/ada/.config/zed/settings.json',
        '/home/ada/.junie/mcp/mcp.json',
        '/home/ada/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json',
      ],
      [
        '/Users/ada/Library/Application Support/Claude/claude_desktop_config.json',
        '/Users/ada/.claude.json',
        '/Users/ada/.cursor/mcp.json',
        '/Users/ada/Library/Application Support/Code/User/mcp.json',
        '/Users/ada/.codex/config.toml',
        '/Users/ada/.gemini/settings.json',
        '/Users/ada/.codeium/windsurf/mcp_config.json',
        '/Users/ada/.config/opencode/opencode.json',
        '/Users/ada/.copilot/mcp-config.json',
        '/Users/ada/.config/zed/settings.json',
        '/Users/ada/.junie/mcp/mcp.json',
        '/Users/ada/Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json',
      ],
      [
        'C:\\Users\\ada\\AppData\\Roaming\\Claude\\claude_desktop_config.json',
        'C:\\Users\\ada\\.claude.json',
        'C:\\Users\\ada\\.cursor\\mcp.json',
        'C:\\Users\\ada\\AppData\\Roaming\\Code\\User\\mcp.json',
        'C:\\Users\\ada\\.codex\\config.toml',
        'C:\\Users\\ada\\.gemini\\settings.json',
        'C:\\Users\\ada\\.codeium\\windsurf\\mcp_config.json',
        'C:\\Users\\ada\\.config\\opencode\\opencode.json',
        'C:\\Users\\ada\\.copilot\\mcp-config.json',
        'C:\\Users\\ada\\AppData\\Roaming\\Zed\\settings.json',
        'C:\\Users\\ada\\.junie\\mcp\\mcp.json',
        'C:\\Users\\ada\\AppData\\Roaming\\Code\\User\\globalStorage\\saoudrizwan.claude-dev\\settings\\cline_mcp_settings.json',
      ],
    ]);
  });

  it('respects the environment variables of clients and platforms', () => {
    const [linux, , windows] = places({
      XDG_CONFIG_HOME: '/conf',
      APPDATA: 'D:\\roaming',
      CLAUDE_CONFIG_DIR: '/claude',
      CODEX_HOME: '/codex',
      GEMINI_CLI_HOME: '/gemini',
      COPILOT_HOME: '/copilot',
    });
    expect(linux).toEqual([
      '/conf/Claude/claude_desktop_config.json',
      '/claude/.claude.json',
      '/home/ada/.cursor/mcp.json',
      '/conf/Code/User/mcp.json',
      '/codex/config.toml',
      '/gemini/.gemini/settings.json',
      '/home/ada/.codeium/windsurf/mcp_config.json',
      '/conf/opencode/opencode.json',
      '/copilot/mcp-config.json',
      '/conf/zed/settings.json',
      '/home/ada/.junie/mcp/mcp.json',
      '/conf/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json',
    ]);
    expect([windows![0], windows![3]]).toEqual([
      'D:\\roaming\\Claude\\claude_desktop_config.json',
      'D:\\roaming\\Code\\User\\mcp.json',
    ]);
  });
});
