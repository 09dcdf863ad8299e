import { describe, expect, test } from 'vitest';
import { editConfig } from '../../src/client-setup/edit-config.ts';
import type { Edit } from '../../src/client-setup/entry.ts';

const entry = { command: 'C:\\node\\node.exe', args: ['C:\\heddle\\dist\\heddle.js', 'serve'] };
const put: Edit = { format: 'toml', servers: 'mcp_servers', name: 'heddle', entry };
const take: Edit = { ...put, entry: undefined };

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

describe('a table that is new', () => {
  test.each([
    ['an empty file', '', written],
    ['comments and other tables', codex, `${codex}\n${written}`],
    ['no line end at the end', 'model = "o4-mini"', `model = "o4-mini"\n\n${written}`],
  ])('%s', (_, before, after) => {
    expect(editConfig(before, put)).toBe(after);
  });

  test('line ends and the byte order mark of Windows stay', () => {
    const before = `\ufeff${codex.replaceAll('\n', '\r\n')}`;
    expect(editConfig(before, put)).toBe(`\ufeff${`${codex}\n${written}`.replaceAll('\n', '\r\n')}`);
  });
});

describe('a table that is there', () => {
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

  test('its command is overrides up to date and the rest stays', () => {
    expect(editConfig(before, put)).toBe(`${codex}
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
    expect(editConfig(editConfig(before, put), put)).toBe(editConfig(before, put));
  });

  test('it goes with the tables inside it', () => {
    expect(editConfig(before, take)).toBe(`${codex}
# the last one
[tui]
theme = "dark"
`);
  });

  test('an entry of another kind is replaced', () => {
    expect(editConfig('[mcp_servers.heddle]\nurl = "http://127.0.0.1:3920/mcp"\n', put)).toBe(written);
  });
});

test.each([
  ['comments and other tables', codex],
  ['nothing', ''],
  ['Windows', `\ufeff${codex.replaceAll('\n', '\r\n')}`],
])('taking it out leaves the file as it was: %s', (_, before) => {
  expect(editConfig(editConfig(before, put), take)).toBe(before);
});

test.each([
  ['cut off', 'model = "o4\n[tui]\n', /The file is not valid TOML: .* in line 1\. It was not changed\./],
  ['a key twice', '[tui]\na = 1\n[tui]\n', /The file is not valid TOML/],
  ['servers as one value', 'mcp_servers = { files = { command = "npx" } }\n', /cannot be changed without risk/],
])('refused: %s', (_, before, message) => {
  expect(() => editConfig(before, put)).toThrow(message);
});
