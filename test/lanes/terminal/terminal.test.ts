import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { sendResponse, startFakeService } from '../../support/fake-service.ts';
import { command, emptyHome, runProcess, temporaryFolder } from '../../support/heddle.ts';
import { controlC, converse, converseWith, enter, hasTerminal } from '../../support/pseudo-terminal.ts';
import { requireProgram } from '../../support/require-program.ts';

const hasZsh = requireProgram('zsh', 'zsh', 'apt-get install zsh');
const hasFish = requireProgram('fish', 'fish', 'apt-get install fish');

/** Removes colors and the codes that move the cursor. */
const plain = (screen: string): string => stripVTControlCharacters(screen).replaceAll('\r', '');

describe.skipIf(!hasTerminal)('heddle at a terminal', () => {
  it('says what it waits for, and names setup, demo and --help', async () => {
    const { screen } = await converse([], emptyHome(temporaryFolder()), [['heddle.js --help', controlC]]);
    expect(screen).toContain('waits for a client to start talking');
    expect(screen).toContain(
      '`node dist/heddle.js setup CLIENT` adds it to a client, `node dist/heddle.js demo` shows what it does',
    );
  });

  it('prints nothing when a client starts it', async () => {
    expect(await runProcess([], emptyHome(temporaryFolder()))).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it('tells how a client connects to a server over HTTP, without its token', async () => {
    const environment = emptyHome(temporaryFolder(), { HEDDLE_HTTP_TOKEN: 'correct-horse-battery' });
    const { screen } = await converse(['serve', '--http', '--port', '0'], environment, [['Ctrl-C ends it.', controlC]]);
    expect(screen).toMatch(
      /Connect a client with `node dist\/heddle\.js setup CLIENT --url http:\/\/127\.0\.0\.1:\d+\/mcp`\./,
    );
    expect(screen).toContain('Clients send the header `Authorization: Bearer TOKEN`');
    expect(screen).not.toContain('correct-horse');
  });

  it('draws results as tables that fit the width, and prints JSON with --json', async () => {
    const environment = emptyHome(temporaryFolder());
    const args = ['call', 'query_queue_items', '{"queue_id":"support-triage","limit":3,"include_call":true}'];
    const drawn = await converse(args, environment, [], { columns: 130 });
    expect(drawn.code).toBe(0);
    const lines = plain(drawn.screen).split('\n');
    expect(lines[0]).toMatch(/^3 items \(.* More follow with "offset":3\.$/);
    const table = lines.slice(lines.findIndex((line) => line.startsWith('id ')));
    expect(table[0]).toMatch(/^id +annotation_\S+ +call_\S+ +call_\S+ +inputs\.\S+ +output\.\S+$/);
    expect(table).toHaveLength(7);
    for (const line of table) expect(line.length, line).toBeLessThanOrEqual(130);
    const narrow = plain((await converse(args, environment, [], { columns: 90 })).screen);
    expect(narrow).toMatch(/^inputs\.question +Why was I charged twice in March\?$/m);
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
    await runProcess(['service', 'import', file, '--project', 'a/b', '--queue', 'q'], environment);
    const args = '{"project_id":"a/b","queue_id":"q","include_call":true}';
    for (const form of [[], ['--text']]) {
      const { screen } = await converse(['call', 'query_queue_items', args, ...form], environment);
      for (const control of ['\u001b]', '\u0007', '\u009b', '\u202e'])
        expect(screen, form.join()).not.toContain(control);
    }
  });

  it('asks before it deletes a queue, and keeps it after no', async () => {
    const environment = emptyHome(temporaryFolder());
    await runProcess(['call', 'list_queues'], environment);
    const kept = await converse(['queue', 'delete', 'support-triage'], environment, [['Delete the queue', `n`]]);
    expect(plain(kept.screen)).toContain('with 12 items, of which 3 are finished?');
    expect(plain(kept.screen)).toContain('Nothing was deleted.');
    expect((await runProcess(['call', 'list_queues'], environment)).stdout).toContain('support-triage');
    const gone = await converse(['queue', 'delete', 'support-triage'], environment, [['Delete the queue', `y`]]);
    expect(gone.code).toBe(0);
    expect((await runProcess(['call', 'list_queues'], environment)).stdout).not.toContain('"support-triage"');
  });

  it('removes the folder of a demo that is interrupted with Ctrl-C', async () => {
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
    const { code, stdout, stderr } = await runProcess(['demo'], environment, '', join(folder, 'dist/heddle.js'));
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^heddle: .*\nUse Node 22\.13 or later.*\n$/);
    expect(stderr).not.toMatch(/^\s+at /m);
    expect(readdirSync(folder).filter((name) => name.startsWith('heddle-demo-'))).toEqual([]);
  });

  it('shows five steps on a terminal, and names the board for the rest', async () => {
    const { code, screen } = await converse(['demo'], emptyHome(temporaryFolder()), []);
    expect(code).toBe(0);
    expect(stripVTControlCharacters(screen).match(/^\d+\. .*/gm)).toEqual([
      '1. List the queues, and how much is left to do in each.',
      '2. Read the newest unstarted items of a queue.',
      '3. Record all judgements in one call.',
      '4. Create an evaluation of a dataset with two scorers.',
      '5. Count what was judged, by field and by state.',
    ]);
    expect(plain(screen).trim().split('\n').slice(-3)).toEqual([
      'See all steps: node dist/heddle.js demo --all',
      'Connect a client that docs/connect.md names: node dist/heddle.js setup CLIENT',
      'Judge the rest yourself: node dist/heddle.js board support-triage --project demo/support',
    ]);
  });

  it('ends with every step with a command that opens the board', async () => {
    const environment = emptyHome(temporaryFolder(), { HEDDLE_PROJECT: 'team/other' });
    const { screen } = await converse(['demo', '--all'], environment, []);
    const [, args] = /Judge the rest yourself: node dist\/heddle\.js (.*)$/.exec(plain(screen).trim())!;
    const board = await converse(args!.split(' '), environment, [['press Ctrl-C', controlC]]);
    expect(board.screen).toContain('The board has ended.');
  });

  it('removes its folder when a reader closes the pipe', async () => {
    const folder = temporaryFolder();
    const line = `"${process.execPath}" "${command}" demo | head -n 1; exit "\${PIPESTATUS[0]}"`;
    execFileSync('bash', ['-c', line], { env: emptyHome(folder, { TMPDIR: folder }) });
    expect(readdirSync(folder).filter((name) => name.startsWith('heddle-demo-'))).toEqual([]);
  });

  it('prints the steps of the demo as lines of JSON', async () => {
    const { stdout } = await runProcess(['demo'], emptyHome(temporaryFolder()));
    const steps = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(steps[0]).toMatchObject({ step: 1, tool: 'list_queues', is_error: false, result: { queues: [{}] } });
    expect(steps.map(({ step }) => step)).toEqual(steps.map((_, index) => index + 1));
  });
});

describe('the script of heddle completion', () => {
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
    writeFileSync(join(folder, 'functions/_heddle'), (await runProcess(['completion', 'zsh'], environment)).stdout);
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
      (await runProcess(['completion', 'fish'], environment)).stdout,
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
