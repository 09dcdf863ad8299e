import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, onTestFinished, test } from 'vitest';
import { sendResponse, startFakeService } from '../support/fake-service.ts';
import { command, emptyHome, run, temporaryFolder } from '../support/heddle.ts';
import { startServiceProcess } from '../support/service-process.ts';

/** A queue of `count` recorded calls, numbered; the last has no recorded call fields at all. */
async function queueOf(count: number): Promise<Record<string, string>> {
  const folder = temporaryFolder();
  const environment = emptyHome(folder);
  const lines = Array.from({ length: count }, (_, number) => {
    const at = new Date(Date.UTC(2026, 0, 1, 0, number)).toISOString();
    return JSON.stringify({
      call_id: `call-${number}`,
      call_op_name: 'answer',
      call_trace_id: `trace-${number}`,
      call_started_at: at,
      display_fields: ['inputs.question', 'output.texts[1]', 'output.nothing'],
      call: { inputs: { question: `Question ${number}?` }, output: { texts: ['no', `x`.repeat(1000)] } },
    });
  });
  writeFileSync(join(folder, 'items.jsonl'), lines.join('\n'));
  const load = ['service', 'import', join(folder, 'items.jsonl'), '--project', 'demo/support', '--queue', 'q'];
  expect((await run(load, environment)).code).toBe(0);
  return environment;
}

type Mode = 'legacy' | { pin: string };

async function connect(env: Record<string, string>, mode: Mode = 'legacy', answer?: 'accept' | 'decline') {
  const questions: string[] = [];
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    { versionNegotiation: { mode }, ...(answer && { capabilities: { elicitation: { form: {} } } }) },
  );
  if (answer) {
    client.setRequestHandler('elicitation/create', ({ params }) => {
      questions.push(params.message);
      return answer === 'accept' ? { action: 'accept', content: { confirm: true } } : { action: 'decline' };
    });
  }
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [command], env }));
  onTestFinished(() => client.close());
  // biome-ignore lint/suspicious/noExplicitAny: tests look into results of every shape
  const call = async (name: string, args: Record<string, unknown>): Promise<any> => {
    const result = await client.callTool({ name, arguments: args });
    const [block] = result.content;
    const text = block?.type === 'text' ? block.text : '';
    return result.isError
      ? { error: JSON.parse(text.split('\n').at(-1)!) }
      : { ...(result.structuredContent as object), text };
  };
  return { client, call, questions };
}

interface Item {
  id: string;
  annotation_state: string;
  call_values: Record<string, string>;
}

test('50 items are seen, judged and moved in two calls, and the same again changes nothing', async () => {
  const { call } = await connect(await queueOf(50));
  const page = await call('query_queue_items', { queue_id: 'q', include_call: true, max_value_chars: 30 });
  expect(page.items).toHaveLength(50);
  expect(page.items[7].call_values).toEqual({
    'inputs.question': 'Question 7?',
    'output.texts[1]': `${'x'.repeat(30)}…[+970 characters]`,
  });
  expect(page.text).toContain('Question 7?');

  const judged = {
    queue_id: 'q',
    confirm: true,
    items: page.items.map(({ id }: Item, index: number) => ({
      item_id: id,
      annotation_state: index % 2 ? 'completed' : 'skipped',
      feedback: { name: 'helpful', value: { score: index } },
    })),
  };
  const first = await call('update_queue_items', judged);
  expect(first.counts).toEqual({ done: 50 });
  const second = await call('update_queue_items', judged);
  expect(second.counts).toEqual({ done: 50 });
  const ids = (result: { items: { feedback_id: string }[] }) => result.items.map(({ feedback_id }) => feedback_id);
  expect(ids(second)).toEqual(ids(first));
  const expecting = judged.items.map((change: object) => ({ ...change, expected_state: 'unstarted' }));
  expect((await call('update_queue_items', { ...judged, items: expecting })).counts).toEqual({ unchanged: 50 });
  const third = await call('update_queue_items', {
    ...judged,
    items: judged.items.map(({ feedback: _, ...rest }: { feedback: unknown }) => rest),
  });
  expect(third.counts).toEqual({ unchanged: 50 });

  const after = await call('query_queue_items', { queue_id: 'q' });
  expect(after.state_counts).toEqual({ skipped: 25, completed: 25 });
  const queues = await call('list_queues', { name: 'q' });
  expect(queues.queues).toMatchObject([{ id: 'q', total_items: 50, completed_items: 50 }]);
});

test('two people who judge alike are two, and each may repeat', async () => {
  const environment = await queueOf(1);
  const accounts = ['ada', 'bob'].map(async (name) => {
    const { stdout } = await run(['service', 'add-user', name], environment);
    const password = /^password: *(\S+)$/m.exec(stdout)![1]!;
    return { HEDDLE_USERNAME: name, HEDDLE_PASSWORD: password };
  });
  const { url } = await startServiceProcess(environment);
  const feedbackOf = async (account: Record<string, string>): Promise<string> => {
    const { call } = await connect({
      ...environment,
      ...account,
      HEDDLE_BASE_URL: url,
      HEDDLE_PROJECT: 'demo/support',
    });
    const { items } = await call('query_queue_items', { queue_id: 'q' });
    const feedback = { name: 'helpful', value: true };
    const changes = [{ item_id: items[0].id, annotation_state: 'completed', feedback }];
    return (await call('update_queue_items', { queue_id: 'q', items: changes })).items[0].feedback_id;
  };
  const [ada, bob] = await Promise.all(accounts);
  const first = await feedbackOf(ada!);
  expect(first).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(await feedbackOf(bob!)).not.toBe(first);
  expect(await feedbackOf(ada!)).toBe(first);
});

test('a dry run changes nothing; each refusal stands on its item with its reason', async () => {
  const { call } = await connect(await queueOf(4));
  const { items } = await call('query_queue_items', { queue_id: 'q' });
  const [a, b, c] = items.map(({ id }: Item) => id);
  const changes = (expected?: string) => [
    { item_id: a, annotation_state: 'completed' },
    { item_id: b, annotation_state: 'in_progress', ...(expected && { expected_state: expected }) },
    { item_id: 'nowhere', annotation_state: 'skipped' },
  ];
  const dry = await call('update_queue_items', { queue_id: 'q', dry_run: true, items: changes() });
  expect(dry).toMatchObject({ dry_run: true, counts: { done: 2, refused: 1 } });
  expect((await call('query_queue_items', { queue_id: 'q' })).state_counts).toEqual({ unstarted: 4 });

  const real = await call('update_queue_items', { queue_id: 'q', items: changes('completed') });
  expect(real.items).toMatchObject([
    { item_id: a, result: 'done', annotation_state: 'completed' },
    { item_id: b, result: 'refused', error: { code: 'conflict' } },
    { item_id: 'nowhere', result: 'refused', error: { code: 'not_found' } },
  ]);
  const back = await call('update_queue_items', {
    queue_id: 'q',
    items: [{ item_id: a, annotation_state: 'in_progress' }],
  });
  expect(back.items[0]).toMatchObject({
    result: 'refused',
    error: { message: expect.stringContaining('cannot follow') },
  });
  const twice = [
    { item_id: c, annotation_state: 'skipped' },
    { item_id: c, annotation_state: 'completed' },
  ];
  expect(await call('update_queue_items', { queue_id: 'q', items: twice })).toMatchObject({
    error: { code: 'invalid_arguments' },
  });
});

test.each<[string, Mode]>([
  ['the older era', 'legacy'],
  ['2026-07-28', { pin: '2026-07-28' }],
])('above 20 items the person is asked, in %s', async (_, mode) => {
  const environment = await queueOf(25);
  const change = async (answer?: 'accept' | 'decline') => {
    const { call, questions } = await connect(environment, mode, answer);
    const { items } = await call('query_queue_items', { queue_id: 'q' });
    const changes = items.map(({ id }: Item) => ({ item_id: id, annotation_state: 'completed' }));
    const result = await call('update_queue_items', { queue_id: 'q', items: changes });
    return { result, questions, state_counts: (await call('query_queue_items', { queue_id: 'q' })).state_counts };
  };
  const unable = await change();
  expect(unable.result.error).toMatchObject({
    code: 'invalid_arguments',
    hint: expect.stringContaining('confirm: true'),
  });
  expect(unable.state_counts).toEqual({ unstarted: 25 });

  const declined = await change('decline');
  expect(declined.questions).toEqual(['Change 25 items of queue q to completed?']);
  expect(declined.result.error.code).toBe('cancelled');
  expect(declined.state_counts).toEqual({ unstarted: 25 });

  const accepted = await change('accept');
  expect(accepted.questions).toEqual(['Change 25 items of queue q to completed?']);
  expect(accepted.result.counts).toEqual({ done: 25 });
});

test('one recorded call, whole and by paths', async () => {
  const { call } = await connect(await queueOf(2));
  expect(await call('read_call', { call_id: 'call-1' })).toMatchObject({
    call: { id: 'call-1', op_name: 'answer', inputs: { question: 'Question 1?' } },
  });
  const parts = await call('read_call', { call_id: 'call-1', paths: ['inputs.question', 'output.none', 'toString'] });
  expect(parts.values).toEqual({ 'inputs.question': 'Question 1?' });
  expect(await call('read_call', { call_id: 'nowhere' })).toMatchObject({ error: { code: 'not_found' } });
});

test('what create_evaluation and run_inference take is listed', async () => {
  const { call } = await connect(emptyHome(temporaryFolder()));
  const { objects } = await call('list_objects', { kind: 'dataset' });
  expect(objects).toMatchObject([{ object_id: 'tickets', version_index: 0 }]);
  const created = await call('create_evaluation', { name: 'From the list', dataset: objects[0].reference });
  expect(created.version_index).toBe(0);
  expect((await call('list_objects', { kind: 'evaluation' })).objects).toMatchObject([
    { object_id: 'from_the_list', reference: created.evaluation_ref },
  ]);
  expect((await call('list_objects', { kind: 'model' })).objects).toMatchObject([{ id: 'heddle/echo' }]);
  const scorers = await call('list_objects', { kind: 'scorer', limit: 1 });
  expect(scorers).toMatchObject({ objects: [{}], next_offset: 1 });
});

test('prompts name tools that exist, and complete their arguments', async () => {
  const { client } = await connect(emptyHome(temporaryFolder()));
  const names = (await client.listTools()).tools.map(({ name }) => name);
  const { prompts } = await client.listPrompts();
  expect(prompts.map(({ name }) => name)).toEqual(['triage_queue', 'set_up_evaluation']);
  const given = {
    queue_id: 'support-triage',
    rubric: 'Is it kind?',
    goal: 'Which answers help?',
    model: 'heddle/echo',
  };
  for (const { name } of prompts) {
    const { messages } = await client.getPrompt({ name, arguments: given });
    const text = messages.map(({ content }) => (content.type === 'text' ? content.text : '')).join('\n');
    const mentioned = [...text.matchAll(/\b(?:query|read|run|update|list|create)_[a-z_]+\b/g)].map(([word]) => word);
    expect(mentioned.length).toBeGreaterThan(2);
    for (const word of mentioned) expect(names).toContain(word);
  }
  const completed = async (prompt: string, name: string, value: string) =>
    (await client.complete({ ref: { type: 'ref/prompt', name: prompt }, argument: { name, value } })).completion.values;
  expect(await completed('triage_queue', 'queue_id', 'sup')).toEqual(['support-triage']);
  expect(await completed('triage_queue', 'state', 'un')).toEqual(['unstarted']);
  expect(await completed('triage_queue', 'model', '')).toEqual(['heddle/echo']);
  expect(await completed('triage_queue', 'project_id', 'd')).toEqual(['demo/support']);
  expect(await completed('set_up_evaluation', 'dataset', 'tick')).toEqual([
    'weave:///demo/support/object/tickets:latest',
  ]);
  await expect(client.getPrompt({ name: 'triage_queue', arguments: {} })).rejects.toThrow('needs queue_id');
});

test('a queue and a call can be read as resources', async () => {
  const { client } = await connect(await queueOf(3));
  const { resourceTemplates } = await client.listResourceTemplates();
  expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
    'heddle://{entity}/{project}/queues/{queue_id}',
    'heddle://{entity}/{project}/calls/{call_id}',
  ]);
  const read = async (uri: string) => {
    const [content] = (await client.readResource({ uri })).contents;
    return JSON.parse((content as { text: string }).text);
  };
  expect(await read('heddle://demo/support/queues/q')).toMatchObject({ id: 'q', total_items: 3, completed_items: 0 });
  expect(await read('heddle://demo/support/calls/call-2')).toMatchObject({ inputs: { question: 'Question 2?' } });
  await expect(read('heddle://demo/support/calls/nowhere')).rejects.toMatchObject({ code: expect.any(Number) });
  await expect(read('heddle://demo/support/other/x')).rejects.toMatchObject({ code: expect.any(Number) });
});

const everyTool = [
  'list_queues',
  'query_queue_items',
  'read_call',
  'update_queue_items',
  'list_objects',
  'run_inference',
  'create_evaluation',
];

test('read-only offers what changes nothing; a list of tools or groups offers those', async () => {
  const home = emptyHome(temporaryFolder());
  const offered = async (extra: Record<string, string>) => {
    const { client } = await connect({ ...home, ...extra });
    const { prompts } = await client.listPrompts();
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    const mentioned =
      JSON.stringify(tools).match(/\b(?:query|read|run|update|list|create)_[a-z]+(?:_[a-z]+)?\b/g) ?? [];
    // What is said to a model names no tool that it cannot call.
    for (const word of mentioned.filter((candidate) => everyTool.includes(candidate))) expect(names).toContain(word);
    return [names, prompts.map(({ name }) => name)];
  };
  expect(await offered({ HEDDLE_READ_ONLY: 'true' })).toEqual([
    ['list_queues', 'query_queue_items', 'read_call', 'list_objects'],
    [],
  ]);
  expect(await offered({ HEDDLE_TOOLS: 'evaluation,list_queues' })).toEqual([
    ['list_queues', 'list_objects', 'create_evaluation'],
    ['set_up_evaluation'],
  ]);
  const wrong = await run(['serve', '--tools', 'queues'], home);
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('neither a tool nor a group') });
});

test('a service without an operation is told apart from a missing object, with the tools that remain', async () => {
  const service = await startFakeService();
  service.respond = (request) => sendResponse(request, 404, { detail: 'Not Found' });
  const { call } = await connect(emptyHome(temporaryFolder(), service.environment));
  const { error } = await call('list_queues', {});
  expect(error).toMatchObject({ code: 'unsupported', status: 404 });
  expect(error.hint).toContain('query_queue_items, read_call, update_queue_items, list_objects, run_inference');
  expect(error.hint).not.toContain('list_queues');
});

test('hints are right', async () => {
  const { client } = await connect(emptyHome(temporaryFolder()));
  const { tools } = await client.listTools();
  const hints = tools.map(({ name, annotations }) => [
    name,
    annotations?.readOnlyHint,
    annotations?.destructiveHint,
    annotations?.idempotentHint,
    annotations?.openWorldHint,
  ]);
  expect(hints).toEqual([
    ['list_queues', true, false, true, false],
    ['query_queue_items', true, false, true, false],
    ['read_call', true, false, true, false],
    ['update_queue_items', false, false, true, false],
    ['list_objects', true, false, true, false],
    ['run_inference', false, false, false, true],
    ['create_evaluation', false, false, true, false],
  ]);
});
