import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { junitReport } from '../../src/cli/commands/evaluation/junit-report.ts';
import type { Run } from '../../src/cli/commands/evaluation/print-results.ts';
import { missedThresholds } from '../../src/cli/commands/evaluation/thresholds.ts';
import { interruptedRun } from '../../src/cli/commands/evaluation/wait-for-run.ts';
import { startEvaluatingService } from '../support/evaluating-service.ts';
import { prepareEvaluation, runArgs } from '../support/evaluation-command.ts';
import { freePort } from '../support/free-port.ts';
import { emptyHome, run, temporaryFolder } from '../support/heddle.ts';
import { startScriptedModel } from '../support/scripted-model.ts';

const runOf = (scorers: Run['scorers'], predictions = 10): Run => ({
  run_id: 'r',
  status: 'complete',
  predictions,
  scorers,
});

describe('missedThresholds', () => {
  it('compares every pass rate, and counts missing scores as not passed', () => {
    const result = runOf([
      { scorer: 'a', n: 10, pass_rate: 0.9 },
      { scorer: 'b', n: 8, errors: 2, pass_rate: 1 },
      { scorer: 'c', n: 10, mean: 1 },
    ]);
    expect(missedThresholds(result, { minPassRate: 0.8, scorers: [] })).toEqual([]);
    expect(missedThresholds(result, { minPassRate: 0.9, scorers: [] })).toEqual(['b passes 80%, less than 90%']);
    expect(missedThresholds(result, { minPassRate: 0.9, scorers: ['a'] })).toEqual([]);
  });

  it('compares means, and reports missing scores', () => {
    const result = runOf([{ scorer: 'stars', n: 9, errors: 1, mean: 3.5 }]);
    expect(missedThresholds(result, { minMean: 3, scorers: [] })).toEqual(['stars lacks 1 scores']);
    expect(missedThresholds(result, { minMean: 4, scorers: [] })).toContain('stars has a mean of 3.5, less than 4');
  });

  it('reports a scorer that always failed, and a run without predictions', () => {
    expect(missedThresholds(runOf([{ scorer: 'a', n: 0, errors: 10 }]), { minPassRate: 0, scorers: [] })).toEqual([
      'a has no score',
    ]);
    expect(missedThresholds(runOf([], 0), { minPassRate: 0, scorers: [] })).toEqual(['the run has no predictions']);
  });

  it('refuses a threshold that no scorer can reach, and an unknown scorer', () => {
    const result = runOf([{ scorer: 'stars', n: 10, mean: 3 }]);
    expect(() => missedThresholds(result, { minPassRate: 0.5, scorers: [] })).toThrow(
      'no scorer of the run passes or fails',
    );
    expect(() => missedThresholds(result, { minMean: 1, scorers: ['star'] })).toThrow(
      'no scorer star; scorers of the run: stars',
    );
  });
});

describe('junitReport', () => {
  it('has a test for each row, and escapes what XML cannot hold', () => {
    const rows = [
      { call_id: '1', inputs: { q: '<a> & "b"' }, output: 'x\u0000y\n', scores: { exact: false } },
      { call_id: '2', inputs: { q: 'c' }, scores: {}, error: 'status 500' },
      { call_id: '3', inputs: { q: 'd' }, output: 'd', scores: { exact: true } },
    ];
    const report = junitReport({ runs: [{ ...runOf([]), evaluation: 'E' }], rows }, ['exact passes 33%'], new Map());
    expect(report).toContain('<testsuite name="E r" tests="4" failures="1" errors="0">');
    expect(report).toContain(
      '<testcase classname="E" name="&lt;a&gt; &amp; &quot;b&quot;"><system-out>exact: false&#10;x\ufffdy&#10;</system-out></testcase>',
    );
    expect(report).toContain('<testcase classname="E" name="c"><system-err>status 500</system-err></testcase>');
    expect(report).toContain(
      '<testcase classname="E" name="threshold"><failure message="exact passes 33%"/></testcase>',
    );
  });

  it('names a test after the id of its row, and has an error for a run that failed', () => {
    const rows = [{ call_id: '1', inputs: { q: 'a', id: 7 }, scores: {}, error: 'status 500' }];
    const report = junitReport({ runs: [runOf([])], rows }, [], new Map([['r', 'failed: status 500']]));
    expect(report).toContain('<testsuite name="evaluation r" tests="2" failures="0" errors="1">');
    expect(report).toContain(
      '<testcase classname="evaluation" name="7"><system-err>status 500</system-err></testcase>',
    );
    expect(report).toContain(
      '<testcase classname="evaluation" name="run"><error message="failed: status 500"/></testcase>',
    );
  });
});

describe('heddle evaluation', () => {
  it.each([
    [['run', 'none', '--model', 'heddle/echo', '--prompt', 'Hi'], 3, 'There is no evaluation "none"'],
    [['run', 'none', '--prompt', 'Hi'], 2, "required option '--model <id>' not specified"],
    [['run', 'none', '--model', 'm', '--prompt', 'a', '--prompt-file', 'b'], 2, 'only one of --prompt'],
    [['show', 'none'], 3, 'has no run "none"'],
    [['show', 'none', '--min-pass-rate', '1.5'], 2, 'a share from 0 to 1'],
    [['list', 'none', '--limit', '0'], 2, 'a whole number from 1 to 999999'],
  ])('ends %j with exit code %i', async (args, code, message) => {
    const result = await run(['evaluation', ...args], emptyHome(temporaryFolder()));
    expect(result.code, result.stderr).toBe(code);
    expect(result.stderr).toContain(message);
  });

  it('runs nothing in read-only mode', async () => {
    const environment = emptyHome(temporaryFolder(), { HEDDLE_READ_ONLY: 'true' });
    const result = await run(['evaluation', 'run', 'e', '--model', 'm', '--prompt', 'p'], environment);
    expect([result.code, result.stderr]).toEqual([
      2,
      expect.stringContaining('the tool run_evaluation is switched off by HEDDLE_READ_ONLY or HEDDLE_TOOLS'),
    ]);
  });

  it('ends with exit code 3 and the commonest error if the model never replied, whatever the thresholds', async () => {
    const environment = await prepareEvaluation(`http://127.0.0.1:${await freePort()}/v1`);
    const report = join(temporaryFolder(), 'report.xml');
    const result = await run([...runArgs, '--min-pass-rate', '50%', '--junit', report], environment);
    const error = 'The model provider cannot be reached (ECONNREFUSED).';
    expect([result.code, result.stderr]).toEqual([3, expect.stringContaining(`is failed: ${error}`)]);
    const results = JSON.parse(result.stdout);
    expect(results).toMatchObject({ runs: [{ status: 'failed', predictions: 3, errors: 3, error }], passed: false });
    expect(readFileSync(report, 'utf8')).toContain('tests="4" failures="0" errors="1"');
    const shown = await run(['evaluation', 'show', results.runs[0].run_id, '--table'], environment);
    expect([shown.code, shown.stdout]).toEqual([3, expect.stringContaining(`failed: ${error}, evaluation `)]);
    const listed = await run(['evaluation', 'list', 'Yes'], environment);
    expect(JSON.parse(listed.stdout)).toMatchObject({ runs: [{ status: 'failed', errors: 3 }] });
  });

  it('says how many predictions failed, and ends with exit code 3 above the share that --max-errors names', async () => {
    const model = await startScriptedModel(({ messages }, response) => {
      if (messages[0]!.content !== 'second') return 'yes';
      response.writeHead(400).end('No such question');
      return undefined;
    });
    const environment = await prepareEvaluation(model.url);
    const result = await run(runArgs, environment);
    const error = 'The model provider responded with status 400: No such question';
    expect([result.code, result.stderr]).toEqual([
      0,
      expect.stringMatching(`1 of 3 predictions of \\S+ failed: ${error}\n$`),
    ]);
    const results = JSON.parse(result.stdout);
    expect(results).toMatchObject({ runs: [{ status: 'complete with 1 error', error }], passed: true });
    const show = ['evaluation', 'show', results.runs[0].run_id];
    const strict = await run([...show, '--max-errors', '10%'], environment);
    expect([strict.code, strict.stderr]).toEqual([
      3,
      expect.stringContaining('is complete with 1 error in 3 predictions, more than --max-errors 0.1: '),
    ]);
    // A reply that is missing has not passed.
    expect((await run([...show, '--min-pass-rate', '70%'], environment)).stderr).toContain(
      'passes 66.67%, less than 70%',
    );
  });

  it('starts nothing with a model that inference does not list, unless --yes says that it exists', async () => {
    const model = await startScriptedModel(() => 'yes', ['large', 'smaller']);
    const environment = await prepareEvaluation(model.url);
    const result = await run(runArgs, environment);
    expect([result.code, result.stderr]).toEqual([
      3,
      expect.stringContaining('Nothing was started. Inference does not list the model small. The nearest models are '),
    ]);
    expect(model.asked).toEqual([]);
    expect((await run([...runArgs, '--yes'], environment)).code).toBe(0);
  });

  it('starts nothing without --yes if model and judges get more than 100 requests, or if no row fills a placeholder of a judge', async () => {
    const service = await startEvaluatingService();
    service.rows = Array.from({ length: 51 }, (_, n) => ({ question: `${n}?`, capital: 'Rome' }));
    const environment = emptyHome(temporaryFolder(), service.environment);
    const args = ['evaluation', 'run', 'answers', '--model', 'org/model', '--prompt', '{question}'];
    const large = await run(args, environment);
    expect([large.code, large.stderr]).toEqual([
      2,
      expect.stringContaining('the run sends 102 requests, 51 to the model and 51 to judges, about'),
    ]);
    service.judge = { scoring_prompt: '{output} {captal}' };
    const unfilled = await run([...args, '--yes'], environment);
    expect([unfilled.code, unfilled.stderr]).toEqual([
      3,
      expect.stringContaining('the judge judge cannot be asked, because the dataset has no column for {captal}'),
    ]);
    expect(service.bodiesOf('/evaluations/evaluate_model')).toEqual([]);
  });

  it('prints results as JSON in a pipe, and as the text that a model reads with --table', async () => {
    const model = await startScriptedModel(() => 'yes');
    const environment = await prepareEvaluation(model.url);
    const plan = await run([...runArgs, '--dry-run'], environment);
    expect(JSON.parse(plan.stdout)).toMatchObject({ status: 'dry_run', model_requests: 3, judge_requests: 0 });
    const result = JSON.parse((await run(runArgs, environment)).stdout);
    expect(result).toMatchObject({ passed: true, rows: [{}, {}, {}] });
    const [{ run_id }] = result.runs;
    const { stdout } = await run(['evaluation', 'show', run_id, '--rows', '0', '--table'], environment);
    expect(stdout).toMatch(/^run \S+ complete, .*\nscorer +result\nsays_yes +100% of 3 passed\n$/);
    const list = ['evaluation', 'list', 'Yes'];
    expect(JSON.parse((await run(list, environment)).stdout)).toMatchObject({ runs: [{ run_id }] });
    expect((await run([...list, '--table'], environment)).stdout).toMatch(
      /^1 run of 1 from offset 0, the newest first\.\nrun \S+ complete, evaluation /,
    );
    const other = JSON.parse((await run([...runArgs.slice(0, 6), 'Say: {question}'], environment)).stdout);
    const compare = ['evaluation', 'compare', run_id, other.runs[0].run_id];
    expect(JSON.parse((await run(compare, environment)).stdout)).toMatchObject({ comparisons: [{ shared_rows: 3 }] });
    expect((await run([...compare, '--table'], environment)).stdout).toMatch(/^scorer +better +worse +same/m);
    expect((await run(['evaluation', 'show', run_id, '--table', '--json'], environment)).stderr).toContain(
      "option '--table' cannot be used with option '--json'",
    );
  });
});

describe('interruptedRun', () => {
  const project = 'acme/support';
  const reached = { done: 1, total: 3, unit: 'predictions' };
  it.each([
    [
      'failed',
      'The run r1 was cancelled after 1 of 3 predictions.',
      '`heddle evaluation show r1` prints what was done',
    ],
    ['complete', 'The run r1 was complete before it could be cancelled.', '`heddle evaluation show r1` prints the'],
    [
      'running',
      'The run r1 could not be cancelled and is still running.',
      '`heddle evaluation show r1 --wait` waits for its end',
    ],
  ])('reports the outcome when the status of the run is %s', async (code, message, hint) => {
    const service = { call: async () => ({ status: { code } }) };
    const serverOptions = { project, service: async () => service } as never;
    const error = await interruptedRun('r1', reached, serverOptions);
    expect(error).toMatchObject({ code: 'cancelled', message, hint: expect.stringContaining(hint) });
  });

  it('reports why the status of the run could not be read', async () => {
    const service = (): Promise<never> => Promise.reject(new Error('The service cannot be reached.'));
    const error = await interruptedRun('r1', reached, { project, service } as never);
    expect(error.message).toBe(
      'The run r1 may still be running: its state could not be read. The service cannot be reached.',
    );
  });
});
