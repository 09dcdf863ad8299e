import { describe, expect, it } from 'vitest';
import { editConfig } from '../../src/client-setup/edit-config.ts';
import type { Edit } from '../../src/client-setup/entry.ts';

const entry = { command: '/usr/bin/node', args: ['/opt/heddle/dist/heddle.js', 'serve'] };
const add: Edit = { format: 'json', servers: 'mcpServers', name: 'heddle', entry };
const remove: Edit = { ...add, entry: undefined };

/** The entry two levels deep, indented with two spaces. */
const written = `"heddle": {
      "command": "/usr/bin/node",
      "args": [
        "/opt/heddle/dist/heddle.js",
        "serve"
      ]
    }`;

const vscode = `// Servers of this machine
{
  // asked for once, kept in the keychain
  "inputs": [{ "id": "key", "type": "promptString", "password": true }],
  "mcpServers": {
    /* the file system, work only */
    "files": {
      "command": "npx",
      "args": ["-y", "some-server", "/srv"], // no home folder
    }, // until the review is done
    "docs": { "url": "https://docs.example.com/mcp" }, // read-only
  },
}
`;

describe('editConfig for JSON', () => {
  describe('adding an entry', () => {
    it.each([
      ['an empty file', '', `{\n  "mcpServers": {\n    ${written}\n  }\n}\n`],
      ['white space', ' \n\n', `{\n  "mcpServers": {\n    ${written}\n  }\n}\n`],
      ['an empty object', '{}\n', `{\n  "mcpServers": {\n    ${written}\n  }\n}\n`],
      ['one line', '{"a":1,"mcpServers":{}}', `{"a":1,"mcpServers":{"heddle": ${JSON.stringify(entry)}}}`],
      [
        'one line with servers',
        '{"mcpServers":{"b":{"command":"b"}},"z":1}\n',
        `{"mcpServers":{"b":{"command":"b"}, "heddle": ${JSON.stringify(entry)}},"z":1}\n`,
      ],
      [
        'an empty object that spans lines',
        '{\n  "mcpServers": { // none yet\n  }\n}\n',
        `{\n  "mcpServers": { // none yet\n    ${written}\n  }\n}\n`,
      ],
      [
        'comments and trailing commas',
        vscode,
        vscode.replace('// read-only\n', () => `// read-only\n    ${written},\n`),
      ],
      [
        'a comment behind the last server',
        '{\n  "mcpServers": {\n    "a": { "command": "a" } // keep\n  }\n}\n',
        `{\n  "mcpServers": {\n    "a": { "command": "a" }, // keep\n    ${written}\n  }\n}\n`,
      ],
      [
        'other settings only',
        '{\n  "theme": "dark" // easier at night\n}\n',
        `{\n  "theme": "dark", // easier at night\n  "mcpServers": {\n    ${written}\n  }\n}\n`,
      ],
      [
        'a comment and nothing else',
        '// nothing yet\n',
        `// nothing yet\n{\n  "mcpServers": {\n    ${written}\n  }\n}\n`,
      ],
    ])('handles %s', (_, before, after) => {
      expect(editConfig(before, add)).toBe(after);
    });

    it('indents with tabs if the file does', () => {
      const before = '{\n\t"mcpServers": {\n\t\t"a": {\n\t\t\t"command": "a"\n\t\t}\n\t}\n}\n';
      expect(editConfig(before, add)).toContain('\n\t\t"heddle": {\n\t\t\t"command": "/usr/bin/node",\n');
    });

    it('keeps the line ends and the byte order mark of Windows', () => {
      const before = `\ufeff${vscode.replaceAll('\n', '\r\n')}`;
      const after = editConfig(before, add);
      expect(after.startsWith('\ufeff//')).toBe(true);
      expect(after.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
      expect(after.replaceAll('\r\n', '\n').slice(1)).toBe(editConfig(vscode, add));
    });
  });

  describe('updating an entry', () => {
    it('returns the same text if the entry is up to date', () => {
      const after = editConfig(vscode, add);
      expect(editConfig(after, add)).toBe(after);
    });

    it('keeps members and comments that the user added', () => {
      const before = `{
  "mcpServers": {
    "heddle": {
      // moved in spring
      "command": "/old/node", // 18
      "args": ["/old/heddle.js"],
      "env": { "HEDDLE_PROJECT": "team/support" }
    }
  }
}
`;
      expect(editConfig(before, add)).toBe(`{
  "mcpServers": {
    "heddle": {
      // moved in spring
      "command": "/usr/bin/node", // 18
      "args": [
        "/opt/heddle/dist/heddle.js",
        "serve"
      ],
      "env": { "HEDDLE_PROJECT": "team/support" }
    }
  }
}
`);
    });

    it('replaces an entry with a URL', () => {
      const before = '{ "mcpServers": { "heddle": { "url": "http://127.0.0.1:3920/mcp" } } }';
      expect(JSON.parse(editConfig(before, add))).toEqual({ mcpServers: { heddle: entry } });
    });
  });

  describe('removing an entry', () => {
    it.each([
      ['comments and trailing commas', vscode],
      ['a comment behind the last server', '{\n  "mcpServers": {\n    "a": { "command": "a" } // keep\n  }\n}\n'],
      ['other settings only', '{\n  "theme": "dark" // easier at night\n}\n'],
      ['the line ends of Windows', `\ufeff${vscode.replaceAll('\n', '\r\n')}`],
    ])('undoes adding it to a file with %s', (_, before) => {
      expect(editConfig(editConfig(before, add), remove)).toBe(before);
    });

    it.each([
      [
        'the first server',
        '{"mcpServers":{"heddle":{"command":"x"},"b":{"command":"b"}}}',
        '{"mcpServers":{"b":{"command":"b"}}}',
      ],
      [
        'the last server',
        '{"mcpServers":{"b":{"command":"b"}, "heddle":{"command":"x"}}}',
        '{"mcpServers":{"b":{"command":"b"} }}',
      ],
      ['the only server', '{"mcpServers":{"heddle":{"command":"x"}}}', '{}'],
      [
        'a server before the comment of the next one',
        '{\n  "mcpServers": {\n    "heddle": {"command":"x"},\n    // about b\n    "b": {"command":"b"}\n  }\n}',
        '{\n  "mcpServers": {\n    // about b\n    "b": {"command":"b"}\n  }\n}',
      ],
      ['a server that is not there', vscode, vscode],
    ])('removes %s', (_, before, after) => {
      expect(editConfig(before, remove)).toBe(after);
    });
  });

  it.each([
    [
      'text that is cut off',
      '{\n  "mcpServers": {\n',
      'The file is not valid JSON: expected close brace in line 3. It was not changed.',
    ],
    ['a stray word', '{\n  "mcpServers": oops\n}', 'The file is not valid JSON: invalid symbol in line 2.'],
    ['two values', '{} {}', 'The file is not valid JSON: expected end of file in line 1.'],
    ['a list', '[]', 'The file is not a table of names and values.'],
    ['servers as a list', '{"mcpServers": []}', '"mcpServers" of the file is not a table'],
    [
      'servers twice',
      '{"mcpServers": {"a": {"command": "a"}}, "mcpServers": {"b": {"command": "b"}}}',
      'cannot be changed without risk',
    ],
  ])('rejects %s', (_, before, message) => {
    expect(() => editConfig(before, add)).toThrow(message);
  });
});
