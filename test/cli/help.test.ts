import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import { helpPartsOf } from '../../src/cli/usage/help.ts';
import { emptyHome, run, temporaryFolder } from '../support/heddle.ts';
import { root } from '../support/markdown-blocks.ts';

/** Returns the words of a command line's heddle commands that the parser does not know. */
function unknownWords(line: string, program: Command): string[] {
  return [...line.replace(/ +#.*$/, '').matchAll(/\bheddle((?: (?!&&|[|>]).\S*)*)/g)].flatMap(([, rest = '']) => {
    let command = program;
    return rest.split(' ').flatMap((word) => {
      const inner = command.commands.find((each) => each.name() === word);
      if (inner) command = inner;
      const isUnknown = word.startsWith('--')
        ? !command.options.some(({ long }) => long === word)
        : !inner && command.commands.length > 0 && word !== '';
      return isUnknown ? [word] : [];
    });
  });
}

/** Returns whether a page of the documentation exists and has the heading behind `#`. */
function hasHeading(path: string): boolean {
  const [file, anchor] = path.replace(/;.*/, '').split('#');
  const headings = readFileSync(join(root, file!), 'utf8').match(/^#+ .*$/gm) ?? [];
  const anchors = headings.map((line) =>
    line
      .replace(/^#+ /, '')
      .toLowerCase()
      .replaceAll(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
  return anchor === undefined || anchors.includes(anchor);
}

describe('heddle help', () => {
  const help = async (...args: string[]): Promise<string> => (await run(args, emptyHome(temporaryFolder()))).stdout;

  it('writes the commands in descriptions of arguments as they are typed', async () => {
    expect(await help('queue', 'export', '--help')).toContain('`node dist/heddle.js queue list`');
  });

  it('groups the commands and names examples and a page of the documentation', async () => {
    const text = await help('--help');
    const headings = text.match(/^[A-Z].*:$/gm);
    expect(headings).toEqual([
      'Options:',
      'Start here:',
      'Queues, evaluations and tools:',
      'Your service:',
      'The embedded service:',
      'Shell:',
      'Examples:',
    ]);
    expect(text).toContain('Documentation: README.md');
    expect(text).not.toContain('More:');
  });

  it('shows shared settings only when asked for all', async () => {
    const short = await help('help', 'queue', 'export');
    expect(short).toContain('Usage: node dist/heddle.js queue export [options] <queue>');
    expect(short).toContain('Shared settings, such as --profile and --project: --help-all');
    expect(short).not.toContain('--keychain-timeout-ms');
    expect(await help('--help-all')).toBe(await help('--help'));
    expect(await help('queue', 'export', '--help-all')).toContain('--keychain-timeout-ms');
  });

  it('has examples and a page for each command, which name only existing commands, options and headings', async () => {
    const program = await createProgram();
    for (const command of program.commands.flatMap((each) => [each, ...each.commands])) {
      if (command.name() === 'help' || command.parent?.name() === 'config') continue;
      const { examples, page } = helpPartsOf(command) ?? { examples: [], page: '' };
      expect(examples.length, command.name()).toBeGreaterThan(0);
      for (const example of examples) expect(unknownWords(example, program), example).toEqual([]);
      for (const path of page.split(', ')) expect(hasHeading(path), path).toBe(true);
    }
  });

  it('begins examples as the user starts heddle', async () => {
    const text = await help('queue', 'delete', '--help');
    expect(text).toContain(
      '$ node dist/heddle.js queue export review > review.jsonl && node dist/heddle.js queue delete review\n',
    );
    expect(await help('--help')).toContain('`node dist/heddle.js COMMAND --help` names the page of each command');
  });

  it("lists a command's own options first, and shared ones under a heading", async () => {
    const text = await help('call', '--help-all');
    expect(text.indexOf('--text')).toBeLessThan(text.indexOf('Shared settings'));
    expect(text.indexOf('--help')).toBeLessThan(text.indexOf('Shared settings'));
    expect(text.indexOf('--base-url')).toBeGreaterThan(text.indexOf('Shared settings'));
  });

  it('describes the arguments of a tool in call TOOL --help and in tools TOOL', async () => {
    for (const args of [
      ['call', 'query_queue_items', '--help'],
      ['tools', 'query_queue_items', '--table'],
    ]) {
      const text = await help(...args);
      expect(text).toMatch(/^queue_id\* +string/m);
      expect(text).toMatch(/^filter\.annotation_states +list of unstarted\|in_progress\|completed\|skipped$/m);
      expect(text).toContain("$ node dist/heddle.js call query_queue_items '{");
      expect(text).not.toContain('--base-url');
    }
  });
});
