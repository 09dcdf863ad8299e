import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { junitReport } from '../../src/cli/commands/evaluation/junit-report.ts';
import { markdownReport } from '../../src/cli/commands/evaluation/markdown-report.ts';
import type { Run } from '../../src/cli/commands/evaluation/print-results.ts';
import { missedThresholds } from '../../src/cli/commands/evaluation/thresholds.ts';
import { interruptedRun } from '../../src/cli/commands/evaluation/wait-for-run.ts';
import { startEvaluatingService } from '../support/evaluating-service.ts';
import { prepareEvaluation, runArgs } from '../support/evaluation-command.ts';
import { freePort } from '../support/free-port.ts';
import { call, emptyHome, run, runAtTerminal, temporaryFolder } from '../support/heddle.ts';
import { type Script, startScriptedModel } from '../support/scripted-model.ts';

const runOf = (scorers: Run['scorers'], predictions = 10): Run => ({
  run_id: 'r',
  status: 'complete',
  predictions,
  scorers,
});

describe('missedThresholds', () => {
  it('names the judges that are not calibrated, if that is required', () => {
    const scorers = [
      { scorer: 'a.score', n: 10, pass_rate: 1, judge: 'not calibrated', calibrated: false },
      { scorer: 'b.score', n: 10, pass_rate: 1, judge: 'κ 0.71 (0.58 to 0.82), n 84', calibrated: true },
      { scorer: 'c', n: 10, pass_rate: 1 },
    ];
    expect(missedThresholds(runOf(scorers), { scorers: [] })).toEqual([]);
    expect(missedThresholds(runOf(scorers), { scorers: [], requireCalibrated: true })).toEqual([
      'the judge of a.score is not calibrated',
    ]);
    expect(missedThresholds(runOf(scorers), { scorers: ['b.score'], requireCalibrated: true })).toEqual([]);
  });

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

  it('passes over a scorer that applies to no row, unless it is the only one', () => {
    const [none, some] = [
      { scorer: 'a', n: 0 },
      { scorer: 'b', n: 4, pass_rate: 1 },
    ];
    expect(missedThresholds(runOf([none, some]), { minPassRate: 0.9, scorers: [] })).toEqual([]);
    expect(() => missedThresholds(runOf([none, some]), { minPassRate: 0.9, scorers: ['a'] })).toThrow(
      'no scorer of the run passes or fails',
    );
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
    const report = junitReport([
      { run: { ...runOf([]), evaluation: 'E' }, rows, missed: ['exact passes 33%'], failure: undefined },
    ]);
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
    const report = junitReport([{ run: runOf([]), rows, missed: [], failure: 'failed: status 500' }]);
    expect(report).toContain('<testsuite name="evaluation r" tests="2" failures="0" errors="1">');
    expect(report).toContain(
      '<testcase classname="evaluation" name="7"><system-err>status 500</system-err></testcase>',
    );
    expect(report).toContain(
      '<testcase classname="evaluation" name="run"><error message="failed: status 500"/></testcase>',
    );
  });
});

describe('markdownReport', () => {
  it('has sentences, figures and rows in code spans, in which values format nothing', () => {
    const scorer = { scorer: 'a|b', better: 1, worse: 0, same: 1, lost: 0, difference: 0.5, p: 1 } as const;
    const figures = { scorer: 'a|b', n: 2, pass_rate: 0.5, interval: [0.0945, 0.9055] as [number, number] };
    const ofRun = (run_id: string): Run => ({ ...runOf([figures], 2), run_id, evaluation: 'E', model: 'm `x`' });
    const report = markdownReport(
      {
        runs: [ofRun('r1'), ofRun('r2')],
        comparisons: [
          { baseline: 'r1', run_id: 'r2', shared_rows: 2, scorers: [{ ...scorer, verdict: 'could be chance' }] },
        ],
        rows: [{ call_id: '1', inputs: { q: '<b>\n@you' }, scores: { 'a|b': [false, true] } }],
        total: 1,
        offset: 0,
      },
      { hasBaseline: true, missed: ['a|b passes 50%, less than 90%'] },
    );
    expect(report).toBe(`### Evaluation \`E\`

- ❌ \`a|b passes 50%, less than 90%\`

- \`a|b\`: **could be chance: +50 points on 2 rows; it takes 6 rows to show any difference; 0 rows that passed before fail now**

| scorer | baseline | this run |
| --- | --- | --- |
| \`a\\|b\` | \`50% (9.4 to 90.5) of 2 passed\` | \`50% (9.4 to 90.5) of 2 passed\` |

| run | id | status | model | prompt | predictions | tokens | cost |
| --- | --- | --- | --- | --- | --- | --- | --- |
| baseline | \`r1\` | complete | \`\` m \`x\` \`\` |  | 2 |  |  |
| this run | \`r2\` | complete | \`\` m \`x\` \`\` |  | 2 |  |  |

<details><summary>1 row of 1 that changed</summary>

| row | scores |
| --- | --- |
| \`<b> @you\` | \`a\\|b\` \`not passed\` → \`passed\` |

</details>
`);
  });
});

describe('heddle evaluation', () => {
  it.each([
    [['run', 'none', '--model', 'heddle/echo', '--prompt', 'Hi'], 2, 'There is no evaluation "none"'],
    [['run', 'none', '--prompt', 'Hi'], 2, '--model is needed, or --config FILE'],
    [['run', '--model', 'm', '--prompt', 'Hi'], 2, 'the name of an evaluation is needed, or --config FILE'],
    [['run', 'none', '--model', 'm', '--prompt', 'a', '--prompt-file', 'b'], 2, 'only one of --prompt'],
    [
      ['run', 'none', '--model', 'm'],
      2,
      'heddle: the command needs --prompt or --messages-file, unless --model is the reference to a stored model.\nNothing was sent. Correct the arguments and run the command again.\n',
    ],
    [['run', 'none', '--model', 'm', '--prompt', 'a', '--concurrency', '99'], 2, 'a whole number from 1 to 64'],
    [['run', 'none', '--model', 'm', '--prompt', 'a', '--max-usd', '0'], 2, 'heddle: --max-usd: Must be more than 0'],
    [['show', ''], 2, 'heddle: run: Must not be empty'],
    [
      ['list', '--project', 'demo/suport'],
      2,
      'The nearest projects are demo/support. Pass one of them with --project.',
    ],
    [['show', 'none'], 2, 'has no run "none"'],
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

  it('compares with a baseline by its name, fails for scores that are missing now, and writes a Markdown summary', async () => {
    let refused: string | undefined;
    const model = await startScriptedModel(({ messages }, response) => {
      if (messages[0]!.content !== refused) return 'yes';
      response.writeHead(400).end('No such question');
      return undefined;
    });
    const environment = await prepareEvaluation(model.url);
    const first = JSON.parse((await run([...runArgs, '--baseline', 'main'], environment)).stdout);
    refused = 'second';
    const summary = join(temporaryFolder(), 'summary.md');
    const compared = ['--compare', 'main', '--fail-if-worse', '--markdown', summary];
    const result = await run([...runArgs, ...compared], environment);
    const sentence =
      'no difference: 0 points (-65.8 to +65.8) on 2 rows; it takes 6 rows to show any difference; 0 rows that passed before fail now; 1 row without a score now left out';
    expect([result.code, result.stderr]).toEqual([1, expect.stringContaining(`: ${sentence}`)]);
    const { runs } = JSON.parse(result.stdout);
    expect(runs).toMatchObject([{ run_id: first.runs[0].run_id }, { status: 'complete with 1 error' }]);
    expect(readFileSync(summary, 'utf8')).toContain(`- \`says_yes\`: **${sentence}**`);
    const named = await run(['evaluation', 'baseline', 'main', runs[1].run_id], environment);
    expect(JSON.parse(named.stdout)).toMatchObject({ run_id: runs[1].run_id, baseline: 'main' });
    const compare = ['evaluation', 'compare', 'main', runs[0].run_id, '--fail-if-worse'];
    expect((await run(compare, environment)).code).toBe(0);
    const newest = JSON.parse((await run(['evaluation', 'compare', runArgs[2]!], environment)).stdout);
    expect(newest.runs).toMatchObject([{ run_id: first.runs[0].run_id }, { run_id: runs[1].run_id }]);
    // A sample is an evaluation of its own.
    await run([...runArgs, '--sample', '1', '--baseline', 'main'], environment);
    const ambiguous = await run(['evaluation', 'compare', 'main'], environment);
    expect([ambiguous.code, ambiguous.stderr]).toEqual([
      2,
      expect.stringContaining('Several evaluations have a baseline "main": '),
    ]);
    const alone = await run([...runArgs, '--fail-if-worse'], environment);
    expect([alone.code, alone.stderr]).toEqual([2, expect.stringContaining('--fail-if-worse needs --compare')]);
  });

  it('takes names of scorers and baselines in any case, and refuses unknown ones before it asks the model', async () => {
    let requests = 0;
    const model = await startScriptedModel(() => {
      requests += 1;
      return 'yes';
    });
    const environment = await prepareEvaluation(model.url);
    const refused = async (...args: string[]) => {
      const { code, stderr } = await run([...runArgs, ...args], environment);
      return [code, requests, stderr];
    };
    expect(await refused('--scorer', 'Says No', '--min-pass-rate', '1')).toEqual([
      2,
      0,
      expect.stringContaining('no scorer Says No; scorers of yes: says_yes. Nothing was run'),
    ]);
    expect(await refused('--compare', 'main')).toEqual([2, 0, expect.stringContaining('has no run "main"')]);
    const slice = 'No row has the column "nope".\nThe nearest columns are ';
    expect(await refused('--slice-by', 'nope')).toEqual([2, 0, expect.stringContaining(slice)]);
    expect(await refused('--scorer', 'Says No', '--min-pass-rate', '1', '--dry-run')).toEqual([
      2,
      0,
      expect.stringContaining('no scorer Says No; scorers of yes: says_yes. Nothing was run'),
    ]);
    const named = ['--scorer', 'Says Yes', '--min-pass-rate', '1', '--baseline', 'Main Line'];
    expect((await run([...runArgs, ...named], environment)).code).toBe(0);
    expect((await run([...runArgs, '--compare', 'main line'], environment)).code).toBe(0);

    const rows = 'weave:///demo/support/object/rows:latest';
    const scorers = ['Says yes'];
    await call('create_evaluation', { name: 'Other', dataset: rows, scorers }, environment);
    const before = requests;
    const other = runArgs.map((word) => (word === 'Yes' ? 'Other' : word));
    const elsewhere = await run([...other, '--compare', 'Main Line'], environment);
    expect([elsewhere.code, requests, elsewhere.stderr]).toEqual([
      2,
      before,
      expect.stringContaining('"Main Line" is a baseline of the evaluation yes, not of other.'),
    ]);
    const copy = await run(['evaluation', 'baseline', 'copy', 'MAIN LINE'], environment);
    expect(JSON.parse(copy.stdout)).toMatchObject({ baseline: 'copy' });
    const compared = await run(['evaluation', 'compare', 'Main Line'], environment);
    expect(JSON.parse(compared.stdout).runs).toHaveLength(2);
  });

  it('starts no run where none is missing, and compares no run with itself', async () => {
    const model = await startScriptedModel(() => 'yes');
    const environment = await prepareEvaluation(model.url);
    const { run_id } = JSON.parse((await run(runArgs, environment)).stdout).runs[0];
    const resumed = await run(['evaluation', 'resume', 'Yes'], environment);
    expect([resumed.code, resumed.stderr]).toEqual([
      0,
      `heddle: the run ${run_id} is complete, so nothing is asked again\n`,
    ]);
    expect(JSON.parse(resumed.stdout)).toMatchObject({ runs: [{ run_id }], passed: true });
    expect(JSON.parse((await run(['evaluation', 'list', 'Yes'], environment)).stdout).runs).toHaveLength(1);
    const same = await run(['evaluation', 'compare', 'Yes', 'yes'], environment);
    expect([same.code, same.stderr]).toEqual([
      2,
      'heddle: Yes and yes name the same run, so there is nothing to compare\n',
    ]);
  });

  it('takes the name of an evaluation for its newest run', async () => {
    const model = await startScriptedModel(() => 'yes');
    const environment = await prepareEvaluation(model.url);
    await run(runArgs, environment);
    const newest = JSON.parse((await run(runArgs, environment)).stdout).runs[0].run_id;
    const shown = JSON.parse((await run(['evaluation', 'show', 'Yes', '--wait'], environment)).stdout);
    expect(shown.runs).toMatchObject([{ run_id: newest }]);
    const exported = await run(['evaluation', 'export', 'yes'], environment);
    expect(exported.stdout.trim().split('\n')).toHaveLength(3);
    const named = JSON.parse((await run(['evaluation', 'baseline', 'main', 'Yes'], environment)).stdout);
    expect(named).toMatchObject({ run_id: newest, baseline: 'main' });
  });

  it('lists runs with the names of baselines, on a narrow terminal as a block for each', async () => {
    const model = await startScriptedModel(() => 'yes');
    const environment = await prepareEvaluation(model.url);
    const { run_id, started_at } = JSON.parse((await run([...runArgs, '--baseline', 'main'], environment)).stdout)
      .runs[0];
    expect((await run(['service', 'list', '--table'], environment)).stdout).not.toContain('baseline');
    const list = ['evaluation', 'list', 'Yes'];
    expect(JSON.parse((await run(list, environment)).stdout).runs).toMatchObject([{ run_id, baselines: ['main'] }]);
    expect((await run([...list, '--table'], environment)).stdout).toContain(', baseline main, started ');
    const { stdout } = await runAtTerminal(list, { ...environment, NO_COLOR: '1' }, { columns: 100 });
    expect(
      stdout.replace(run_id, 'RUN').replace(`${started_at.slice(0, 19)}Z`, 'TIME'),
    ).toBe(`1 run of 1, the newest first.

run_id      RUN
status      complete
evaluation  yes
model       small
prompt      {question}
baseline    main
started_at  TIME
took        3 predictions, 30 tokens
says_yes    100% (43.9 to 100) of 3 passed
`);
  });

  it('runs a sample of the rows, which a seed draws', async () => {
    const model = await startScriptedModel(() => 'yes');
    const environment = await prepareEvaluation(model.url);
    const result = await run([...runArgs, '--sample', '2', '--seed', '3'], environment);
    expect(JSON.parse(result.stdout).runs).toMatchObject([{ evaluation: 'yes-sample-2-seed-3', predictions: 2 }]);
    expect((await run([...runArgs, '--seed', '3'], environment)).stderr).toContain('--seed needs --sample');
  });

  it('starts nothing with a model that inference does not list, unless --yes says that it exists', async () => {
    const model = await startScriptedModel(() => 'yes', ['large', 'smaller']);
    const environment = await prepareEvaluation(model.url);
    const result = await run(runArgs, environment);
    expect([result.code, result.stderr]).toEqual([
      2,
      expect.stringContaining('Nothing was started. Inference does not list the model small. The nearest models are '),
    ]);
    expect(model.asked).toEqual([]);
    expect((await run([...runArgs, '--yes'], environment)).code).toBe(0);
  });

  it('starts nothing with a model that does not reply, with --yes either', async () => {
    const refuse: Script = (_, response) => {
      response.writeHead(404, { 'content-type': 'application/json' });
      response.end('{"error":{"message":"The model small does not exist."}}');
      return undefined;
    };
    const model = await startScriptedModel(refuse, ['large', 'smaller']);
    const environment = await prepareEvaluation(model.url);
    const result = await run([...runArgs, '--yes'], environment);
    expect([result.code, result.stderr]).toEqual([
      2,
      expect.stringContaining('Asked for a short reply, small failed: '),
    ]);
    expect(result.stderr).toContain('The model small does not exist.');
    expect(model.asked).toHaveLength(1);
  });

  it('starts nothing without --yes if model and judges get more than 100 requests, or if no row fills a placeholder of a judge', async () => {
    const service = await startEvaluatingService();
    service.rows = Array.from({ length: 51 }, (_, n) => ({ question: `${n}?`, capital: 'Rome' }));
    const environment = emptyHome(temporaryFolder(), service.environment);
    const args = ['evaluation', 'run', 'answers', '--model', 'org/model', '--prompt', '{question}'];
    const large = await run(args, environment);
    expect([large.code, large.stderr]).toEqual([
      2,
      expect.stringContaining(
        'the run sends 102 requests, 51 to the model and 51 to judges (up to 51 more if replies of judges do not fit), about',
      ),
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
    expect(stdout).toMatch(/^run \S+ complete, .*\nscorer +result\nsays_yes +100% \(43\.9 to 100\) of 3 passed\n$/);
    const list = ['evaluation', 'list', 'Yes'];
    expect(JSON.parse((await run(list, environment)).stdout)).toMatchObject({ runs: [{ run_id }] });
    const all = await run(['evaluation', 'list', '--table'], environment);
    expect(all.stdout).toMatch(/^1 evaluation\.\nname +version_index +created_at\nYes +0 +\S+Z\n$/);
    expect((await run([...list, '--table'], environment)).stdout).toMatch(
      /^1 run of 1, the newest first\.\nrun \S+ complete, evaluation /,
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
