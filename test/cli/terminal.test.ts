import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import { helpPartsOf } from '../../src/cli/support/help.ts';
import { sendResponse, startFakeService } from '../support/fake-service.ts';
import { command, emptyHome, run, temporaryFolder } from '../support/heddle.ts';
import { root } from '../support/markdown-blocks.ts';
import { controlC, converse, converseWith, enter, hasTerminal } from '../support/pseudo-terminal.ts';
import { requireProgram } from '../support/require-program.ts';

const hasZsh = requireProgram('zsh', 'zsh', 'apt-get install zsh');
const hasFish = requireProgram('fish', 'fish', 'apt-get install fish');

/** Each test starts heddle several times. */
const manyStarts = { timeout: 120_000 };

/** Removes colors and the codes that move the cursor. */
const plain = (screen: string): string => stripVTControlCharacters(screen).replaceAll('\r', '');

describe.skipIf(!hasTerminal)('heddle at a terminal', manyStarts, () => {
  it('says what it waits for, and names setup, demo and --help', async () => {
    const { screen } = await converse([], emptyHome(temporaryFolder()), [['heddle --help', controlC]]);
    expect(screen).toContain('waits for a client to start talking');
    expect(screen).toContain('`heddle setup CLIENT` adds it to a client, `heddle demo` shows what it does');
  });

  it('says nothing where a client starts it', async () => {
    expect(await run([], emptyHome(temporaryFolder()))).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it('tells how a client connects to a server over HTTP, without its token', async () => {
    const environment = emptyHome(temporaryFolder(), { HEDDLE_HTTP_TOKEN: 'correct-horse-battery' });
    const { screen } = await converse(['serve', '--http', '--port', '0'], environment, [['Ctrl-C ends it.', controlC]]);
    expect(screen).toMatch(/Connect a client with `heddle setup CLIENT --url http:\/\/127\.0\.0\.1:\d+\/mcp`\./);
    expect(screen).toContain('Clients send the header `Authorization: Bearer TOKEN`');
    expect(screen).not.toContain('correct-horse');
  });

  it('draws results as tables that fit the width, and prints JSON with --json', async () => {
    const environment = emptyHome(temporaryFolder());
    const args = ['call', 'query_queue_items', '{"queue_id":"support-triage","limit":3,"include_call":true}'];
    const drawn = await converse(args, environment, [], { columns: 90 });
    expect(drawn.code).toBe(0);
    const lines = plain(drawn.screen).split('\n');
    expect(lines).toContain('items: 3');
    expect(lines.find((line) => line.startsWith('id '))).toMatch(/^id +annotation_\S+ +inputs\.ques\S+ +output\.ans/);
    for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(90);
    expect(drawn.screen).toContain('\u001b[1m');

    const json = await converse([...args, '--json'], environment);
    expect(JSON.parse(json.screen)).toMatchObject({ items: [{}, {}, {}] });
    const list = await converse(['service', 'list'], environment);
    expect(plain(list.screen)).toMatch(/^queue +items +completed/m);
  });

  it('has no colors with NO_COLOR', async () => {
    const environment = emptyHome(temporaryFolder(), { NO_COLOR: '1' });
    for (const args of [['--help'], ['call', 'list_queues'], ['tools', 'list_queues']]) {
      const { code, screen } = await converse(args, environment);
      expect([code, screen.includes('\u001b[1m')], args.join(' ')).toEqual([0, false]);
    }
  });

  it('escapes control characters that others wrote', async () => {
    const folder = temporaryFolder();
    const environment = emptyHome(folder);
    const file = join(folder, 'rows.jsonl');
    writeFileSync(file, JSON.stringify({ question: 'a\u001b]0;owned\u0007b\u202ec', answer: 'd\u009b2Je' }));
    await run(['service', 'import', file, '--project', 'a/b', '--queue', 'q'], environment);
    const args = '{"project_id":"a/b","queue_id":"q","include_call":true}';
    for (const form of [[], ['--text'], ['--structured']]) {
      const { screen } = await converse(['call', 'query_queue_items', args, ...form], environment);
      for (const control of ['\u001b]', '\u0007', '\u009b', '\u202e'])
        expect(screen, form.join()).not.toContain(control);
    }
  });

  it('asks before it deletes a queue, and keeps it after no', async () => {
    const environment = emptyHome(temporaryFolder());
    await run(['call', 'list_queues'], environment);
    const kept = await converse(['queue', 'delete', 'support-triage'], environment, [['Delete the queue', `n`]]);
    expect(plain(kept.screen)).toContain('with 12 items, of which 3 are finished?');
    expect(plain(kept.screen)).toContain('Nothing was deleted.');
    expect((await run(['call', 'list_queues'], environment)).stdout).toContain('support-triage');
    const gone = await converse(['queue', 'delete', 'support-triage'], environment, [['Delete the queue', `y`]]);
    expect(gone.code).toBe(0);
    expect((await run(['call', 'list_queues'], environment)).stdout).not.toContain('"support-triage"');
  });

  it('removes the folder of a demo that Ctrl-C cuts off', async () => {
    const folder = temporaryFolder();
    const environment = emptyHome(folder, { TMPDIR: folder });
    const { code, screen } = await converse(['demo'], environment, [['2. Read the newest', controlC]]);
    expect(code).toBe(130);
    expect(screen).toContain('the demo was cut off; its folder is removed');
    expect(screen).not.toMatch(/^\s+at /m);
    expect(readdirSync(folder).filter((name) => name.startsWith('heddle-demo-'))).toEqual([]);
  });

  it('asks for the project at login, checks it and stores it', async () => {
    const folder = temporaryFolder();
    const service = await startFakeService({ credentials: { username: 'mia', password: 'correct-horse', token: '' } });
    const { respond } = service;
    service.respond = (request) =>
      request.path === '/projects'
        ? sendResponse(request, 200, { projects: [{ project_id: 'team/support', queues: 1 }] })
        : respond(request);
    const args = ['login', '--store', 'file', '--base-url', service.url, '--username', 'mia'];
    const { code, screen } = await converse(args, emptyHome(folder), [
      ['Password of mia', `correct-horse${enter}`],
      ['Bearer token', enter],
      ['Project of tool calls', enter],
    ]);
    expect(screen).toContain('project team/support: found');
    expect(code).toBe(0);
    const { profiles } = JSON.parse(readFileSync(join(folder, 'heddle', 'config.json'), 'utf8'));
    expect(profiles.default.project).toBe('team/support');
  });
});

describe('heddle demo', () => {
  it('ends with one paragraph where SQLite is missing, and leaves no folder', async () => {
    const folder = temporaryFolder();
    // Without node_modules there is no package for SQLite, and the option takes the module of Node away.
    cpSync(dirname(command), join(folder, 'dist'), { recursive: true });
    const isBuiltIn = isBuiltin('node:sqlite');
    const environment = emptyHome(folder, {
      TMPDIR: folder,
      ...(isBuiltIn && { NODE_OPTIONS: '--no-experimental-sqlite' }),
    });
    const { code, stdout, stderr } = await run(['demo'], environment, '', join(folder, 'dist/heddle.js'));
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^heddle: .*\nUse Node 22\.13 or later.*\n$/);
    expect(stderr).not.toMatch(/^\s+at /m);
    expect(readdirSync(folder).filter((name) => name.startsWith('heddle-demo-'))).toEqual([]);
  });
});

describe('heddle in a pipe', manyStarts, () => {
  it.each([
    ['call list_queues', 'queues: 1'],
    ['tools', 'list_queues         List queues'],
    ['tools list_queues', 'Arguments (* required):'],
    ['status', 'Service: embedded'],
    ['doctor', 'Nothing failed.'],
    ['config list', 'It has no values'],
    ['service list', 'support-triage'],
    ['service list-users', ''],
  ])('prints the result of `heddle %s` as JSON, and for people with --table', async (line, shown) => {
    const environment = emptyHome(temporaryFolder());
    await run(['call', 'list_queues'], environment);
    const args = line.split(' ');
    const [json, table] = [await run(args, environment), await run([...args, '--table'], environment)];
    expect([json.code, typeof JSON.parse(json.stdout)]).toEqual([0, 'object']);
    expect(table.code).toBe(0);
    expect(table.stdout).toContain(shown);
    expect(() => JSON.parse(table.stdout)).toThrow();
  });

  it('prints the steps of the demo as lines of JSON', async () => {
    const { stdout } = await run(['demo'], emptyHome(temporaryFolder()));
    const steps = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(steps[0]).toMatchObject({ step: 1, tool: 'list_queues', is_error: false, result: { queues: [{}] } });
    expect(steps.map(({ step }) => step)).toEqual(steps.map((_, index) => index + 1));
  });

  it('tells the rule in the help', async () => {
    const { stdout } = await run(['--help'], emptyHome(temporaryFolder()));
    expect(stdout).toContain('for people on a terminal, and as JSON in a pipe or a file; --json and --table choose.');
  });
});

describe('heddle completion', manyStarts, () => {
  const complete = async (line: string): Promise<string[]> => {
    const { stdout } = await run(['complete', '--line', line], emptyHome(temporaryFolder()));
    return stdout.split('\n').filter((each) => each !== '');
  };

  it('completes commands, subcommands, options, clients and tools from the parser', async () => {
    expect(await complete('heddle se')).toEqual(['setup', 'serve', 'service']);
    expect(await complete('heddle service b')).toEqual(['backup']);
    expect(await complete('heddle queue export --fo')).toEqual(['--format']);
    expect(await complete('heddle queue export --format ')).toEqual(['jsonl', 'csv']);
    expect(await complete('heddle queue export q --format=c')).toEqual(['--format=csv']);
    expect(await complete('heddle setup cl')).toEqual(['claude-desktop', 'claude-code', 'cline']);
    expect(await complete('heddle call query_q')).toEqual(['query_queue_items']);
    expect(await complete('heddle completion ')).toEqual(['bash', 'zsh', 'fish']);
    expect(await complete('heddle access')).toEqual([]);
  });

  /** Returns an environment in which the shells find heddle. */
  function withHeddle(folder: string): Record<string, string> {
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'heddle'), `#!/bin/sh\nexec "${process.execPath}" "${command}" "$@"\n`, { mode: 0o755 });
    return { ...emptyHome(folder), PATH: `${bin}:${process.env.PATH}` };
  }

  it.skipIf(!hasTerminal)('works in a real bash', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'rc'), `PS1='ready> '; source <(heddle completion bash)\n`);
    const shell = `exec bash --noprofile --rcfile '${join(folder, 'rc')}' -i`;
    const { screen } = await converseWith(shell, withHeddle(folder), [
      ['ready> ', 'echo heddle; heddle completion zs\t | head -n 1\r'],
      ['#compdef heddle', 'heddle queue export --format=cs\t --help | tail -n 1\r'],
      ['Documentation: docs/service.md', 'exit\r'],
    ]);
    expect(screen).toContain('heddle completion zsh');
    expect(screen).toContain('--format=csv');
  });

  it.skipIf(!hasTerminal || !hasZsh)('works in a real zsh, as a function of $fpath', async () => {
    const folder = temporaryFolder();
    const environment = withHeddle(folder);
    mkdirSync(join(folder, 'functions'));
    writeFileSync(join(folder, 'functions/_heddle'), (await run(['completion', 'zsh'], environment)).stdout);
    writeFileSync(
      join(folder, '.zshrc'),
      `PS1='ready> '; fpath=('${join(folder, 'functions')}' $fpath); autoload -Uz compinit; compinit -D -u\n`,
    );
    writeFileSync(join(folder, 'rows.csv'), 'question,answer\n');
    const shell = `cd '${folder}'; exec zsh -o NO_GLOBAL_RCS -i`;
    const { screen } = await converseWith(shell, { ...environment, ZDOTDIR: folder }, [
      ['ready> ', 'heddle completion zs\t | tail -n 1; echo end-$((1+0))\r'],
      ['end-1', 'heddle queue export --format=cs\t --help | tail -n 1; echo end-$((1+1))\r'],
      ['end-2', 'heddle tools query_q\t | tail -n 1; echo end-$((1+2))\r'],
      ['end-3', 'heddle service import rows\t --help | tail -n 1; echo end-$((1+3))\r'],
      ['end-4', 'exit\r'],
    ]);
    const shown = plain(screen);
    for (const line of ['heddle completion zsh', '--format=csv', 'query_queue_items', 'import rows.csv']) {
      expect(shown).toContain(line);
    }
  });

  it.skipIf(!hasFish)('works in a real fish', async () => {
    const folder = temporaryFolder();
    const environment = withHeddle(folder);
    mkdirSync(join(folder, 'fish/completions'), { recursive: true });
    writeFileSync(
      join(folder, 'fish/completions/heddle.fish'),
      (await run(['completion', 'fish'], environment)).stdout,
    );
    writeFileSync(join(folder, 'rows.csv'), 'question,answer\n');
    const complete = (line: string): string[] =>
      execFileSync('fish', ['--command', `complete --do-complete '${line}'`], {
        cwd: folder,
        env: environment,
        encoding: 'utf8',
      })
        .trim()
        .split('\n');
    expect(complete('heddle se')).toEqual(['serve', 'service', 'setup']);
    expect(complete('heddle completion ')).toEqual(['bash', 'fish', 'zsh']);
    expect(complete('heddle queue export --format=c')).toEqual(['--format=csv']);
    expect(complete('heddle tools query_q')).toEqual(['query_queue_items']);
    expect(complete('heddle service import rows')).toEqual(['rows.csv']);
  });
});

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

describe('heddle help', manyStarts, () => {
  const help = async (...args: string[]): Promise<string> => (await run(args, emptyHome(temporaryFolder()))).stdout;

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

  it('lists the own options of a command first, and shared ones under a heading', async () => {
    const text = await help('call', '--help');
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
      expect(text).toContain("$ heddle call query_queue_items '{");
      expect(text).not.toContain('--base-url');
    }
  });
});

describe('a mistyped command line', manyStarts, () => {
  it.each([
    ['srve', "unknown command 'srve' (did you mean serve?)"],
    ['service lst', "unknown command 'lst' (did you mean list?)"],
    ['config st', "unknown command 'st' (did you mean set?)"],
    ['setup curser', '(did you mean cursor?)'],
    ['call list_queue', "unknown tool 'list_queue' (did you mean list_queues?)"],
    ['tools read_cal', '(did you mean read_call?)'],
    ['serve --htp', "unknown option '--htp' (did you mean --http?)"],
    ['config set projct x', "unknown key 'projct' (did you mean project?)"],
    ['call --text --structured list_queues', "option '--structured' cannot be used with option '--text'"],
    ['setup', 'no client: name one of claude-desktop'],
  ])('`heddle %s` exits with 2 and suggests what was meant', async (line, message) => {
    const { code, stdout, stderr } = await run(line.split(' '), emptyHome(temporaryFolder()));
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^heddle: /);
    expect(stderr).toContain(message);
  });

  it('is reported as JSON with --json', async () => {
    const environment = emptyHome(temporaryFolder());
    expect(JSON.parse((await run(['service', 'list', '--jsn', '--json'], environment)).stderr)).toEqual({
      code: 'usage',
      message: "unknown option '--jsn' (did you mean --json?)",
    });
    const failed = await run(['call', 'read_call', '{"call_id":"none"}', '--json'], environment);
    expect([failed.code, failed.stdout]).toEqual([1, '']);
    expect(JSON.parse(failed.stderr)).toMatchObject({ code: 'not_found' });
    const read = await run(['call', 'read_call', '{"call_id":"none"}'], environment);
    expect(read).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^heddle: [A-Z].*\n.*\(not_found/),
    });
  });
});

describe('heddle config', manyStarts, () => {
  it('sets, shows and removes values of a profile, and refuses what no command could use', async () => {
    const folder = temporaryFolder();
    const environment = emptyHome(folder);
    const config = (...args: string[]) => run(['config', ...args], environment);
    expect((await config('set', 'project', 'team/support')).stdout).toContain(
      'project of profile "default" is now team/support.',
    );
    await config('set', 'read_only', 'yes', '--profile', 'careful');
    const file = join(folder, 'heddle', 'config.json');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
      profiles: { default: { project: 'team/support' }, careful: { read_only: true } },
    });
    expect((await config('get', 'project')).stdout).toBe('team/support\n');
    expect((await config('list', '--table')).stdout).toContain('project  team/support\nOther profiles: careful');
    expect(JSON.parse((await config('list')).stdout)).toMatchObject({ values: { project: 'team/support' } });
    const before = readFileSync(file, 'utf8');
    expect(await config('set', 'project', 'support')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('entity/project'),
    });
    expect(await config('set', 'token', 'secret')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('heddle login'),
    });
    expect(readFileSync(file, 'utf8')).toBe(before);
    expect((await config('unset', 'project')).stdout).toBe('Removed project from profile "default".\n');
    expect(await config('get', 'project')).toMatchObject({ code: 2 });
    expect(existsSync(file)).toBe(true);
  });
});
