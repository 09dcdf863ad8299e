import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { call, emptyHome, run, temporaryFolder } from '../support/heddle.ts';
import { startScriptedModel } from '../support/scripted-model.ts';

/** Writes files into a folder of their own, and returns the path to the first. */
function writeFiles(files: Record<string, string>): string {
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return join(folder, Object.keys(files)[0]!);
}

const capitals = `name: Capitals
dataset:
  file: capitals.csv
scorers:
  - name: Names the capital
    kind: contains
    expected: capital
  - name: Short and right
    kind: all_of
    options:
      scorers:
        - Names the capital
        - {name: Short, kind: matches, pattern: '^.{1,40}$'}
models: [small, large]
prompts:
  - '{question}'
  - file: prompt.txt
trials: 2
`;
const files = {
  'capitals.yaml': capitals,
  'capitals.csv': 'question,capital\nIs Oslo in Norway?,Oslo\nWhat is the capital of Poland?,Warsaw\n',
  'prompt.txt': '{question} {capital}.',
};
const rate = (pass_rate: number) => expect.objectContaining({ pass_rate, n: 4 });

/** Starts a model that repeats the last message. */
const startEcho = () => startScriptedModel(({ messages }) => String(messages.at(-1)!.content), ['small', 'large']);

async function homeWithEcho(): Promise<Record<string, string>> {
  const { url } = await startEcho();
  return emptyHome(temporaryFolder(), { HEDDLE_MODEL_PROVIDER_URL: url });
}

describe('heddle evaluation run --config', () => {
  it('runs each model with each prompt, and reads the runs as one table', async () => {
    const file = writeFiles(files);
    const environment = await homeWithEcho();
    const result = await run(['evaluation', 'run', '--config', file, '--rows', '0'], environment);
    expect(result.code, result.stderr).toBe(0);
    const { runs, passed } = JSON.parse(result.stdout);
    expect(passed).toBe(true);
    expect(runs).toMatchObject([
      { model: 'small', prompt: '{question}', predictions: 4, scorers: [rate(0.5), rate(0.5)] },
      { model: 'small', prompt: '{question} {capital}.', scorers: [rate(1), rate(1)] },
      { model: 'large', prompt: '{question}', scorers: [rate(0.5), rate(0.5)] },
      { model: 'large', prompt: '{question} {capital}.', scorers: [rate(1), rate(1)] },
    ]);
    const again = await run(
      ['evaluation', 'run', '--config', file, '--rows', '0', '--model', 'small', '--prompt', '{capital}', '--table'],
      environment,
    );
    expect(again.stdout).toMatch(/^run \S+ complete, evaluation capitals, model small, prompt "\{capital\}"/);
    const versions = await call('list_objects', { kind: 'evaluation' }, environment);
    expect(versions.result.objects).toMatchObject([{ version_index: 0 }]);
  });

  it('ends with the exit code of the worst run, and has all runs in the reports', async () => {
    const text = capitals.replace('[small, large]', '[small]');
    const file = writeFiles({
      ...files,
      'capitals.yaml': `${text}thresholds: {min_pass_rate: 90%, scorers: [short_and_right]}\n`,
    });
    const environment = await homeWithEcho();
    const [junit, markdown] = [join(temporaryFolder(), 'junit.xml'), join(temporaryFolder(), 'summary.md')];
    const args = ['evaluation', 'run', '--config', file, '--junit', junit, '--markdown', markdown];
    const result = await run(args, environment);
    expect([result.code, result.stderr]).toEqual([
      1,
      expect.stringMatching(/heddle: short_and_right passes 50%, less than 90% in \S+\n$/),
    ]);
    const report = readFileSync(junit, 'utf8');
    expect(report.match(/<testsuite [^>]*>/g)).toEqual([
      expect.stringContaining('tests="3" failures="1" errors="0"'),
      expect.stringContaining('tests="2" failures="0" errors="0"'),
    ]);
    const summary = readFileSync(markdown, 'utf8');
    expect(summary).toContain('- run 2 against run 1, `short_and_right`: **');
    expect(summary).toContain('| scorer | run 1 | run 2 |');
    expect(summary).toContain(
      '| `short_and_right` | `50% (9.4 to 90.5) of 4 passed, pass@2 50%, pass^2 50%, 0 flaky rows` | `100% (34.2 to 100) of 4',
    );
    expect((await run([...args, '--min-pass-rate', '50%'], environment)).code).toBe(0);
  });

  it('says in a dry run what each run would take, and stores nothing', async () => {
    const file = writeFiles(files);
    const environment = await homeWithEcho();
    const dry = ['evaluation', 'run', '--config', file, '--dry-run'];
    const all = await run([...dry, '--table'], environment);
    expect([all.code, all.stdout.match(/2 rows: 4 requests to the model/g)]).toEqual([
      0,
      Array(4).fill(expect.any(String)),
    ]);
    const one = await run([...dry, '--model', 'small', '--prompt', '{question}', '--sample', '1'], environment);
    expect(JSON.parse(one.stdout)).toMatchObject({ status: 'dry_run', rows: 1, model_requests: 2, dataset_rows: 2 });
    expect(one.stdout).not.toContain('evaluation_ref');
    const unknown = await run([...dry, '--prompt', '{questoin}'], environment);
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('no column for {questoin}')]);
    const scorer = await run([...dry, '--scorer', 'long', '--min-pass-rate', '1'], environment);
    expect([scorer.code, scorer.stderr]).toEqual([2, expect.stringContaining('no scorer long; scorers of capitals: ')]);
    for (const kind of ['evaluation', 'dataset', 'scorer']) {
      const { result } = await call(
        'list_objects',
        { kind, name: kind === 'scorer' ? 'short' : 'capitals' },
        environment,
      );
      expect(result.objects).toEqual([]);
    }
  });

  it('spends one budget on all runs, and starts no run after it is spent', async () => {
    const file = writeFiles({ ...files, 'capitals.yaml': `${capitals}budget: {requests: 5}\n` });
    const { url, asked } = await startEcho();
    const environment = emptyHome(temporaryFolder(), { HEDDLE_MODEL_PROVIDER_URL: url });
    const { code, stdout, stderr } = await run(['evaluation', 'run', '--config', file], environment);
    expect([code, asked.length]).toEqual([3, 5]);
    expect(JSON.parse(stdout).runs).toMatchObject([
      { status: 'complete', predictions: 4 },
      { status: 'failed', error: expect.stringContaining('Stopped by its budget of 1 request:') },
    ]);
    expect(stderr).toContain('heddle: 2 runs not started: those before took the budget\n');
    const exact = await run(['evaluation', 'run', '--config', file, '--max-requests', '4'], environment);
    expect([exact.code, exact.stderr]).toEqual([3, expect.stringContaining('heddle: 3 runs not started')]);
  });

  it('names every fault with its line, and stores nothing', async () => {
    const file = writeFiles({
      'bad.yaml': `name: Bad
dataset:
  file: rows.csv
  rows: [{id: 12345678901234567890}]
scorers:
  - name: A
    kind: contains
  - name: B
    kind: all_of
    options:
      scorers: [{name: C, kind: matches, pattern: '('}]
models: small
modles: 3
`,
    });
    const environment = emptyHome(temporaryFolder());
    const numbers = await run(['evaluation', 'run', '--config', file], environment);
    expect([numbers.code, numbers.stderr]).toEqual([
      2,
      `heddle: ${file} cannot be used:\n  line 4: 12345678901234567890 cannot be kept as a number: put quotes around it\n`,
    ]);
    writeFileSync(file, readFileSync(file, 'utf8').replace('12345678901234567890', '1'));
    const { code, stderr } = await run(['evaluation', 'run', '--config', file], environment);
    expect([code, stderr.split('\n')]).toEqual([
      2,
      [
        `heddle: ${file} cannot be used:`,
        '  line 2: dataset needs one of rows, file, stored',
        '  line 6: scorers[0].expected is needed for the kind contains',
        expect.stringContaining('  line 11: scorers[1].options.scorers[0].pattern '),
        '  line 12: models Invalid input: expected array, received string',
        '  line 13: modles is not a known member',
        '',
      ],
    ]);
    const stored = await call('list_objects', { kind: 'scorer' }, environment);
    expect(JSON.stringify(stored.result)).not.toContain('"A"');
  });

  it.each([
    ['baseline: main', 'line 19: baseline can name one run only, and there are several models or prompts'],
    ['fail_if_worse: true', 'line 19: fail_if_worse needs compare'],
    ['concurrency: 65', 'line 19: concurrency must be at most 64'],
    ['budget: {}', 'line 19: budget needs requests, tokens or usd'],
    ['trials: 3', 'line 19: Map keys must be unique'],
    ['sample: [', 'line 20: '],
  ])('refuses %j', async (line, message) => {
    const file = writeFiles({ ...files, 'capitals.yaml': `${capitals}${line}\n` });
    const { code, stderr } = await run(['evaluation', 'run', '--config', file], emptyHome(temporaryFolder()));
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  it('refuses an evaluation beside the file, a file that is missing, and rows that are no objects', async () => {
    const environment = await homeWithEcho();
    const file = writeFiles({ ...files, 'capitals.csv': '[1]' });
    const rows = await run(['evaluation', 'run', '--config', file], environment);
    expect([rows.code, rows.stderr]).toEqual([
      2,
      expect.stringContaining('capitals.csv, line 1: "1" is no JSON object'),
    ]);
    const both = await run(['evaluation', 'run', 'Yes', '--config', file], environment);
    expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('leave out the argument')]);
    const missing = await run(['evaluation', 'run', '--config', `${file}x`], environment);
    expect([missing.code, missing.stderr]).toEqual([
      2,
      expect.stringContaining('capitals.yamlx cannot be read: it does not exist\n'),
    ]);
  });

  it('stores nothing of a file with a scorer or a placeholder that does not exist', async () => {
    const environment = await homeWithEcho();
    const listed = async () => (await run(['service', 'list', '--table'], environment)).stdout;
    await run(['queue', 'list'], environment);
    const before = await listed();
    for (const [text, fault] of [
      [capitals.replace('scorers:\n', 'scorers:\n  - Spelled rigth\n'), 'the scorer Spelled rigth does not exist'],
      [capitals.replace("'{question}'", "'{qestion}'"), 'qestion'],
    ] as const) {
      const file = writeFiles({ ...files, 'capitals.yaml': text });
      const { code, stderr } = await run(['evaluation', 'run', '--config', file], environment);
      expect([code, stderr]).toEqual([2, expect.stringContaining(fault)]);
    }
    expect(await listed()).toBe(before);
  });
});
