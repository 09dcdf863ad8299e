import { describe, expect, it } from 'vitest';
import { editConfig } from '../../src/client-setup/edit-config.ts';
import type { Edit } from '../../src/client-setup/entry.ts';

const entry = { command: 'C:\\node\\node.exe', args: ['C:\\heddle\\dist\\heddle.js', 'serve'] };
const add: Edit = { format: 'toml', servers: 'mcp_servers', name: 'heddle', entry };
const remove: Edit = { ...add, entry: undefined };

const written = `[mcp_servers.heddle]
command = "C:\\\\node\\\\node.exe"
args = ["C:\\\\heddle\\\\dist\\\\heddle.js", "serve"]
`;

const codex = `# Codex on this machine
model = "o4-mini"          # cheap enough
notify = ["notify-send", "Codex"]
instructions = """
[mcp_servers.heddle] is only text here
"""

[mcp_servers.files]
command = "npx"
args = [
  "-y",
  "some-server", # pinned
]

[mcp_servers.files.env]
LEVEL = "info"

# trusted by hand
[projects."/srv/app"]
trust_level = "trusted"
`;

describe('editConfig for TOML', () => {
  describe('adding a table', () => {
    it.each([
      ['an empty file', '', written],
      ['comments and other tables', codex, `${codex}\n${written}`],
      ['a file without a final line end', 'model = "o4-mini"', `model = "o4-mini"\n\n${written}`],
    ])('handles %s', (_, before, after) => {
      expect(editConfig(before, add)).toBe(after);
    });

    it('keeps the line ends and the byte order mark of Windows', () => {
      const before = `\ufeff${codex.replaceAll('\n', '\r\n')}`;
      expect(editConfig(before, add)).toBe(`\ufeff${`${codex}\n${written}`.replaceAll('\n', '\r\n')}`);
    });
  });

  describe('an existing table', () => {
    const before = `${codex}
[ mcp_servers . "heddle" ] # ours
# an older place
command = "/old/node"
args = [
  "/old/heddle.js", # moved
  "serve",
]
startup_timeout_sec = 20

[mcp_servers.heddle.env]
HEDDLE_PROJECT = "team/support"

# the last one
[tui]
theme = "dark"
`;

    it('gets the new command and keeps everything else', () => {
      expect(editConfig(before, add)).toBe(`${codex}
[ mcp_servers . "heddle" ] # ours
command = "C:\\\\node\\\\node.exe"
args = ["C:\\\\heddle\\\\dist\\\\heddle.js", "serve"]
# an older place
startup_timeout_sec = 20

[mcp_servers.heddle.env]
HEDDLE_PROJECT = "team/support"

# the last one
[tui]
theme = "dark"
`);
      expect(editConfig(editConfig(before, add), add)).toBe(editConfig(before, add));
    });

    it('is removed with the tables inside it', () => {
      expect(editConfig(before, remove)).toBe(`${codex}
# the last one
[tui]
theme = "dark"
`);
    });

    it('is replaced if it has a URL', () => {
      expect(editConfig('[mcp_servers.heddle]\nurl = "http://127.0.0.1:3920/mcp"\n', add)).toBe(written);
    });
  });

  it.each([
    ['comments and other tables', codex],
    ['no content', ''],
    ['the line ends of Windows', `\ufeff${codex.replaceAll('\n', '\r\n')}`],
  ])('undoes adding a table to a file with %s', (_, before) => {
    expect(editConfig(editConfig(before, add), remove)).toBe(before);
  });

  it.each([
    ['text that is cut off', 'model = "o4\n[tui]\n', /The file is not valid TOML: .* in line 1\. It was not changed\./],
    ['a key twice', '[tui]\na = 1\n[tui]\n', /The file is not valid TOML/],
    ['servers in an inline table', 'mcp_servers = { files = { command = "npx" } }\n', /cannot be changed without risk/],
  ])('rejects %s', (_, before, message) => {
    expect(() => editConfig(before, add)).toThrow(message);
  });
});
