import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type ClientOptions, connectClient, startServer } from '../support/client.ts';
import { type EvaluatingService, evaluationReference, startEvaluatingService } from '../support/evaluating-service.ts';
import { sendResponse } from '../support/fake-service.ts';
import { emptyHome, temporaryFolder } from '../support/heddle.ts';

async function connect(options: ClientOptions = {}, settings: Record<string, string> = {}) {
  const service = await startEvaluatingService();
  const client = await connectClient(emptyHome(temporaryFolder(), { ...service.environment, ...settings }), options);
  return { service, ...client };
}

/** Makes the clock show ten seconds before the deadline of two minutes once the service is asked for the status of a run. */
function skipToDeadline(service: EvaluatingService): void {
  const { respond } = service;
  const now = performance.now.bind(performance);
  let skippedMs = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + skippedMs);
  onTestFinished(() => clock.mockRestore());
  service.respond = (request) => {
    if (request.path === '/evaluations/status') skippedMs = 110_000;
    respond(request);
  };
}

const run = { evaluation: 'Answers', model: 'org/model', prompt: '{question}' };
const startsOf = (service: EvaluatingService): number => service.bodiesOf('/evaluations/evaluate_model').length;
const writesOf = (service: EvaluatingService): string[] =>
  service.requests
    .map(({ method, path }) => `${method} ${path}`)
    .filter((line) => /evaluate_model|obj\/create|\/datasets|POST .*\/evaluations$/.test(line));

const summary = {
  evaluation_call_id: 'run-1',
  trial_count: 4,
  predict_total_tokens: 120,
  scorer_stats: [
    { scorer_key: 'contains', path: null, trial_count: 4, pass_known_count: 4, pass_true_count: 3, pass_rate: 0.75 },
    { scorer_key: 'judge', path: 'score', trial_count: 3, numeric_count: 3, numeric_mean: 3.5, error_count: 1 },
  ],
};

describe('run_evaluation', () => {
  it('stores the model with its prompt, starts one run, waits until its end, and returns the figures', async () => {
    const { service, call } = await connect();
    service.statuses = [
      { code: 'not_found' },
      { code: 'running', completed_rows: 1, total_rows: 4 },
      { code: 'complete' },
    ];
    service.results = { rows: [], total_rows: 4, summary: { row_count: 4, evaluations: [summary] }, warnings: [] };
    const { text, ...result } = await call('run_evaluation', run);
    expect(result).toEqual({
      now: expect.stringMatching(/^\d{4}-/),
      run_id: 'run-1',
      status: 'complete',
      evaluation_ref: evaluationReference,
      model_ref: `weave:///team/project/object/org-model:${'m'.repeat(43)}`,
      predictions: 4,
      tokens: 120,
      scorers: [
        { scorer: 'contains', n: 4, pass_rate: 0.75 },
        { scorer: 'judge.score', n: 3, errors: 1, mean: 3.5 },
      ],
      warnings: [
        'heddle cannot run 1 scorer: python.',
        "Only heddle's own service is known to run scorers that compare without a model; this one may fail with contains. An llm_judge runs on both.",
      ],
      next: 'read_evaluation shows the rows, and compares with another run.',
    });
    expect(text).toContain('run run-1 complete, 4 predictions, 120 tokens');
    expect(text).toContain('contains\t75% of 4 passed\njudge.score\tmean 3.5 of 3, 1 without a score');
    expect(service.bodiesOf('/obj/create')).toEqual([
      {
        obj: {
          project_id: 'team/project',
          object_id: 'org-model',
          val: {
            name: 'org/model',
            description: 'Stored by heddle for a run or a judge.',
            llm_model_id: 'org/model',
            default_params: { messages_template: [{ role: 'user', content: '{question}' }], response_format: 'text' },
            _type: 'LLMStructuredCompletionModel',
            _class_name: 'LLMStructuredCompletionModel',
            _bases: ['Model', 'Object', 'BaseModel'],
          },
          builtin_object_class: 'LLMStructuredCompletionModel',
        },
      },
    ]);
    expect(service.bodiesOf('/evaluations/evaluate_model')).toEqual([
      { project_id: 'team/project', evaluation_ref: evaluationReference, model_ref: result.model_ref },
    ]);
  });

  it('reports the run_id with the first progress notification, and counts predictions', async () => {
    const { service, client } = await connect();
    service.statuses = [
      { code: 'running', completed_rows: 3, total_rows: 4 },
      { code: 'running', completed_rows: 3, total_rows: 4 },
      { code: 'running', completed_rows: 3, total_rows: 4 },
      { code: 'complete' },
    ];
    const seen: unknown[] = [];
    await client.callTool({ name: 'run_evaluation', arguments: run }, { onprogress: (report) => seen.push(report) });
    const _meta = { 'io.github.heddle-mcp/run_id': 'run-1' };
    expect(seen[0]).toEqual({ progress: 0, message: 'run_id run-1: 0 predictions', _meta });
    expect(seen).toContainEqual({ progress: 3, total: 4, message: 'run_id run-1: 3 of 4 predictions', _meta });
  });

  it('returns the progress of a run shortly before the deadline, and continues waiting with run_id', async () => {
    const { service, call } = await connect({}, { HEDDLE_TIMEOUT_MS: '120000' });
    skipToDeadline(service);
    service.statuses = [{ code: 'running', completed_rows: 2, total_rows: 4 }];
    const waiting = await call('run_evaluation', run);
    expect(waiting).toMatchObject({ run_id: 'run-1', status: 'running', completed: 2, total: 4 });
    expect(waiting.text).toContain('run-1 running (2 of 4 predictions)');
    expect(waiting.text).toContain('Call again with {"run_id":"run-1"} to continue waiting.');
    service.statuses = [{ code: 'failed', error: 'The model does not exist' }];
    const ended = await call('run_evaluation', { run_id: 'run-1' });
    expect(ended).toMatchObject({ run_id: 'run-1', status: 'failed', error: 'The model does not exist' });
    expect(startsOf(service)).toBe(1);
  });

  it('estimates without starting anything, and explains the estimate', async () => {
    const { service, call } = await connect();
    const { text, ...result } = await call('run_evaluation', { ...run, dry_run: true });
    expect(result).toMatchObject({
      status: 'dry_run',
      rows: 4,
      model_requests: 4,
      judge_requests: 4,
      estimated_tokens: 90,
      detectable: 0.9905,
    });
    expect(text).toContain(
      'Nothing was started (dry_run). 4 rows: 4 requests to the model and 4 to judges (8 in all, up to 4 more if replies of judges do not fit), about 90 tokens. The estimate is a quarter of the characters',
    );
    expect(writesOf(service)).toEqual([]);
  });

  it('refuses a dataset without rows', async () => {
    const { service, call } = await connect();
    service.rows = [];
    expect((await call('run_evaluation', { ...run, prompt: 'Hi', dry_run: true })).error).toMatchObject({
      code: 'invalid_request',
      message: 'Nothing was started: the dataset of answers has no rows.',
    });
  });

  it.each([
    [
      'a prompt whose placeholders no column fills',
      { prompt: 'In {country}: {question} {{literal}}' },
      /no column for \{country\}/,
      /nearest columns to country are capital, question/,
    ],
    [
      'messages whose placeholders no column fills',
      { prompt: undefined, messages: [{ role: 'user', content: [{ type: 'text', text: '{a}{b}' }] }] },
      /\{a\}, \{b\}/,
      /nearest columns to a are .* nearest columns to b are/,
    ],
    ['a prompt with a lone brace', { prompt: '{question} }' }, /a lone \}/, /literal brace/],
  ])('refuses %s before anything is started', async (_, args, message, hint) => {
    const { service, call } = await connect();
    const { error } = await call('run_evaluation', { ...run, ...args });
    expect(error).toMatchObject({ code: 'invalid_arguments', message: expect.stringMatching(message) });
    expect(error.hint).toMatch(hint);
    expect(writesOf(service)).toEqual([]);
  });

  it('ignores placeholders in messages of the assistant, as the service does', async () => {
    const { call } = await connect();
    const messages = [
      { role: 'assistant', content: '{none}' },
      { role: 'user', content: '{question}' },
    ];
    expect(await call('run_evaluation', { ...run, prompt: undefined, messages })).toMatchObject({ status: 'complete' });
  });

  it('uses the messages of a stored prompt', async () => {
    const { service, call } = await connect();
    await call('run_evaluation', { ...run, prompt: 'weave:///team/project/object/brief:latest' });
    expect(service.bodiesOf('/obj/create')[0].obj.val.default_params.messages_template).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: '{question}' },
    ]);
  });

  it('runs a sample of the rows as an evaluation of their own', async () => {
    const { service, call } = await connect();
    const result = await call('run_evaluation', { ...run, sample: { n: 2, seed: 3 }, concurrency: 3 });
    expect(result).toMatchObject({ rows: 2, dataset_rows: 4 });
    expect(result.text).toContain('Only 2 of 4 rows were run.');
    expect(service.bodiesOf('/v2/team/project/datasets')).toMatchObject([
      { name: 'capitals-sample-2-seed-3', rows: [{ capital: 'Oslo' }, { capital: 'Bern' }] },
    ]);
    expect(service.bodiesOf('/v2/team/project/evaluations')).toMatchObject([
      {
        name: 'answers-sample-2-seed-3',
        dataset: `weave:///team/project/object/capitals-sample-2-seed-3:${'n'.repeat(43)}`,
        scorers: [{}, {}, {}].map(() => expect.any(String)),
        trials: 1,
      },
    ]);
    expect(service.bodiesOf('/evaluations/evaluate_model')).toMatchObject([
      { evaluation_ref: `weave:///team/project/object/answers-sample-2-seed-3:${'f'.repeat(43)}`, concurrency: 3 },
    ]);
  });

  it.each([
    [
      'placeholders',
      { scoring_prompt: '{output} {captal}' },
      /judge judge .* no column for \{captal\}/,
      /to captal are capital/,
    ],
    [
      'mapped columns',
      { scoring_prompt: '{a}', column_map: { a: 'qestion' } },
      /\{a\} \(column qestion\)/,
      /are question/,
    ],
    ['a lone brace', { scoring_prompt: 'Reply {' }, /judge judge .* its prompt has a lone \{/, /\{\{ for a literal/],
  ])('refuses a judge with %s that no row fills before anything is started', async (_, judge, message, hint) => {
    const { service, call } = await connect();
    service.judge = judge;
    const { error } = await call('run_evaluation', { ...run, dry_run: true });
    expect(error).toMatchObject({ code: 'invalid_request', message: expect.stringMatching(message) });
    expect(error.hint).toMatch(hint);
    expect(writesOf(service)).toEqual([]);
  });

  it('refuses a scorer that needs a column of no row before anything is started', async () => {
    const { service, call } = await connect();
    service.rows = service.rows.map(({ question, capital }) => ({ question, capitals: capital }));
    service.judge = { scoring_prompt: '{output}' };
    const { error } = await call('run_evaluation', run);
    expect(error).toMatchObject({
      code: 'invalid_request',
      message: 'Nothing was started: the scorer contains needs the column capital, which the dataset does not have.',
      hint: expect.stringMatching(/^The nearest columns to capital are capitals/),
    });
    expect(writesOf(service)).toEqual([]);
  });

  it('says that a failed run did not become the baseline', async () => {
    const { service, call } = await connect();
    service.statuses = [{ code: 'failed', error: 'The model does not exist' }];
    expect((await call('run_evaluation', { ...run, baseline: 'main' })).warnings).toContain(
      'The run is not the baseline main: it is failed.',
    );
    expect(service.bodiesOf('/obj/create')).toHaveLength(1);
  });

  it('runs a judge whose column map, output and inputs fill its prompt', async () => {
    const { service, call } = await connect();
    service.judge = { scoring_prompt: '{a} {inputs} {output}', column_map: { a: 'question' } };
    expect(await call('run_evaluation', run)).toMatchObject({ status: 'complete' });
  });

  it("leaves braces in the messages of a judge's model alone at a service that sends them as they are", async () => {
    const { service, call } = await connect();
    const default_params = { messages_template: [{ role: 'system', content: 'Reply {"score": 1}.' }] };
    service.judge = { model: { llm_model_id: 'm', default_params }, scoring_prompt: '{output}' };
    expect(await call('run_evaluation', run)).toMatchObject({ status: 'complete' });
  });

  it('asks a person before more than 100 requests, those to judges included, and starts nothing when declined', async () => {
    const { service, call, questions } = await connect({ answer: 'decline' });
    service.rows = Array.from({ length: 51 }, (_, n) => ({ question: `${n}?`, capital: 'Rome' }));
    const { error } = await call('run_evaluation', run);
    expect(error.code).toBe('cancelled');
    expect(questions).toEqual([
      expect.stringMatching(
        /^Run the evaluation answers on org\/model: 51 requests to the model and 51 to judges \(102 in all, up to 51 more if replies of judges do not fit\), about \d+ tokens/,
      ),
    ]);
    expect(writesOf(service)).toEqual([]);
  });

  it('needs confirm for more than 100 requests when the client cannot ask the user', async () => {
    const { service, call } = await connect();
    service.rows = Array.from({ length: 51 }, (_, n) => ({ question: `${n}?`, capital: 'Rome' }));
    const { error } = await call('run_evaluation', run);
    expect(error).toMatchObject({ code: 'invalid_arguments' });
    expect(error.hint).toContain('confirm: true, or set sample to {"n": 50} at most');
    expect(await call('run_evaluation', { ...run, confirm: true })).toMatchObject({ status: 'complete' });
    service.rows.pop();
    expect(await call('run_evaluation', run)).toMatchObject({ status: 'complete' });
    expect(startsOf(service)).toBe(2);
  });

  it('counts every trial of a row, and names the way out when one row takes too many requests', async () => {
    const { service, call } = await connect();
    service.trials = 26;
    const { error } = await call('run_evaluation', run);
    expect(error.message).toContain(
      '104 requests to the model and 104 to judges (208 in all, up to 104 more if replies of judges do not fit) need',
    );
    expect(error.hint).toContain('set sample to {"n": 1} at most');
    service.trials = 51;
    expect((await call('run_evaluation', { ...run, sample: { n: 1 } })).error.hint).toContain(
      'choose an evaluation with fewer trials or judges: one row takes more than 100 requests',
    );
    expect(startsOf(service)).toBe(0);
  });

  it.each([500, 502])('does not start a run again after status %i, and says how to find it', async (status) => {
    const { service, call } = await connect();
    const respond = service.respond;
    service.respond = (request) =>
      request.path === '/evaluations/evaluate_model'
        ? sendResponse(request, status, { reason: 'Broken' })
        : respond(request);
    const { error } = await call('run_evaluation', run);
    expect(error.code).toBe('service_unavailable');
    expect(error.hint).toContain('may have carried it out');
    expect(error.hint).toContain(`Call read_evaluation with evaluation "${evaluationReference}"`);
    expect(startsOf(service)).toBe(1);
  });

  it('names the run when the service fails while it waits', async () => {
    const { service, call } = await connect();
    service.missing.add('/evaluations/status');
    const { error } = await call('run_evaluation', run);
    expect(error.message).toContain('The run run-1 was started, but could not be followed.');
  });

  it('logs a cancelled wait as cancelled, not as a failure of heddle', async () => {
    const service = await startEvaluatingService();
    service.statuses = [{ code: 'running', completed_rows: 0, total_rows: 4 }];
    const settings = { ...service.environment, HEDDLE_LOG_LEVEL: 'info' };
    const server = startServer(emptyHome(temporaryFolder(), settings));
    const { client } = await server.connect();
    const abort = new AbortController();
    const args = { run_id: 'run-1' };
    const waiting = client.callTool({ name: 'run_evaluation', arguments: args }, { signal: abort.signal });
    const isCancelled = expect(waiting).rejects.toThrow();
    // By then, the time between two looks is much longer than a look.
    await expect.poll(() => service.bodiesOf('/evaluations/status').length).toBe(5);
    abort.abort();
    await isCancelled;
    await expect.poll(server.log).toContain('tool=run_evaluation code=cancelled');
    expect(server.log()).not.toContain('unexpected failure');
  });

  it('cancels the run when the call is cancelled, and not when it reaches its deadline', async () => {
    const { service, client, call } = await connect({}, { HEDDLE_TIMEOUT_MS: '120000' });
    skipToDeadline(service);
    service.statuses = [{ code: 'running', completed_rows: 0, total_rows: 4 }];
    await call('run_evaluation', run);
    expect(service.bodiesOf('/evaluations/cancel')).toEqual([]);
    const cancelled = new Promise<void>((resolve) => {
      const respond = service.respond;
      service.respond = (request) => {
        if (request.path === '/evaluations/cancel') resolve();
        respond(request);
      };
    });
    const abort = new AbortController();
    onTestFinished(() => abort.abort());
    const waiting = client.callTool(
      { name: 'run_evaluation', arguments: { run_id: 'run-1' } },
      { signal: abort.signal, onprogress: () => abort.abort() },
    );
    await expect(waiting).rejects.toThrow();
    await cancelled;
    expect(service.bodiesOf('/evaluations/cancel')).toEqual([{ project_id: 'team/project', call_id: 'run-1' }]);
  });

  it('cancels a run that starts after the call was cancelled', async () => {
    const { service, client } = await connect();
    service.statuses = [{ code: 'running', completed_rows: 0, total_rows: 4 }];
    const abort = new AbortController();
    const waiting = client.callTool({ name: 'run_evaluation', arguments: run }, { signal: abort.signal });
    const respond = service.respond;
    service.respond = (request) => {
      if (request.path.endsWith('/evaluate_model')) {
        abort.abort();
        waiting.catch(() => respond(request));
      } else respond(request);
    };
    await expect(waiting).rejects.toThrow();
    await expect
      .poll(() => service.bodiesOf('/evaluations/cancel'))
      .toEqual([{ project_id: 'team/project', call_id: 'run-1' }]);
  });

  it.each([
    [
      { evaluation: 'Answrs', model: 'm', prompt: 'Hi' },
      'not_found',
      /no evaluation "Answrs"/,
      /nearest evaluations are answers/,
    ],
    [{ ...run, evaluation: 'capitals' }, 'invalid_arguments', /no evaluation but a Dataset/, /kind evaluation/],
    [{ run_id: 'none' }, 'not_found', /no run "none"/, /read_evaluation/],
    [{ run_id: 'r', model: 'm' }, 'invalid_arguments', /cannot be combined with model/, /./],
    [{ evaluation: 'answers' }, 'invalid_arguments', /needs evaluation and model, or run_id/, /./],
    [{ evaluation: 'answers', model: 'm' }, 'invalid_arguments', /needs prompt or messages/, /./],
    [{ ...run, messages: [{ role: 'user' }] }, 'invalid_arguments', /both prompt and messages/, /./],
    [
      { ...run, model: evaluationReference },
      'invalid_arguments',
      /needs no prompt or messages with a stored model, which has its own/,
      /./,
    ],
    [{ evaluation: 'answers', model: evaluationReference }, 'invalid_arguments', /no stored model/, /read_object/],
  ])('refuses %j', async (args, code, message, hint) => {
    const { service, call } = await connect();
    if ('run_id' in args) service.statuses = [{ code: 'not_found' }];
    const { error } = await call('run_evaluation', args);
    expect(error).toMatchObject({ code, message: expect.stringMatching(message), hint: expect.stringMatching(hint) });
    expect(writesOf(service)).toEqual([]);
  });

  it('refuses an evaluation on a dataset without rows', async () => {
    const { service, call } = await connect();
    service.rows = [];
    expect((await call('run_evaluation', { ...run, prompt: 'Hi' })).error.message).toContain('has no rows');
  });
});
