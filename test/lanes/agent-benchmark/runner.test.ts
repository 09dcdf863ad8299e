import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { faultsOfFacts, notDoneIn, numbersIn } from '../../../bench/agent/answer.ts';
import { ChatModel } from '../../../bench/agent/chat-model.ts';
import { jobs } from '../../../bench/agent/jobs/index.ts';
import { type Form, type PlayedJob, type PlayOptions, playJob } from '../../../bench/agent/play-job.ts';
import { report } from '../../../bench/agent/report.ts';
import { StepModel, shownFile, stepFile, writeWhole } from '../../../bench/agent/step-model.ts';
import { listen } from '../../../src/core/http/listen.ts';
import { startServer } from '../../support/client.ts';
import { onEnd } from '../../support/on-end.ts';
import { call, say, startScriptedModel, type Trajectory } from './scripted-model.ts';

const changeOne = jobs.find(({ name }) => name === 'change-one')!;

/** Plays a job in which the user speaks twice; every text counts as one token. */
async function play(trajectory: Trajectory, options: Partial<PlayOptions> = {}) {
  const { model, requests } = await startScriptedModel(trajectory);
  const played = await playJob(changeOne, {
    model,
    form: 'structured',
    countTokens: () => 1,
    startServer: (environment) => startServer(environment).open(),
    ...options,
  });
  return { played, requests };
}

/** Starts a model's server that answers with these statuses in turn; the last one repeats. */
async function startModelServer(statuses: number[]) {
  const authorizations: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    request.resume();
    const status = statuses[Math.min(authorizations.length, statuses.length - 1)]!;
    authorizations.push(request.headers.authorization);
    const body =
      status === 200 ? { choices: [{ message: { role: 'assistant', content: 'Hello.' } }] } : { error: 'no' };
    response.writeHead(status, { 'retry-after': '0' }).end(JSON.stringify(body));
  });
  const baseUrl = await listen(server, 0, '127.0.0.1');
  onEnd(() => void server.close());
  return { baseUrl, authorizations };
}

describe('the agent benchmark', () => {
  it('gives the model the instructions and tools of the built command and what the user says, and nothing else', async () => {
    const { requests } = await play(
      function* () {
        yield* say('Which replies?');
        yield* say('Which one?');
      },
      { startServer: undefined },
    );
    expect(Object.keys(requests[0])).toEqual(['model', 'messages', 'tools']);
    expect(requests[0].messages.map(({ role }: { role: string }) => role)).toEqual(['system', 'user']);
    expect(requests[0].messages[0].content).toMatch(/^heddle works with annotation queues/);
    expect(requests[0].messages[1].content).toMatch(/^In the queue "Tone of replies"/);
    expect(requests[0].tools.map((tool: { function: { name: string } }) => tool.function.name)).toContain(
      'list_queues',
    );
    expect(Object.keys(requests[0].tools[0].function)).toEqual(['name', 'description', 'parameters']);
    expect(requests[1].messages.slice(2)).toEqual([
      { role: 'assistant', content: 'Which replies?' },
      { role: 'user', content: 'I changed my mind on the second one: it is neutral.' },
    ]);
  });

  it.each([
    ['text', /^1 queue from offset 0/],
    ['structured', /^\{"queues":\[\{"id":/],
  ] as const)('shows results as %s', async (form, expected) => {
    const { requests } = await play(
      function* () {
        yield* call('list_queues', { name: 'Tone' });
        yield* say('There it is.');
        yield* say('Yes.');
      },
      { form },
    );
    expect(requests[1].messages.at(-1)).toEqual({
      role: 'tool',
      tool_call_id: 'call_1',
      content: expect.stringMatching(expected),
    });
  });

  it('counts calls, errors of tools, and each text once', async () => {
    const shown: string[] = [];
    const { played } = await play(function* () {
      shown.push(yield* call('remove_queue'));
      shown.push(yield* call('list_queues', '{"name":'));
      shown.push(yield* call('query_queue_items', { queue_id: 'tone' }));
      yield* call('list_queues');
      yield* say('I could not do that.');
      yield* say('Nor that.');
    });
    expect(shown).toEqual([
      expect.stringMatching(/^Unknown tool "remove_queue"/),
      'The arguments are not JSON.',
      expect.stringContaining('"code":"not_found"'),
    ]);
    // Instructions, tools, two messages of the user and four results; six messages and four calls of two texts.
    expect(played).toMatchObject({
      outcome: 'failed',
      calls: 4,
      toolErrors: 3,
      tokensRead: 8,
      resultTokens: 4,
      tokensWritten: 14,
    });
  });

  it('stops a model that makes too many calls', async () => {
    const { played } = await play(function* () {
      for (;;) yield* call('list_queues');
    });
    expect(played).toMatchObject({ outcome: 'failed', faults: ['it was not done after 20 calls'], calls: 20 });
  });

  it('marks a job as broken, not as failed, when the model server fails', async () => {
    const { baseUrl } = await startModelServer([401]);
    const model = new ChatModel({ model: 'm', baseUrl });
    const played = await playJob(changeOne, { model, form: 'text', countTokens: () => 1 });
    expect(played).toMatchObject({
      outcome: 'broken',
      faults: [`${baseUrl}/chat/completions answered with status 401: {"error":"no"}`],
    });
  });

  it('repeats a request to a busy model server, with the key', async () => {
    const { baseUrl, authorizations } = await startModelServer([429, 503, 200]);
    const model = new ChatModel({ model: 'm', baseUrl: `${baseUrl}/`, key: 'secret-key' });
    expect(await model.complete([{ role: 'user', content: 'Hi' }], [])).toEqual({
      role: 'assistant',
      content: 'Hello.',
    });
    expect(authorizations).toEqual(['Bearer secret-key', 'Bearer secret-key', 'Bearer secret-key']);
  });

  it('prints a table for each form, in which only jobs that passed or failed count', () => {
    const played = (job: string, form: Form, outcome: PlayedJob['outcome'], calls: number, faults: string[] = []) => {
      return {
        job,
        form,
        outcome,
        faults,
        calls,
        toolErrors: 1,
        tokensRead: 1000,
        resultTokens: 400,
        tokensWritten: 50,
      };
    };
    const faults = ['one', 'two', 'three', 'four', 'five'];
    expect(
      report([
        played('bulk', 'text', 'passed', 4),
        played('bulk', 'text', 'failed', 7, faults),
        played('summary', 'text', 'passed', 2),
        played('summary', 'text', 'broken', 0, ['no connection']),
        played('compare-runs', 'text', 'not_possible', 0, ['the server has no run_evaluation']),
        played('bulk', 'structured', 'passed', 5),
      ]),
    ).toBe(`Results as text

| job | passed | calls | tool errors | tokens read | of results | tokens written |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
| bulk | 1 of 2 | 5.5 | 1 | 1000 | 400 | 50 |
| summary | 1 of 1, 1 broken | 2 | 1 | 1000 | 400 | 50 |
| compare-runs | 1 not possible with this server | – | – | – | – | – |
| all | 2 of 3, 1 not possible with this server, 1 broken | 7.5 | 2 | 2000 | 800 | 100 |

- bulk failed: one; two; three; and 2 more
- summary broken: no connection

Results as structured

| job | passed | calls | tool errors | tokens read | of results | tokens written |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
| bulk | 1 of 1 | 5 | 1 | 1000 | 400 | 50 |
| all | 1 of 1 | 5 | 1 | 1000 | 400 | 50 |`);
  });

  it('shows somebody who plays the model what is new, and takes their steps', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'heddle-steps-'));
    onEnd(() => rm(folder, { recursive: true, force: true }));
    const model = new StepModel(folder);
    await writeWhole(stepFile(folder, 1), JSON.stringify({ calls: [{ name: 'list_queues', arguments: '{}' }] }));
    await writeWhole(stepFile(folder, 2), JSON.stringify({ say: 'None.' }));
    const tools = [{ type: 'function' as const, function: { name: 'list_queues', parameters: {} } }];
    const asked = [
      { role: 'system' as const, content: 'Queues.' },
      { role: 'user' as const, content: 'How many?' },
    ];
    const called = await model.complete(asked, tools);
    expect(called.tool_calls).toEqual([
      { id: 'call_1_0', type: 'function', function: { name: 'list_queues', arguments: '{}' } },
    ]);
    const result = { role: 'tool' as const, tool_call_id: 'call_1_0', content: '0 queues' };
    expect(await model.complete([...asked, called, result], tools)).toEqual({ role: 'assistant', content: 'None.' });
    const [first, second] = await Promise.all([1, 2].map((step) => readFile(shownFile(folder, step), 'utf8')));
    for (const part of ['Queues.', '{"name":"list_queues","parameters":{}}', 'How many?'])
      expect(first).toContain(part);
    expect(second).toBe('=== result\n0 queues\n');
  });

  it('lists the jobs when it is given an unknown one', async () => {
    const script = fileURLToPath(new URL('../../../bench/agent/run.ts', import.meta.url));
    const args = ['--import', 'tsx', script, '--model', 'm', '--base-url', 'http://127.0.0.1:9', '--jobs', 'sumary'];
    const { code, stderr } = await new Promise<{ code: number | null; stderr: string }>((resolve) => {
      const child = execFile(process.execPath, args, (_error, _stdout, stderr) => {
        resolve({ code: child.exitCode, stderr });
      });
    });
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /^There is no job sumary\. The jobs are: judge-by-rubric, change-one, untouched-only, summary, /,
    );
  });
});

describe('the answer of a model', () => {
  it.each([
    ['ada=27, bob = 7', { ada: 27, bob: 7 }],
    ['First I thought ada=1.\n\n**`ada=27`**, `bob=7.5`\n\nAnything else?', { ada: 27, bob: 7.5 }],
    ['Ada has 27.', {}],
  ])('%j has the numbers %j', (answer, numbers) => {
    expect(numbersIn(answer)).toEqual(numbers);
  });

  it.each([
    ['failed=5, cost=$90.8, operation=`desk.rebook`.', []],
    ['cost=90.78, failed=5, operation=desk.refund\n\nAnything else?', ['operation=desk.rebook but says desk.refund']],
    ['cost=90, operation=desk.rebook', ['cost=90.78 but says 90', 'failed=5 but says nothing']],
  ])('%j is compared with the facts', (answer, faults) => {
    const expected = { cost: 90.78, failed: 5, operation: 'desk.rebook' };
    expect(faultsOfFacts(answer, expected)).toEqual(faults.map((fault) => `the answer should say ${fault}`));
  });

  it.each([
    ['NOT DONE: the queue.\n- **NOT DONE:** the item.\n2. not done: that', [' the queue.', ' the item.', ' that']],
    ['That is NOT DONE: no tool.', []],
  ])('%j says what was not done', (answer, lines) => {
    expect(notDoneIn(answer)).toEqual(lines);
  });
});
