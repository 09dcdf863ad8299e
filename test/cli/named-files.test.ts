import { execFileSync } from 'node:child_process';
import {
  chownSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import { call, inInvocation, run, temporaryFolder } from '../support/heddle.ts';
import { setUpProfiles } from '../support/profiles.ts';
import { startPublicTarget } from '../support/public-target.ts';

const runAnswers = ['evaluation', 'run', 'Answers', '--model', 'heddle/echo', '--prompt', '{question}'];

/** Commands that write a file which a person names, by the option or argument, and whether they replace an earlier one. */
const writers: Record<string, { args: (file: string, run: string) => string[]; replaces: boolean }> = {
  'queue export --out': {
    args: (file) => ['queue', 'export', 'support-triage', '--format', 'csv', '--out', file],
    replaces: true,
  },
  'evaluation run --junit': { args: (file) => [...runAnswers, '--junit', file], replaces: true },
  'evaluation run --markdown': { args: (file) => [...runAnswers, '--markdown', file], replaces: true },
  'evaluation show --junit': { args: (file, runId) => ['evaluation', 'show', runId, '--junit', file], replaces: true },
  'evaluation show --markdown': {
    args: (file, runId) => ['evaluation', 'show', runId, '--markdown', file],
    replaces: true,
  },
  'evaluation compare --markdown': {
    args: (file) => ['evaluation', 'compare', 'Answers', '--markdown', file],
    replaces: true,
  },
  'evaluation resume --markdown': {
    args: (file, runId) => ['evaluation', 'resume', runId, '--markdown', file],
    replaces: true,
  },
  'evaluation resume --junit': {
    args: (file, runId) => ['evaluation', 'resume', runId, '--junit', file],
    replaces: true,
  },
  'evaluation export --out': {
    args: (file, runId) => ['evaluation', 'export', runId, '--out', file],
    replaces: true,
  },
  'evaluation import --out': {
    args: (file) => ['evaluation', 'import', join(import.meta.dirname, 'promptfoo', 'equals.yaml'), '--out', file],
    replaces: true,
  },
  'setup --file': { args: (file) => ['setup', 'cursor', '--yes', '--file', file], replaces: true },
  'service copy --ids': {
    args: (file) => ['service', 'copy', '--to', 'cloud', '--project', 'demo/support', '--dry-run', '--ids', file],
    replaces: true,
  },
  'service backup file': { args: (file) => ['service', 'backup', file], replaces: false },
};

/** Options and arguments that name a file which is only read. */
const readers = [
  'evaluation import file',
  'evaluation run --config',
  'evaluation run --messages-file',
  'evaluation run --prompt-file',
  'serve --subjects',
  'serve --token-file',
  'import file',
  'service import file',
  'service put-dataset file',
  'service put-prompt file',
  'service restore file',
];

/** Lists the options and arguments of a command and its own commands that name a file. */
function namedFiles(command: Command, path: string[]): string[] {
  const options = command.options.filter(({ flags }) => flags.includes('<file>')).map(({ long }) => String(long));
  const given = command.registeredArguments.map((argument) => argument.name()).filter((name) => name === 'file');
  return [
    ...[...options, ...given].map((name) => [...path, name].join(' ')),
    ...command.commands.flatMap((each) => namedFiles(each, [...path, each.name()])),
  ];
}

describe('every option and argument that names a file', () => {
  it('is in one of the lists of this test', async () => {
    const program = await inInvocation({}, () => createProgram()).made;
    expect(namedFiles(program, []).sort()).toEqual([...Object.keys(writers), ...readers].sort());
  });
});

const { url: baseUrl } = await startPublicTarget();
const cloud = { baseUrl, project: 'demo/support', username: 'api', password: 'key', token: 'key' };
const { environment } = setUpProfiles({ cloud }, {});
const dataset = 'weave:///demo/support/object/tickets:latest';
await call('create_evaluation', { name: 'Answers', dataset }, environment);
const request = { evaluation: 'Answers', model: 'heddle/echo', prompt: '{question}' };
await call('run_evaluation', request, environment);
const { result } = await call('run_evaluation', request, environment);

describe.skipIf(process.platform === 'win32').each(Object.entries(writers))('%s', (_, { args, replaces }) => {
  const write = (file: string) => run(args(file, result.run_id), environment);

  it('writes a new file, and refuses devices, pipes and folders without changing them', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'new');
    const written = await write(file);
    expect(written.code, written.stderr).toBe(0);
    expect(lstatSync(file).size).toBeGreaterThan(0);
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    mkdirSync(join(folder, 'folder'));
    const kinds = () =>
      ['/dev/null', pipe, join(folder, 'folder')].map((path) => [lstatSync(path).mode, lstatSync(path).ino]);
    const before = kinds();
    for (const path of ['/dev/null', pipe, join(folder, 'folder')]) {
      const { code, stderr } = await write(path);
      expect([path, code]).not.toEqual([path, 0]);
      expect(stderr).toContain(path);
    }
    expect(kinds()).toEqual(before);
    expect(readdirSync(folder).sort()).toEqual(['folder', 'new', 'pipe']);
  });

  it('follows a symbolic link or refuses it, and never replaces it', async () => {
    const folder = temporaryFolder();
    const target = join(folder, 'target');
    writeFileSync(target, '{}');
    symlinkSync(target, join(folder, 'link'));
    symlinkSync(join(folder, 'nothing'), join(folder, 'broken'));
    expect((await write(join(folder, 'link'))).code === 0).toBe(replaces);
    expect(lstatSync(join(folder, 'link')).isSymbolicLink()).toBe(true);
    expect(readFileSync(target, 'utf8') === '{}').toBe(!replaces);
    expect((await write(join(folder, 'broken'))).code).not.toBe(0);
    expect(lstatSync(join(folder, 'broken')).isSymbolicLink()).toBe(true);
  });

  it.runIf(process.getuid?.() === 0)(
    'leaves files of other users, and what their links lead to, as they are',
    async () => {
      const folder = temporaryFolder();
      const [file, own, link] = ['file', 'own', 'link'].map((name) => join(folder, name)) as [string, string, string];
      writeFileSync(file, '{}');
      chownSync(file, 4711, 4711);
      writeFileSync(own, '{}');
      symlinkSync(own, link);
      lchownSync(link, 4711, 4711);
      for (const path of [file, link]) expect((await write(path)).code).not.toBe(0);
      expect([file, own].map((path) => readFileSync(path, 'utf8'))).toEqual(['{}', '{}']);
    },
  );
});
