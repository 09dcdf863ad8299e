import { describe, expect, it } from 'vitest';
import { connectClient } from '../support/client.ts';
import { emptyHome, temporaryFolder } from '../support/heddle.ts';
import { bodyOf, projectId, startServiceWithCalls } from '../support/service-with-calls.ts';

const service = await startServiceWithCalls();
const environment = emptyHome(temporaryFolder(), {
  HEDDLE_BASE_URL: service.service.running.url,
  HEDDLE_PROJECT: projectId,
  HEDDLE_USERNAME: 'ada',
  HEDDLE_PASSWORD: service.passwords.ada,
});
const { call } = await connectClient(environment);

// biome-ignore lint/suspicious/noExplicitAny: bodies of every shape
const post = async (path: string, body: object = {}): Promise<any> =>
  bodyOf(await service.send('POST', `/v2/${projectId}/${path}`, body));
const scorerReference = (name: string): string => `weave:///${projectId}/object/${name}:${'s'.repeat(43)}`;

interface Trial {
  inputs: object;
  output?: unknown;
  scores: Record<string, unknown>;
}

/** Records a run as a program does that makes predictions and scores itself. */
async function recordRun(evaluation: string, model: string, trials: readonly Trial[], isFinished = true) {
  const { evaluation_run_id } = await post('evaluation_runs', { evaluation, model });
  for (const { inputs, output = 'answer', scores } of trials) {
    const { prediction_id } = await post('predictions', { model, inputs, output, evaluation_run_id });
    for (const [name, value] of Object.entries(scores)) {
      await post('scores', { prediction_id, scorer: scorerReference(name), value, evaluation_run_id });
    }
    await post(`predictions/${prediction_id}/finish`);
  }
  if (isFinished) await post(`evaluation_runs/${evaluation_run_id}/finish`, {});
  return evaluation_run_id as string;
}

const model = await service.createObject(
  'helper',
  {
    llm_model_id: 'org/helper',
    default_params: { messages_template: [{ role: 'user', content: 'Answer {question}' }] },
  },
  { builtin_object_class: 'LLMStructuredCompletionModel' },
);
const { evaluation_ref: quality } = await post('evaluations', {
  name: 'Quality',
  dataset: `weave:///${projectId}/object/d:${'d'.repeat(43)}`,
});

const questions = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
/** Only the last of seven questions passed at first, and all pass now; one row of each run is in that run only. */
const before = await recordRun(quality, model, [
  ...questions.map((question) => ({
    inputs: { question },
    output: `old ${question}`,
    scores: { exact: question === 'g', judge: { score: 3, reason: `Because of ${question}` } },
  })),
  { inputs: { question: 'only before' }, scores: { exact: true } },
]);
const after = await recordRun(quality, model, [
  ...questions.map((question) => ({
    inputs: { question },
    output: `new ${question}`,
    scores: { exact: true, judge: { score: question === 'a' ? 2 : 4, reason: question } },
  })),
  { inputs: { question: 'only after' }, scores: { exact: false } },
]);

describe('read_evaluation', () => {
  it('returns the figures of a run, and its rows, the worst first', async () => {
    const { runs, rows, text, ...rest } = await call('read_evaluation', { run_ids: [after], limit: 2 });
    expect(runs).toEqual([
      {
        run_id: after,
        status: 'complete',
        evaluation: 'quality',
        model: 'org/helper',
        prompt: 'Answer {question}',
        started_at: expect.any(String),
        predictions: 8,
        latency_seconds: expect.any(Number),
        scorers: [
          { scorer: 'exact', n: 8, pass_rate: 0.875, interval: [0.5291, 0.9776] },
          {
            scorer: 'judge.score',
            n: 7,
            errors: 1,
            mean: 3.7143,
            interval: [3.1429, 4],
            values: [
              [2, 1],
              [4, 6],
            ],
          },
        ],
      },
    ]);
    expect(rows).toEqual([
      { call_id: expect.any(String), inputs: { question: 'only after' }, output: 'answer', scores: { exact: false } },
      {
        call_id: expect.any(String),
        inputs: { question: 'a' },
        output: 'new a',
        scores: { exact: true, 'judge.score': 2, 'judge.reason': 'a' },
      },
    ]);
    expect(rest).toEqual({ offset: 0, next_offset: 2, total: 8, now: expect.stringMatching(/^2\d{3}-.*Z$/) });
    expect(text).toContain(`run ${after} complete, evaluation quality, model org/helper, prompt "Answer {question}"`);
    expect(text).toMatch(/, started 2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\dZ, 8 predictions,/);
    expect(text).toContain('exact\t87.5% (52.9 to 97.8) of 8 passed');
    expect(text).toContain('judge.score\tmean 3.714 (3.143 to 4) of 7 (2×1 4×6), 1 without a score');
    expect(text).toContain('2 rows of 8 from offset 0. More follow: next_offset 2.');
    expect(text).toContain('only after');
  });

  it('compares two runs on the rows that they share, and marks differences that could be chance', async () => {
    const { comparisons, rows, total, note, text } = await call('read_evaluation', { run_ids: [before, after] });
    expect(comparisons).toEqual([
      {
        baseline: before,
        run_id: after,
        shared_rows: 7,
        other_rows: 2,
        scorers: [
          {
            scorer: 'exact',
            better: 6,
            worse: 0,
            same: 1,
            lost: 0,
            difference: 0.8571,
            interval: [0.1991, 0.9743],
            detectable: 0.3705,
            p: 0.031,
            p_holm: 0.063,
            verdict: 'could be chance',
          },
          {
            scorer: 'judge.score',
            better: 6,
            worse: 1,
            same: 0,
            difference: 0.7143,
            interval: [0.1429, 1],
            detectable: 0.7411,
            p: 0.13,
            p_holm: 0.13,
            verdict: 'could be chance',
          },
        ],
      },
    ]);
    expect(note).toBe(
      'Passed or a higher number counts as better, and + is better; 95 % intervals in brackets. p: exact McNemar test, for numbers the sign test; p_holm is corrected for several scorers. From 0.05 on, the difference could be chance. ' +
        'Rows that did not change are left out.',
    );
    expect(total).toBe(7);
    expect(rows.at(-1).inputs.question).not.toBe('g');
    expect(rows[0].inputs.question).toBe('a');
    const gained = rows.find(({ inputs }: { inputs: { question: string } }) => inputs.question === 'b');
    expect(gained).toEqual({
      call_id: expect.any(String),
      call_ids: [expect.any(String), gained.call_id],
      inputs: { question: 'b' },
      outputs: ['old b', 'new b'],
      scores: { exact: [false, true], 'judge.score': [3, 4], 'judge.reason': ['Because of b', 'b'] },
      changes: { exact: 'better', 'judge.score': 'better' },
    });
    expect(text).toContain('run 2 against run 1: 7 shared rows, 2 more in one of them only.');
    expect(text).toContain(
      'exact: could be chance: +85.7 points (+19.9 to +97.4) on 7 rows; 6 rows differ, too few to tell; 0 rows that passed before fail now',
    );
    expect(text).toContain('exact\t6\t0\t1\t0.031\t0.063\tcould be chance');
    expect(text).toContain('judge.score\t6\t1\t0\t0.13\t0.13\tcould be chance');
    expect(text).toMatch(/\tnot passed → passed\t3 → 4\t/);
    expect(text).toContain(note);
  });

  it('shows the part in which outputs differ, also where it is beyond what is cut off', async () => {
    const dataset = `weave:///${projectId}/object/d:${'d'.repeat(43)}`;
    const { evaluation_ref } = await post('evaluations', { name: 'Long outputs', dataset });
    const [first, second] = await Promise.all(
      ['Oslo', 'Bergen'].map((city) =>
        recordRun(
          evaluation_ref,
          model,
          [
            {
              inputs: { question: 'long' },
              output: `${'so '.repeat(100)}${city} it is`,
              scores: { exact: city === 'Oslo' },
            },
          ],
          false,
        ),
      ),
    );
    const { rows, text } = await call('read_evaluation', { run_ids: [first, second] });
    expect(rows[0].outputs).toEqual([
      'so so so so …so so so so Oslo it is…[+275 characters]',
      'so so so so …so so so so Bergen it is…[+275 characters]',
    ]);
    const wide = await call('read_evaluation', { run_ids: [first, second], max_value_chars: 1000 });
    expect(wide.rows[0].outputs[0]).toBe(`${'so '.repeat(100)}Oslo it is`);
    expect(wide.text).toContain('\toutput of run 1\toutput of run 2\t');
    expect(wide.text).toContain('\tso so so so …so so so so Oslo it is\tso so so so …so so so so Bergen it is\t');
    expect(text).toContain('Oslo it is…[+275 characters]');
  });

  it('shows the part in which the outputs of the rows differ, where they are cut off', async () => {
    const dataset = `weave:///${projectId}/object/d:${'d'.repeat(43)}`;
    const { evaluation_ref } = await post('evaluations', { name: 'Long outputs', dataset });
    const trials = ['Oslo', 'Rome'].map((question) => ({
      inputs: { question },
      output: `${'so '.repeat(100)}${question} it is`,
      scores: { exact: false },
    }));
    const { rows, text } = await call('read_evaluation', {
      run_ids: [
        await recordRun(evaluation_ref, model, [...trials, { inputs: { question: 'none' }, output: 7, scores: {} }]),
      ],
    });
    expect(rows.map(({ output }: { output: unknown }) => output).sort()).toEqual([
      7,
      'so so so so …so so so so Oslo it is…[+275 characters]',
      'so so so so …so so so so Rome it is…[+275 characters]',
    ]);
    expect(text).toContain('so so so so …so so so so Oslo it is');
  });

  it('compares the two newest finished runs of an evaluation by its name', async () => {
    const { runs, comparisons } = await call('read_evaluation', { evaluation: 'Quality', compare: true });
    expect(runs.map(({ run_id }: { run_id: string }) => run_id)).toEqual([before, after]);
    expect(comparisons[0].shared_rows).toBe(7);
  });

  it('reads the rows of the newest run of an evaluation when it is asked for some, and checks the column', async () => {
    const { runs, rows, note, text } = await call('read_evaluation', { evaluation: 'Quality', only: 'failed' });
    expect(runs).toMatchObject([{ run_id: after }]);
    expect(rows).toMatchObject([{ inputs: { question: 'only after' }, scores: { exact: false } }]);
    expect(note).toBe('The newest of 2 runs; pass run_ids for others.');
    expect(text).toContain(note);
    const { error } = await call('read_evaluation', { evaluation: 'Quality', slice_by: 'qestion' });
    expect(error.message).toContain('"qestion"');
  });

  it('lists the runs of an evaluation, the newest first, page by page', async () => {
    const page = await call('read_evaluation', { evaluation: quality, limit: 1 });
    expect(page).toMatchObject({
      runs: [
        {
          run_id: after,
          status: 'complete',
          predictions: 8,
          scorers: [{ scorer: 'exact', n: 8, pass_rate: 0.875, interval: [0.5291, 0.9776] }, { scorer: 'judge.score' }],
        },
      ],
      offset: 0,
      next_offset: 1,
      total: 2,
    });
    expect(page.rows).toBeUndefined();
    expect(page.text).toContain('1 run of 2 from offset 0, the newest first. More follow: next_offset 1.');
    const next = await call('read_evaluation', { evaluation: quality, limit: 1, offset: 1 });
    expect(next.runs[0].run_id).toBe(before);
    expect((await call('read_evaluation', { evaluation: quality, offset: 5 })).text).toContain(
      'No runs at offset 5: there are 2.',
    );
  });

  it('returns only rows that failed', async () => {
    const { rows, total } = await call('read_evaluation', { run_ids: [before], only: 'failed', limit: 100 });
    expect(total).toBe(6);
    expect(rows.every(({ scores }: { scores: { exact: boolean } }) => scores.exact === false)).toBe(true);
  });

  it('cuts long values', async () => {
    const run = await recordRun(quality.replace('quality', 'long'), model, [
      { inputs: { text: 'x'.repeat(500) }, output: 'y'.repeat(5000), scores: { note: 'z'.repeat(500) } },
    ]);
    const { rows } = await call('read_evaluation', { run_ids: [run] });
    expect(rows[0].inputs.text).toBe(`${'x'.repeat(200)}…[+300 characters]`);
    expect(rows[0].output).toMatch(/^y{200}…\[\+\d+ characters\]$/);
    expect(rows[0].scores.note).toBe(`${'z'.repeat(200)}…[+300 characters]`);
    const wide = await call('read_evaluation', { run_ids: [run], max_value_chars: 1000 });
    expect(wide.rows[0].inputs.text).toBe('x'.repeat(500));
  });

  it('says that a run is not finished', async () => {
    const run = await recordRun(
      quality.replace('quality', 'slow'),
      model,
      [{ inputs: { n: 1 }, scores: { exact: true } }],
      false,
    );
    const result = await call('read_evaluation', { run_ids: [run] });
    expect(result.runs[0]).toMatchObject({ status: 'running', completed: 1 });
    expect(result.warnings).toEqual(['1 run not finished: figures and rows are of what is done.']);
    expect(result.text).toContain('running (1 of 1 predictions)');
    expect(result.text).toContain('1 run not finished');
  });

  it('compares a scorer with the judgements in a column: agreement, kappa, confusion, and the rows that differ', async () => {
    // The proportions of 50 proposals of which two readers agree on 35: kappa is 0.4.
    const cells = [
      [true, true, 4],
      [true, false, 1],
      [false, true, 2],
      [false, false, 3],
    ] as const;
    const trials = cells.flatMap(([helpful, verdict, count]) =>
      Array.from({ length: count }, (_, n) => ({
        inputs: { n: `${helpful} ${verdict} ${n}`, helpful },
        scores: { judge: { passed: verdict, reason: `reason ${helpful} ${verdict} ${n}` } },
      })),
    );
    const run = await recordRun(quality.replace('quality', 'proposals'), model, trials);
    const { agreement, rows, total, text } = await call('read_evaluation', {
      run_ids: [run],
      expected: 'helpful',
      only: 'failed',
      limit: 20,
    });
    expect(agreement).toEqual([
      {
        run_id: run,
        scorer: 'judge.passed',
        n: 10,
        percent: 70,
        kappa: 0.4,
        kappa_interval: [-0.157, 0.957],
        classes: ['true', 'false'],
        confusion: [
          [4, 1],
          [2, 3],
        ],
      },
    ]);
    expect(total).toBe(3);
    expect(
      rows.every(
        (row: { inputs: { helpful: boolean }; scores: Record<string, boolean> }) =>
          row.inputs.helpful !== row.scores['judge.passed'],
      ),
    ).toBe(true);
    expect(text).toContain(
      "agreement of judge.passed with the column: 10 rows, 70% agree, Cohen's unweighted kappa 0.4",
    );
    expect(text).toContain('expected \\ judge.passed\ttrue\tfalse\ntrue\t4\t1\nfalse\t2\t3');
  });

  it('compares the output with a column of labels', async () => {
    const labels = [
      ['bug', 'bug'],
      ['bug', 'billing'],
      ['billing', 'billing '],
      ['billing', 'billing'],
    ];
    const trials = labels.map(([label, output], n) => ({ inputs: { n, label }, output, scores: {} }));
    const run = await recordRun(quality.replace('quality', 'labels'), model, trials);
    const { agreement } = await call('read_evaluation', { run_ids: [run], expected: 'label' });
    expect(agreement).toMatchObject([{ scorer: 'output', n: 4, percent: 75, kappa: 0.5 }]);
  });

  it('shows the rows whose trials differ, and the figures for each value of a column', async () => {
    const trials = [
      ['a', 'de', true],
      ['a', 'de', false],
      ['b', 'de', true],
      ['b', 'de', true],
      ['c', 'fr', false],
      ['c', 'fr', false],
    ].map(([name, language, exact]) => ({ inputs: { name, language }, scores: { exact } }));
    const run = await recordRun(quality.replace('quality', 'trials'), model, trials);
    const flaky = await call('read_evaluation', { run_ids: [run], only: 'flaky', slice_by: 'language' });
    expect(flaky.rows).toMatchObject([{ inputs: { name: 'a' }, scores: { exact: 0.5 }, trials: 2 }]);
    expect(flaky.total).toBe(1);
    const [{ scorers }] = flaky.runs;
    expect(scorers).toMatchObject([
      { n: 6, pass_rate: 0.5, flaky_rows: 1, pass_at_k: [{ k: 2, any: 0.6667, all: 0.3333 }] },
    ]);
    expect(flaky.slices).toMatchObject([
      {
        value: 'de',
        rows: 2,
        runs: [{ run_id: run, scorers: [{ scorer: 'exact', n: 4, pass_rate: 0.75, flaky_rows: 1 }] }],
      },
      {
        value: 'fr',
        rows: 1,
        runs: [{ run_id: run, scorers: [{ scorer: 'exact', n: 2, pass_rate: 0, flaky_rows: 0 }] }],
      },
    ]);
    expect(flaky.text).toContain('slice\trows\tscorer\tresult\nde\t2\texact\t75% (');
    expect(flaky.text).toContain('pass@2 66.67%, pass^2 33.33%, 1 flaky row');
    const { error } = await call('read_evaluation', { run_ids: [run], slice_by: 'langage' });
    expect(error).toMatchObject({ code: 'invalid_arguments', message: expect.stringContaining('column "langage"') });
    expect(error.hint).toContain('nearest columns are language');
  });

  it.each([
    [
      { run_ids: ['none'] },
      'not_found',
      /has no run "none"/,
      /^The nearest evaluations are .* Call read_evaluation with one of them for its runs\.$/,
    ],
    [{ evaluation: 'Qualty' }, 'not_found', /no evaluation "Qualty"/, /nearest evaluations are quality/],
    [{ run_ids: [after], only: 'changed' }, 'invalid_arguments', /needs two run_ids/, /./],
    [{ run_ids: [after], evaluation: 'Quality' }, 'invalid_arguments', /either run_ids or evaluation/, /./],
    [
      { run_ids: [after], expected: 'questions' },
      'invalid_arguments',
      /No row has the column "questions"/,
      /nearest columns are question/,
    ],
    [{ run_ids: [before], expected: 'question' }, 'invalid_arguments', /No scorer has a value/, /true and false/],
  ])('refuses %j', async (args, code, message, hint) => {
    const { error } = await call('read_evaluation', args);
    expect(error).toMatchObject({ code, message: expect.stringMatching(message), hint: expect.stringMatching(hint) });
  });

  it('returns a page of rows that fits the limit of a result, and says where the next begins', async () => {
    const trials = Array.from({ length: 6 }, (_, n) => ({
      inputs: { n, text: 'w'.repeat(900) },
      scores: { exact: true },
    }));
    const run = await recordRun(quality.replace('quality', 'large'), model, trials);
    const { client } = await connectClient({ ...environment, HEDDLE_MAX_RESULT_CHARS: '4000' });
    const { content, structuredContent: page } = await client.callTool({
      name: 'read_evaluation',
      arguments: { run_ids: [run], limit: 6, max_value_chars: 1000 },
    });
    const { rows, next_offset, total } = page as { rows: object[]; next_offset: number; total: number };
    expect(rows.length).toBeGreaterThan(1);
    expect(rows.length).toBeLessThan(6);
    expect(next_offset).toBe(rows.length);
    expect(total).toBe(6);
    expect(JSON.stringify(page).length).toBeLessThanOrEqual(4000);
    expect((content as unknown as [{ text: string }])[0].text.length).toBeLessThanOrEqual(4000);
  });
});

describe('run_evaluation and read_evaluation on the embedded service', () => {
  const rows = [
    { question: 'What is the capital of Denmark?', capital: 'Copenhagen' },
    { question: 'Is Oslo the capital of Norway?', capital: 'Oslo' },
    { question: 'Vienna is the capital of which country?', capital: 'Vienna' },
    ...Array.from({ length: 7 }, (_, n) => ({ question: `What is city number ${n}?`, capital: `City${n}` })),
  ];

  it('run an evaluation with two prompts, and show which rows got better', async () => {
    const { object_id, digest } = await post('datasets', { name: 'capitals', rows });
    const scorer = await service.createObject('has_capital', {
      kind: 'contains',
      expected: 'capital',
      _type: 'HeddleScorer',
      _class_name: 'HeddleScorer',
      _bases: ['Scorer', 'Object', 'BaseModel'],
    });
    const dataset = `weave:///${projectId}/object/${object_id}:${digest}`;
    await post('evaluations', { name: 'Capitals', dataset, scorers: [scorer] });
    const run = (prompt: string) => call('run_evaluation', { evaluation: 'Capitals', model: 'heddle/echo', prompt });
    const plain = await run('{question}');
    const hinted = await run('{question} It is {capital}.');
    expect(plain).toMatchObject({ status: 'complete', predictions: 10, scorers: [{ n: 10, pass_rate: 0.2 }] });
    expect(hinted).toMatchObject({ status: 'complete', predictions: 10, scorers: [{ n: 10, pass_rate: 1 }] });
    const {
      comparisons,
      rows: changed,
      total,
    } = await call('read_evaluation', { run_ids: [plain.run_id, hinted.run_id] });
    expect(comparisons[0]).toMatchObject({
      shared_rows: 10,
      scorers: [{ better: 8, worse: 0, same: 2, p: 0.0078, verdict: 'better' }],
    });
    expect(total).toBe(8);
    expect(changed.map(({ inputs }: { inputs: { capital: string } }) => inputs.capital).sort()).toEqual(
      ['Copenhagen', ...Array.from({ length: 7 }, (_, n) => `City${n}`)].sort(),
    );
    const first = await call('run_evaluation', {
      evaluation: 'Capitals',
      model: 'heddle/echo',
      prompt: '{question}',
      sample: { n: 3 },
    });
    expect(first).toMatchObject({ status: 'complete', predictions: 3, dataset_rows: 10 });
    const again = await call('read_evaluation', { run_ids: [plain.run_id, first.run_id] });
    expect(again.comparisons[0]).toMatchObject({
      shared_rows: 3,
      other_rows: 7,
      scorers: [{ same: 3, verdict: 'no difference' }],
    });
    expect(again.note).toMatch(/95 % intervals in brackets\. Rows that did not change are left out/);
  });

  it('name a run, and compare with it by its name until another run has it', async () => {
    const args = { evaluation: 'Capitals', model: 'heddle/echo', prompt: 'Main: {question}' };
    const first = await call('run_evaluation', { ...args, baseline: 'main' });
    expect(first).toMatchObject({ status: 'complete', baseline: 'main' });
    expect(first.text).toContain('The run is the baseline main now.');
    const second = await call('run_evaluation', args);
    expect(second.baseline).toBeUndefined();
    const read = async () => {
      const { runs } = await call('read_evaluation', { run_ids: ['main', second.run_id] });
      return runs.map(({ run_id }: { run_id: string }) => run_id);
    };
    expect(await read()).toEqual([first.run_id, second.run_id]);
    const { run_id } = await call('run_evaluation', args);
    expect(await call('run_evaluation', { run_id, baseline: 'main' })).toMatchObject({ run_id, baseline: 'main' });
    expect(await read()).toEqual([run_id, second.run_id]);
    const other = await call('run_evaluation', { ...args, sample: { n: 2 }, baseline: 'main' });
    expect(await read()).toEqual([run_id, second.run_id]);
    expect((await call('read_evaluation', { run_ids: ['main', other.run_id] })).runs).toHaveLength(1);
    const { error } = await call('read_evaluation', { run_ids: ['main'] });
    expect(error).toMatchObject({
      code: 'invalid_arguments',
      message: 'Several evaluations have a baseline "main": capitals, capitals-sample-2-seed-0.',
    });
    expect((await call('read_evaluation', { run_ids: ['Main line'] })).error).toMatchObject({
      code: 'not_found',
      hint: 'The nearest baselines are main. The nearest evaluations are capitals, quality, long_outputs. Call read_evaluation with one of them for its runs.',
    });
    expect((await call('run_evaluation', { ...args, baseline: 'no name' })).baseline).toBe('no name');
    expect(await call('run_evaluation', { run_id: 'no name', only: 'errors', dry_run: true })).toMatchObject({
      status: 'dry_run',
      model_requests: 0,
    });
    expect(await call('run_evaluation', { run_id: 'no name' })).toMatchObject({
      status: 'complete',
      now: expect.stringMatching(/^\d{4}-/),
    });
    expect((await call('run_evaluation', { ...args, baseline: 'ma/in:' })).error).toMatchObject({
      code: 'invalid_arguments',
      message: expect.stringContaining('cannot be the name of a baseline of capitals'),
    });
  });
});
