import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8');

/** Folders whose files are named after the object, the tool or the command that they define. */
const namedAfterContents = ['contract', 'service/operations', 'tools', 'cli/commands'];

/** Rooms that names in the table of section "Where to look" may begin in, and so may all of `src`. */
const roomsWithFolders = ['', 'service', 'board', 'cli'];

/** The names in backticks of each folder in the section "Files". */
const listed = new Map(
  [
    ...page
      .split('\n## Files\n')[1]!
      .split('\n## ')[0]!
      .matchAll(/^- `([^`]+)`: (.*(?:\n {2}.*)*)/gm),
  ].map(([, folder, names]) => [folder!, [...names!.matchAll(/`([a-z.-]+)`/g)].map((match) => match[1]!)]),
);

function filesIn(folder: string): string[] {
  const names = readdirSync(join(root, 'src', folder)).filter((name) => name.endsWith('.ts'));
  return names.map((name) => basename(name, '.ts'));
}

describe('docs/architecture.md', () => {
  it('lists every folder of src with code, except those that hold only one command', () => {
    const folders = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts') && path.includes('/'))
      .map((path) => path.slice(0, path.lastIndexOf('/')));
    expect([...listed.keys()].sort()).toEqual([...new Set(folders)].filter((path) => !path.endsWith('/demo')).sort());
  });

  it('names existing files and folders where to look', () => {
    const table = page.split('\n## Where to look\n')[1]!.split('\n## ')[0]!;
    const names = [...table.matchAll(/`([a-z/-]+)`/g)].map((match) => match[1]!);
    const all = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).map((path) => `/${path}`);
    const exists = (name: string): boolean =>
      name.includes('/')
        ? roomsWithFolders.some((room) =>
            all.some((path) => [join('/', room, name), join('/', room, `${name}.ts`)].includes(path)),
          )
        : all.some((path) => path.endsWith(`/${name}`) || path.endsWith(`/${name}.ts`));
    expect(names.length).toBeGreaterThan(40);
    expect(names.filter((name) => !exists(name))).toEqual([]);
  });

  it.each([...listed])('lists the files of %s', (folder, names) => {
    const files = filesIn(folder);
    if (!namedAfterContents.includes(folder)) expect(files.filter((file) => !names.includes(file))).toEqual([]);
    expect(names.filter((name) => !files.includes(name))).toEqual([]);
  });
});
