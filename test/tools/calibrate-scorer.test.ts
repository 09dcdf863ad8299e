import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import { listen } from '../../src/core/http/listen.ts';
import { connectClient } from '../support/client.ts';
import { importItems } from '../support/import-items.ts';
import { onEnd } from '../support/on-end.ts';
import { startScriptedModel } from '../support/scripted-model.ts';

const project_id = 'demo/support';

/** People pass every other one; the judge also passes each tenth that people fail. */
const isGood = (n: number): boolean => n % 2 === 0;
const judgePasses = (n: number): boolean => isGood(n) || n % 10 === 1;

/** Starts heddle with a queue of calls and a scripted judge, whose replies can be broken. */
async function connect(
  options: {
    reply?: (n: number) => string;
    calls?: number;
    failed?: number[];
    running?: number[];
    environment?: object;
  } = {},
) {
  const reply = options.reply ?? ((n: number) => JSON.stringify({ reasoning: `Read ${n}.`, score: judgePasses(n) }));
  const model = await startScriptedModel(({ messages }) =>
    reply(Number(/#(\d+)/.exec(messages.at(-1)!.content)?.[1] ?? 0)),
  );
  const environment = await importItems(
    Array.from({ length: options.calls ?? 60 }, (_, n) => ({
      call_id: `call-${String(n).padStart(2, '0')}`,
      call_op_name: 'answer',
      call_trace_id: `trace-${n}`,
      display_fields: ['output'],
      call_started_at: '2026-01-12T09:00:00.000Z',
      ...(!options.running?.includes(n) && { call_ended_at: '2026-01-12T09:00:01.000Z' }),
      call: options.failed?.includes(n)
        ? { inputs: { question: 'Why?' }, output: null, exception: 'KeyError: rate_plan' }
        : { inputs: { question: 'Why?' }, output: `#${n}${' because'.repeat(n % 7)}` },
    })),
  );
  const client = await connectClient({
    ...environment,
    ...options.environment,
    HEDDLE_MODEL_PROVIDER_URL: model.url,
    HEDDLE_PROJECT: project_id,
  });
  const judge = { name: 'Good', kind: 'llm_judge', model: 'judge', prompt: '{question} {output}' };
  const created = await client.call('create_scorer', judge);
  expect(created.error).toBeUndefined();
  /** Records values of the field good by the user, or by the agent. */
  const judgeCalls = async (valueOfCall: (n: number) => unknown, numbers = [...Array(60).keys()], by_user = true) => {
    const items = numbers.map((n) => ({
      call_id: `call-${String(n).padStart(2, '0')}`,
      judgements: { good: valueOfCall(n) },
    }));
    const { error } = await client.call('update_queue_items', { queue_id: 'q', items, by_user, confirm: true });
    expect(error).toBeUndefined();
  };
  return { ...client, asked: model.asked, scorer_ref: created.scorer_ref as string, judgeCalls };
}

const calibration = { scorer: 'Good', queue_id: 'q', field: 'good' };

describe('calibrate_scorer', () => {
  it('says in a dry run what it would measure and ask, and asks nothing', async () => {
    const heddle = await connect();
    await heddle.judgeCalls(isGood);
    const result = await heddle.call('calibrate_scorer', { ...calibration, dry_run: true });
    expect(result).toMatchObject({
      status: 'dry_run',
      scorer_ref: heddle.scorer_ref,
      judge_requests: 60,
      held_out: { n: 33 },
      tuning: { n: 27 },
    });
    expect(heddle.asked).toHaveLength(0);
  });

  it('measures the judge on the held-out part, and lists what to improve on the other', async () => {
    const heddle = await connect();
    await heddle.judgeCalls(isGood);
    const result = await heddle.call('calibrate_scorer', calibration);
    expect(heddle.asked).toHaveLength(60);
    expect(result).toMatchObject({
      status: 'calibrated',
      judge_requests: 60,
      judge: 'κ 0.81 (0.62 to 1), n 33',
      held_out: {
        n: 33,
        percent: 90.9,
        sensitivity: { value: true, rate: 1, n: 18 },
        specificity: { value: false, rate: 0.8, n: 15 },
        classes: ['true', 'false'],
        confusion: [
          [18, 0],
          [3, 12],
        ],
      },
      tuning: { n: 27, percent: 88.9 },
      warnings: ['Only 33 calls held out: the intervals are wide.'],
    });
    expect(result.tuning.disagreements).toEqual(
      ['call-11', 'call-21', 'call-31'].map((call_id) => ({
        call_id,
        people: false,
        judge: true,
        reasoning: `Read ${Number(call_id.slice(5))}.`,
      })),
    );
    for (const part of [
      'judge: κ 0.81 (0.62 to 1), n 33',
      'right on true (sensitivity) 100%',
      'to tune on: 27 calls',
    ]) {
      expect(result.text).toContain(part);
    }
  });

  it('asks nothing twice, and only what people have judged since', async () => {
    const heddle = await connect();
    await heddle.judgeCalls(isGood, [...Array(40).keys()]);
    const first = await heddle.call('calibrate_scorer', calibration);
    const again = await heddle.call('calibrate_scorer', calibration);
    expect([first.judge_requests, again.judge_requests, again.kept]).toEqual([40, 0, 40]);
    expect(again.judge).toBe(first.judge);
    await heddle.judgeCalls(isGood, [40, 41]);
    expect(await heddle.call('calibrate_scorer', calibration)).toMatchObject({ judge_requests: 2, kept: 40 });
    expect(heddle.asked).toHaveLength(42);
  });

  it('does not count opinions of agents, and takes gold where people differ', async () => {
    const heddle = await connect();
    await heddle.judgeCalls(isGood, [...Array(30).keys()], false);
    const dry = await heddle.call('calibrate_scorer', { ...calibration, dry_run: true });
    expect(dry.warnings[0]).toBe('No person has judged the field; opinions of agents do not count.');
    const refused = await heddle.call('calibrate_scorer', calibration);
    expect(refused.error).toMatchObject({ code: 'invalid_request' });
    expect(refused.error.message).toContain('no call of the queue has a value of people for "good"');
    const byAgent = await heddle.call('calibrate_scorer', { ...calibration, expected: 'ada' });
    expect(byAgent.error).toMatchObject({
      message: 'Opinions of agents do not count, and no person has judged the field as "ada".',
      hint: 'No person has judged the field at all.',
    });
    await heddle.judgeCalls(isGood, [0, 1, 2, 3, 4, 5]);
    const gold = [{ call_id: 'call-02', gold: { good: false } }];
    expect((await heddle.call('update_queue_items', { queue_id: 'q', items: gold })).error).toBeUndefined();
    const whole = { ...calibration, held_out: { share: 1 } };
    expect((await heddle.call('calibrate_scorer', whole)).held_out).toMatchObject({
      n: 6,
      classes: ['false', 'true'],
      confusion: [
        [2, 2],
        [0, 2],
      ],
    });
    const onlyGold = await heddle.call('calibrate_scorer', { ...whole, expected: 'gold' });
    expect(onlyGold.held_out).toMatchObject({ n: 1, percent: 0 });
    const unknown = await heddle.call('calibrate_scorer', { ...whole, expected: 'nobody' });
    expect(unknown.error.message).toContain('no person has judged the field as "nobody"');
  });

  it('refuses a judge that needs what no call has, and says that there is no gold, in a dry run too', async () => {
    const heddle = await connect({ calls: 4 });
    await heddle.judgeCalls(isGood, [0, 1, 2, 3]);
    const judge = { name: 'Based', kind: 'llm_judge', model: 'judge', prompt: '{output} {questio}' };
    await heddle.call('create_scorer', judge);
    for (const dry_run of [true, false]) {
      const { error } = await heddle.call('calibrate_scorer', { ...calibration, scorer: 'Based', dry_run });
      expect(error).toMatchObject({
        code: 'invalid_request',
        message: expect.stringContaining('because the queue has no column for {questio}.'),
        hint: 'The nearest columns to questio are question. Write {{ and }} for literal braces. Store the scorer again under its name, with {output} for the output of a call, and the names of its inputs as other placeholders.',
      });
    }
    const equals = { name: 'Equal', kind: 'equals', expected: 'answer' };
    await heddle.call('create_scorer', equals);
    const { error } = await heddle.call('calibrate_scorer', { ...calibration, scorer: 'Equal' });
    expect(error).toMatchObject({
      message: 'Nothing was started: the scorer equal needs the column answer, which the queue does not have.',
      hint: 'The nearest columns to answer are question. Store the scorer again under its name, with an input of the calls.',
    });
    const gold = await heddle.call('calibrate_scorer', { ...calibration, expected: 'gold', dry_run: true });
    expect(gold.warnings[0]).toBe('No call has gold for the field; opinions of agents do not count.');
    expect(heddle.asked).toHaveLength(0);
  });

  it('takes me for the user', async () => {
    const heddle = await connect({ calls: 4 });
    const expected = { ...calibration, expected: 'me', held_out: { share: 1 }, dry_run: true };
    await heddle.judgeCalls(isGood, [0, 1], false);
    expect((await heddle.call('calibrate_scorer', expected)).error.message).toMatch(/^No judgement is yours/);
    await heddle.judgeCalls(isGood, [0, 1, 2]);
    expect(await heddle.call('calibrate_scorer', expected)).toMatchObject({ held_out: { n: 3 } });
  });

  it('refuses a judge whose model is not listed before anything is asked, in a dry run too', async () => {
    const heddle = await connect();
    await heddle.judgeCalls(isGood);
    await heddle.call('create_scorer', { name: 'Fair', kind: 'llm_judge', model: 'judg', prompt: '{output}' });
    for (const dry_run of [true, false]) {
      const { error } = await heddle.call('calibrate_scorer', { ...calibration, scorer: 'Fair', dry_run });
      expect(error.message).toBe(
        'Nothing was asked. Inference does not list the model judg. The nearest models are judge, small, heddle/echo.',
      );
    }
    // Only create_scorer has asked whether the model replies.
    expect(heddle.asked).toHaveLength(1);
  });

  it('asks the user before more than 100 requests', async () => {
    const heddle = await connect({ calls: 102 });
    await heddle.judgeCalls(isGood, [...Array(100).keys()]);
    await heddle.judgeCalls(isGood, [100, 101]);
    const refused = await heddle.call('calibrate_scorer', calibration);
    expect(refused.error.message).toContain(
      "102 requests to judges (up to 102 more if replies of judges do not fit) need the user's agreement",
    );
    expect(heddle.asked).toHaveLength(0);
    expect(await heddle.call('calibrate_scorer', { ...calibration, confirm: true })).toMatchObject({
      judge_requests: 102,
    });
  });

  it('says why the judge gave no score, and leaves those calls out', async () => {
    const broken = await connect({ reply: () => 'No idea.' });
    await broken.judgeCalls(isGood, [...Array(10).keys()]);
    const refused = await broken.call('calibrate_scorer', calibration);
    expect(refused.error.message).toContain('The reply of the judge is not JSON, also when it was asked again.');
    const partly = await connect({ reply: (n) => (n === 4 ? 'No idea.' : JSON.stringify({ score: isGood(n) })) });
    await partly.judgeCalls(isGood);
    const result = await partly.call('calibrate_scorer', calibration);
    expect(result.held_out.n + result.tuning.n).toBe(59);
    expect(result.warnings.at(-1)).toBe(
      '1 call left out: the judge gave no score, mostly for this reason: The reply of the judge is not JSON, also when it was asked again.',
    );
  });

  it('ends early where every reply fails alike, and says what that used', async () => {
    const heddle = await connect({ reply: () => 'No idea.' });
    await heddle.judgeCalls(isGood);
    const { error } = await heddle.call('calibrate_scorer', calibration);
    const { length } = heddle.asked;
    // Up to eight calls are judged at a time, each with two requests.
    expect(length).toBeGreaterThanOrEqual(20);
    expect(length).toBeLessThanOrEqual(34);
    expect(error.message).toBe(
      `The scorer good gave no call of the held-out part a score, mostly for this reason: The reply of the judge is not JSON, also when it was asked again. Used: ${length} requests to judges, judges ${10 * length} tokens.`,
    );
  });

  it('counts the requests that were repeated', async () => {
    const heddle = await connect({ reply: (n) => (n === 4 ? 'No idea.' : JSON.stringify({ score: isGood(n) })) });
    await heddle.judgeCalls(isGood);
    expect(await heddle.call('calibrate_scorer', calibration)).toMatchObject({ judge_requests: 61, judge_tokens: 610 });
  });

  it('says what calibration it replaces, and leaves running calls out', async () => {
    const heddle = await connect({ running: [1, 3] });
    await heddle.judgeCalls(isGood);
    const first = await heddle.call('calibrate_scorer', calibration);
    expect(first).toMatchObject({
      judge_requests: 58,
      warnings: [expect.anything(), '2 calls left out: not ended yet.'],
    });
    expect(first).not.toHaveProperty('replaces');
    const second = await heddle.call('calibrate_scorer', { ...calibration, held_out: { share: 1 } });
    expect(second.replaces).toBe(first.judge);
    expect(second.text).toContain(`\nreplaces: ${first.judge}\n`);
  });

  it('leaves failed calls out, and says what the judge took', async () => {
    const heddle = await connect({ failed: [1, 5, 9] });
    await heddle.judgeCalls(isGood);
    const dry = await heddle.call('calibrate_scorer', { ...calibration, dry_run: true });
    expect(dry).toMatchObject({ judge_requests: 57, held_out: { n: 31 }, tuning: { n: 26 } });
    const result = await heddle.call('calibrate_scorer', calibration);
    expect(heddle.asked).toHaveLength(57);
    expect(result).toMatchObject({
      judge_requests: 57,
      judge_tokens: 570,
      warnings: [
        'Only 31 calls held out: the intervals are wide.',
        '3 calls left out: the call itself failed, so no judge is asked about it.',
      ],
    });
    expect(result.text).toContain(' calibrated; 57 requests to judges, judges 570 tokens.');
    const again = await heddle.call('calibrate_scorer', calibration);
    expect(again).toMatchObject({ judge_requests: 0, kept: 57, held_out: { n: 31 } });
  });

  it('refuses a field whose values the scale of the judge does not have, before anything is asked', async () => {
    const heddle = await connect();
    await heddle.judgeCalls((n) => (isGood(n) ? 'polite' : 'rude'));
    const { error } = await heddle.call('calibrate_scorer', calibration);
    expect(error).toMatchObject({ code: 'invalid_arguments' });
    expect(error.message).toContain('People gave values like "polite", none of which the scale of the scorer has');
    expect(heddle.asked).toHaveLength(0);
  });
});

describe('calibrate_scorer with a program as judge', () => {
  /** Calibrates a program that answers with `answerTo` the number of each call, on calls with these values of people. */
  const calibrate = async (
    valueOfCall: (n: number) => unknown,
    answerTo: (n: number) => unknown,
    fields?: object[],
  ) => {
    const server = createServer(async (request, response) => {
      let text = '';
      for await (const chunk of request) text += chunk;
      response.end(JSON.stringify(answerTo(Number(/#(\d+)/.exec(JSON.parse(text).output)![1]))));
    });
    onEnd(() => server.close());
    const url = await listen(server, 0, '127.0.0.1');
    const heddle = await connect({ environment: { HEDDLE_SCORER_ENDPOINTS: `tone=${url}` } });
    if (fields) await heddle.call('update_queue', { queue_id: 'q', add_fields: fields });
    await heddle.judgeCalls(valueOfCall);
    await heddle.call('create_scorer', { name: 'Tone', kind: 'endpoint', options: { endpoint: 'tone' } });
    return heddle.call('calibrate_scorer', { ...calibration, scorer: 'Tone' });
  };
  const wordFor = (isTrue: boolean): string => (isTrue ? 'fine' : 'poor');

  it.each([
    ['the only member beside reasoning', (word: string) => ({ verdict: word, reasoning: 'Read.' })],
    ['the member with the name of the field', (word: string) => ({ good: word, score: 0.5, polite: true })],
  ])('takes %s of its answer as the verdict', async (_, answer) => {
    const result = await calibrate(
      (n) => wordFor(isGood(n)),
      (n) => answer(wordFor(judgePasses(n))),
    );
    expect(result).toMatchObject({ status: 'calibrated', judge: 'κ 0.81 (0.62 to 1), n 33' });
    expect(result.tuning.disagreements[0]).toMatchObject({ people: 'poor', judge: 'fine' });
  });

  it.each([
    ['of a queue with this field', [{ name: 'good', type: 'boolean' }], 'good (boolean)'],
    ['of a queue without fields', undefined, 'good'],
  ])('refuses to measure answers that are no values of the field, %s', async (_, fields, named) => {
    const { error } = await calibrate(isGood, (n) => ({ verdict: wordFor(judgePasses(n)) }), fields);
    expect(error).toMatchObject({
      code: 'invalid_request',
      message: `Nothing was measured: the scorer tone answers like {"verdict":"fine"}, which has no value of the field ${named}.`,
      hint: 'Store the scorer again under its name, so that it answers with a value of the field, or with an object whose member score is one. create_scorer takes the values of the field as scale of an llm_judge.',
    });
  });
});

describe('results of a judge', () => {
  /** Runs an evaluation with the judge, whose rows it passes to three quarters. */
  const evaluate = async (heddle: Awaited<ReturnType<typeof connect>>) => {
    const rows = Array.from({ length: 40 }, (_, n) => ({
      question: `#${n % 4 === 3 ? 5 : 2} ${n}`,
      half: n < 20 ? 1 : 2,
    }));
    const { dataset_ref } = await heddle.call('create_dataset', { name: 'Rows', rows });
    const scorers = [heddle.scorer_ref];
    await heddle.call('create_evaluation', { name: 'Answers', dataset: dataset_ref, scorers });
    const run = { evaluation: 'Answers', model: 'heddle/echo', prompt: '{question}' };
    return heddle.call('run_evaluation', run);
  };
  const scoreOf = ({ runs, scorers }: { runs?: { scorers: object[] }[]; scorers?: { scorer: string }[] }) =>
    ((runs?.[0]?.scorers ?? scorers) as { scorer: string }[]).find(({ scorer }) => scorer === 'good.score');

  it('say that it is not calibrated, then what it has shown, with the corrected rate', async () => {
    const heddle = await connect();
    await heddle.judgeCalls(isGood);
    const before = await evaluate(heddle);
    expect(scoreOf(before)).toMatchObject({ pass_rate: 0.75, judge: 'not calibrated', calibrated: false });
    expect(before.text).toContain('judge: not calibrated');
    await heddle.call('calibrate_scorer', calibration);
    const after = await heddle.call('read_evaluation', { run_ids: [before.run_id] });
    expect(scoreOf(after)).toMatchObject({
      pass_rate: 0.75,
      judge: 'κ 0.81 (0.62 to 1), n 33',
      calibrated: true,
      corrected: { rate: 0.6875, interval: [0.453, 0.9007] },
    });
    const { slices } = await heddle.call('read_evaluation', { run_ids: [before.run_id], slice_by: 'half' });
    expect(scoreOf(slices[0])).toMatchObject({
      n: 20,
      judge: 'κ 0.81 (0.62 to 1), n 33',
      corrected: { rate: 0.6875 },
    });
    expect(after.text).toContain('corrected 68.75% (45.3 to 90.1), judge: κ 0.81 (0.62 to 1), n 33');
    const listed = await heddle.call('read_evaluation', { evaluation: 'Answers' });
    expect(scoreOf(listed)).toEqual(expect.objectContaining({ calibrated: true, corrected: expect.any(Object) }));
    const rescored = await heddle.call('run_evaluation', {
      run_id: before.run_id,
      score_again: true,
      scorers: ['Good'],
    });
    expect(scoreOf(rescored)).toMatchObject({ calibrated: true });
  });

  it('say that a judge is not calibrated whose agreement could be chance, and correct nothing', async () => {
    const heddle = await connect({ reply: (n) => JSON.stringify({ reasoning: '', score: n % 4 < 2 }) });
    await heddle.judgeCalls(isGood);
    const result = await heddle.call('calibrate_scorer', calibration);
    expect(result).toMatchObject({ status: 'not calibrated', judge: 'κ -0.02 (-0.36 to 0.31), n 33' });
    expect(result.warnings).toContain(
      'The agreement of the judge with people could be chance, because the interval of κ does not lie above 0. Results of this scorer say that it is not calibrated.',
    );
    const figures = scoreOf(await evaluate(heddle));
    expect(figures).toMatchObject({
      judge: 'not calibrated, could be chance: κ -0.02 (-0.36 to 0.31), n 33',
      calibrated: false,
    });
    expect(figures).not.toHaveProperty('corrected');
  });

  it('say that the calibration has ended when the judge or the guidelines changed', async () => {
    const heddle = await connect();
    await heddle.judgeCalls(isGood);
    await heddle.call('calibrate_scorer', calibration);
    const run = await evaluate(heddle);
    expect(scoreOf(run)).toMatchObject({ calibrated: true });
    const changed = { name: 'Good', kind: 'llm_judge', model: 'judge', prompt: 'Well? {output}' };
    const { scorer_ref } = await heddle.call('create_scorer', changed);
    const scored = await heddle.call('run_evaluation', {
      run_id: run.run_id,
      score_again: true,
      scorers: [scorer_ref],
    });
    expect(scoreOf(scored)).toMatchObject({
      judge: 'not calibrated since its prompt, model or scale changed',
      calibrated: false,
    });
    await heddle.call('update_queue', { queue_id: 'q', guidelines: 'Be stricter.', confirm: true });
    const stale = scoreOf(await heddle.call('read_evaluation', { run_ids: [run.run_id] }));
    expect(stale).toMatchObject({
      judge: 'not calibrated since the guidelines changed; before, κ 0.81 (0.62 to 1), n 33',
      calibrated: false,
    });
    expect(stale).not.toHaveProperty('corrected');
  });
});
