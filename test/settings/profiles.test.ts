import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configFileIn, type Folders, readProfiles, writeProfile } from '../../src/settings/profiles.ts';
import { emptyHome, run, temporaryFolder } from '../support/heddle.ts';

function temporaryFolders(): Folders {
  const folder = temporaryFolder();
  return { config: folder, data: folder };
}

describe('writeProfile', () => {
  it('changes one profile and keeps everything else in the file', () => {
    const folders = temporaryFolders();
    const file = configFileIn(folders);
    writeFileSync(file, '{"note": "mine", "profiles": {"a": {"base_url": "https://a.example", "timeout_ms": 5}}}');
    writeProfile('b', { base_url: 'https://b.example', store: 'file' }, folders);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
      note: 'mine',
      profiles: {
        a: { base_url: 'https://a.example', timeout_ms: 5 },
        b: { base_url: 'https://b.example', store: 'file' },
      },
    });
    writeProfile('a', undefined, folders);
    expect(readProfiles(folders)).toEqual({ b: { base_url: 'https://b.example', store: 'file' } });
  });

  it('removes temporary files that a crash left behind, and no other files', () => {
    const folders = temporaryFolders();
    const file = configFileIn(folders);
    writeFileSync(`${file}.0b1c.tmp`, 'half');
    writeFileSync(join(folders.config, 'credentials.json.0b1c.tmp'), 'not mine');
    writeProfile('a', {}, folders);
    expect(readdirSync(folders.config).sort()).toEqual(['config.json', 'credentials.json.0b1c.tmp']);
  });

  it('names a file that it cannot replace', () => {
    const folders = temporaryFolders();
    const file = configFileIn(folders);
    mkdirSync(join(file, 'in-the-way'), { recursive: true });
    expect(() => writeProfile('a', {}, folders)).toThrow(`The configuration file ${file} cannot be used`);
  });
});

describe('a profile', () => {
  it.each([
    ['{"profiles":{"a":{"base_url":"http://one"}},"profiles":{}}', 'it has "profiles" twice'],
    ['{"profiles":{"a":{},"a":{}}}', 'it has "a" twice'],
    ['{"profiles":{"a":{"base_url":"http://one","base_url":"http://two"}}}', 'it has "base_url" twice'],
    ['{"profiles":{"__proto__":{"base_url":"http://one"}}}', 'it has a member "__proto__"'],
  ])('is not read from an ambiguous file: %s', (text, reason) => {
    const folders = temporaryFolders();
    const file = configFileIn(folders);
    writeFileSync(file, text);
    const message = `The configuration file ${file} cannot be used: ${reason}`;
    expect(() => readProfiles(folders)).toThrow(message);
    expect(() => writeProfile('b', {}, folders)).toThrow(message);
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it.each([
    ['[]', '✖ Invalid input: expected object, received array'],
    ['{"profiles":null}', '✖ Invalid input: expected record, received null\n  → at profiles'],
    ['{"profiles":{"a":{},"b":5}}', '✖ Invalid input: expected record, received number\n  → at profiles.b'],
    [
      '{"profiles":{"a":{"x":null,"y":true},"b c":{"q":{}},"d":"e"}}',
      [
        '✖ Invalid input: expected record, received string\n  → at profiles.d',
        '✖ Invalid input\n  → at profiles.a.x',
        '✖ Invalid input\n  → at profiles["b c"].q',
      ].join('\n'),
    ],
  ])('is not read from a file of another shape: %s', (text, reason) => {
    const folders = temporaryFolders();
    const file = configFileIn(folders);
    writeFileSync(file, text);
    expect(() => readProfiles(folders)).toThrow(`The configuration file ${file} cannot be used: ${reason}`);
  });

  it.each(['__proto__', 'constructor', 'toString'])(
    'is not found under the name %s unless the file has it',
    async (name) => {
      const { code, stderr } = await run(['status', '--profile', name], emptyHome(temporaryFolder()));
      expect([code, stderr]).toEqual([
        2,
        expect.stringMatching(/--profile (names a profile that does not exist|cannot be the name of a profile)/),
      ]);
    },
  );

  it('is rejected if it has an unknown key, without showing its values', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'heddle', 'config.json');
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(
      file,
      JSON.stringify({ profiles: { default: { base_ur: 'http://127.0.0.1:9', password: 'hunter-hunter' } } }),
    );
    const { code, stderr } = await run(['status'], emptyHome(folder));
    expect(code).toBe(2);
    expect(stderr).toContain('Profile "default" has the unknown key "base_ur".');
    expect(stderr).not.toContain('hunter-hunter');
  });
});
