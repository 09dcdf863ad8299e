import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { basic, startTestService, storedIn, type TestService, temporaryData } from '../support/embedded-service.ts';
import { emptyHome, type Finished, run, runAtTerminal, temporaryFolder } from '../support/heddle.ts';
import { type ExpectedCall, type ImportKind, importKinds } from '../support/import-kinds.ts';

const folder = temporaryFolder();
const data = await temporaryData();
const environment = emptyHome(dirname(data), storedIn(data));
let service: TestService;
beforeAll(async () => {
  service = await startTestService({ data });
});

function importFile(
  { file, content, args = [] }: Pick<ImportKind, 'file' | 'content' | 'args'>,
  ...more: string[]
): Promise<Finished> {
  const path = join(folder, file);
  writeFileSync(path, content);
  return run(['import', path, ...args, ...more], environment);
}

// biome-ignore lint/suspicious/noExplicitAny: stored values have every shape
type Stored = any;

async function ask(path: string, body: object): Promise<Stored> {
  const { status, body: result } = await service.send('POST', path, basic, body);
  expect(status, JSON.stringify(result)).toBe(200);
  return result;
}

async function readCalls(project_id: string): Promise<Map<string, Stored>> {
  const text: string = await ask('/calls/stream_query', { project_id });
  const calls =
    text.trim() === ''
      ? []
      : text
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line));
  return new Map(calls.map((call) => [call.id, call]));
}

/** Returns the members of a stored call that an expectation names. */
function named(call: Stored, expected: ExpectedCall): object {
  const facts = { ...call, usage: call.summary?.usage };
  return Object.fromEntries(Object.keys(expected).map((name) => [name, facts[name]]));
}

async function readFeedback(project_id: string, calls: readonly string[]): Promise<Stored[]> {
  const { result } = await ask('/feedback/query', { project_id });
  return result
    .map(({ weave_ref, feedback_type, payload, wb_user_id, creator, created_at }: Stored) => [
      calls.indexOf(weave_ref.slice(weave_ref.lastIndexOf('/') + 1)),
      feedback_type,
      payload.value ?? payload.note ?? payload.output,
      creator ? `${wb_user_id} (${creator})` : wb_user_id,
      created_at,
    ])
    .sort((a: Stored, b: Stored) =>
      JSON.stringify(a.slice(0, 2).concat(a[3])) < JSON.stringify(b.slice(0, 2).concat(b[3])) ? -1 : 1,
    );
}

async function readFields(project_id: string, queue: string): Promise<object> {
  const { status, body } = await service.send('GET', `/annotation_queues/${queue}?project_id=${project_id}`, basic);
  expect(status).toBe(200);
  const refs = body.queue.scorer_refs;
  const { vals } = refs.length === 0 ? { vals: [] } : await ask('/refs/read_batch', { refs });
  return Object.fromEntries(vals.map(({ name, field_schema }: Stored) => [name, field_schema]));
}

describe('heddle import', () => {
  it('is tested with at least 31 kinds of files', () => {
    expect(importKinds.length).toBeGreaterThanOrEqual(31);
    expect(new Set(importKinds.map(({ title }) => title)).size).toBe(importKinds.length);
  });

  it.each(importKinds.map((kind, index) => ({ ...kind, index })))('reads $title', async ({ index, ...kind }) => {
    const project = `kinds/k${index}`;
    const target = ['--project', project, '--queue', 'q'];
    const first = await importFile(kind, ...target);
    if (kind.refused) {
      expect(first).toMatchObject({ code: 1, stdout: '' });
      expect(first.stderr).toMatch(kind.refused);
      return;
    }
    const { items = [], steps = [], feedback = [], fields = {} } = kind;
    const judged =
      feedback.length === 0
        ? ''
        : `, ${feedback.length} judgement${feedback.length === 1 ? ' or score' : 's or scores'}`;
    expect(first, first.stderr).toMatchObject({ code: 0, stdout: `${items.length} added, 0 duplicates${judged}\n` });
    if (kind.says) expect(first.stderr).toMatch(kind.says);

    const { body: page } = await service.query('q', { project_id: project });
    const ids: string[] = page.items.map(({ call_id }: Stored) => call_id);
    const calls = await readCalls(project);
    const found = page.items.map((item: Stored, at: number) => {
      const facts = { ...calls.get(item.call_id), show: item.display_fields, state: item.annotation_state };
      return named(facts, items[at] ?? {});
    });
    expect(found).toEqual(items);
    const others = [...calls.values()].filter(({ id }) => !ids.includes(id));
    expect(others.map((call, at) => named(call, steps[at] ?? {}))).toEqual(steps);
    const stored = await readFeedback(project, ids);
    expect(stored.map((entry, at) => entry.slice(0, feedback[at]?.length))).toEqual(feedback);
    expect(await readFields(project, 'q')).toEqual(fields);

    const again = await importFile(kind, ...target);
    expect(again).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^0 added, \d+ duplicates?(, 0 judgements or scores)?\n$/),
    });
    expect((await readCalls(project)).size).toBe(calls.size);
    expect(await readFeedback(project, ids)).toEqual(stored);
  });

  it('names the fields that a queue gets which exists', async () => {
    const rows = { file: 'rows.csv', content: 'question,answer\nWhy?,Because.\n' };
    const target = ['--project', 'team/growing', '--queue', 'rows'];
    const first = await importFile(rows, ...target, '--field', 'helpful');
    expect(first.stderr).not.toContain('field');
    const grown = await importFile(rows, ...target, '--field', 'helpful', '--field', 'tone:kind|rude');
    expect([grown.stdout, grown.stderr]).toEqual([
      '0 added, 1 duplicate\n',
      expect.stringMatching(/^The queue rows has a new field to judge: tone\.\n/),
    ]);
    expect((await importFile(rows, ...target, '--field', 'tone:kind|rude')).stderr).not.toContain('field');
    const refused = await importFile(rows, ...target, '--field', 'note:text');
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('Its name cannot be note, which stands for the notes of annotators.');
  });

  it('takes the queue and the project from the name of the file, and says how to judge', async () => {
    const file = { file: 'Support-answers (1).csv', content: 'question,answer\nWhy?,Because.\n' };
    expect(await importFile(file, '--guidelines', 'Be strict.')).toEqual({
      code: 0,
      stdout: '1 added, 0 duplicates\n',
      stderr: [
        'Inputs: question. Output: answer.',
        "The queue has no field to judge: the board asks for one, or import the file again with --field 'helpful:boolean'.",
        'Judge them in a browser: node dist/heddle.js board Support-answers-1 --project local/Support-answers-1',
        'Save the judgements: node dist/heddle.js queue export Support-answers-1 --project local/Support-answers-1 --format csv --wide --values --out Support-answers-1-judgements.csv',
        'Clients see it once local/Support-answers-1 is their project: `node dist/heddle.js config set project local/Support-answers-1`, or for one client `node dist/heddle.js setup CLIENT --project local/Support-answers-1`.\n',
      ].join('\n'),
    });
    const path = '/annotation_queues/Support-answers-1?project_id=local/Support-answers-1';
    const { body } = await service.send('GET', path, basic);
    expect(body.queue).toMatchObject({ name: 'Support-answers-1', description: 'Be strict.' });
  });

  it.each([
    ['ticket,question,bot_answer', 'Inputs: ticket, question. Output: bot_answer.'],
    ['ticket,question,botResponse', 'Inputs: ticket, question. Output: botResponse.'],
    ['question,answer,old_answer', 'Inputs: question, old_answer. Output: answer.'],
    ['question,expected_answer,bot_answer', 'Inputs: question, expected_answer. Output: bot_answer.'],
    ['question,answer_a,expected_answer', 'Output: none; if a column is the output, import the file again'],
    ['question,first_answer,second_answer', 'Output: none; if a column is the output, import the file again'],
  ])('takes for the output of %s what its name says', async (columns, found) => {
    const file = { file: 'columns.csv', content: `${columns}\na,b,c\n` };
    const { code, stderr } = await importFile(file, '--dry-run');
    expect([code, stderr]).toEqual([0, expect.stringContaining(found)]);
  });

  it('fills the queue of a name, which may have spaces, and creates it once', async () => {
    const target = ['--project', 'team/names', '--queue', "Nurse's review"];
    const first = { file: 'nurses.csv', content: 'question,answer\nWhy?,Because.\n' };
    const { code, stderr } = await importFile(first, ...target);
    expect(code).toBe(0);
    expect(stderr).toContain(
      "Judge them in a browser: node dist/heddle.js board 'Nurse'\\''s review' --project team/names\n",
    );
    const second = { ...first, content: 'question,answer\nWhy?,Because.\nHow?,So.\n' };
    expect(await importFile(second, ...target)).toMatchObject({ code: 0, stdout: '1 added, 1 duplicate\n' });
    const only: string = await ask('/annotation_queues/query', { project_id: 'team/names' });
    expect(JSON.parse(only)).toMatchObject({ name: "Nurse's review", id: expect.stringMatching(/^[0-9a-v]{17}$/) });
    const inCapitals = await importFile(second, '--project', 'team/names', '--queue', "NURSE'S review");
    expect(inCapitals).toMatchObject({ code: 0, stdout: '0 added, 2 duplicates\n' });

    const mistyped = await importFile(second, '--project', 'team/names', '--queue', "Nurse's reviews");
    expect(mistyped.stderr).toContain("The queue Nurse's reviews is new; the project also has Nurse's review.\n");
    expect(inCapitals.stderr).not.toContain('is new');

    const namesake = { project_id: 'team/names', name: "Nurse's review", scorer_refs: [] };
    await ask('/annotation_queues', namesake);
    expect(await importFile(second, ...target)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('2 queues have the name "Nurse\'s review", nothing was imported.'),
    });
    expect(await importFile(second, '--project', 'team/names', '--queue', ' ')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('must be an id or a name on one line'),
    });
  });

  it('shows three rows as they will be judged with --dry-run, and stores nothing', async () => {
    const content = 'question,answer,score,reviewer,error\n1?,A,4,ada,\n2?,B,,,\n3?,,,,Timeout\n4?,D,,,\n';
    const { code, stdout, stderr } = await importFile(
      { file: 'dry.csv', content },
      ...['--project', 'dry/run', '--field', 'score:1-5', '--dry-run'],
    );
    expect([code, stderr]).toEqual([0, 'Inputs: question. Output: answer.\n']);
    expect(stdout.replaceAll(/row-\w+ \(import, [\d-]+T[\d:]+Z\)/g, 'ROW')).toBe(
      [
        ...['call             ROW', 'inputs.question  1?', 'output.answer    A', 'judged           score 4 by ada', ''],
        ...['call             ROW', 'inputs.question  2?', 'output.answer    B', ''],
        ...['call             ROW', 'inputs.question  3?', 'failed           Timeout', ''],
        'Nothing was stored. The queue dry of dry/run would get 4 items.',
        'To judge: score (integer, 1 to 5)\n',
      ].join('\n'),
    );
    const { body } = await service.query('dry', { project_id: 'dry/run' });
    expect(body).toEqual({ items: [] });
    const dryRun = ['import', join(folder, 'dry.csv'), '--project', 'dry/run', '--dry-run'];
    const terminal = await runAtTerminal(dryRun, environment);
    expect(terminal.stdout).toContain('\u001b[1minputs.question\u001b[22m  1?\n');
  });

  it('adds judgements from a file of their own to calls that were imported before', async () => {
    const target = ['--project', 'two/files', '--queue', 'q'];
    const run = {
      id: 'run-1',
      name: 'chain',
      run_type: 'chain',
      start_time: '2026-11-02T09:15:00',
      inputs: { q: 1 },
      outputs: { a: 2 },
    };
    const feedback = {
      id: 'f-1',
      run_id: 'run-1',
      key: 'helpful',
      score: 1,
      value: null,
      comment: null,
      created_at: '2026-11-03T10:00:00',
    };
    const scores = {
      file: 'feedback.json',
      content: JSON.stringify([{ ...feedback, feedback_source: { type: 'app', user_id: 'ada' } }]),
    };
    expect((await importFile(scores, ...target)).stderr).toContain('Left out the judgements and scores of 1 call');
    expect((await importFile({ file: 'runs.json', content: JSON.stringify([run]) }, ...target)).stdout).toBe(
      '1 added, 0 duplicates\n',
    );
    expect((await importFile(scores, ...target)).stdout).toBe('0 added, 0 duplicates, 1 judgement or score\n');
    expect(await readFeedback('two/files', ['run-1'])).toEqual([
      [0, 'wandb.annotation.helpful', 1, 'ada', '2026-11-03T10:00:00.000'],
    ]);
    const { body } = await service.query('q', { project_id: 'two/files' });
    expect(body.items).toMatchObject([{ call_id: 'run-1', annotation_state: 'completed' }]);
  });

  it('refuses judgements that do not fit a field of the queue, and stores nothing', async () => {
    const target = ['--project', 'one/field', '--queue', 'q', '--field', 'helpful:boolean'];
    const good = { file: 'good.csv', content: 'question,answer,helpful,annotator\nWhy?,Because.,true,ada\n' };
    expect((await importFile(good, ...target)).stdout).toBe('1 added, 0 duplicates, 1 judgement or score\n');
    const bad = { file: 'bad.csv', content: 'question,answer,helpful,annotator\nHow?,So.,perhaps,ada\n' };
    expect(await importFile(bad, ...target)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^heddle: The judgement "perhaps" of call row-\w+ does not fit the field helpful \(boolean: true or false\)\. Nothing was stored\.\n/,
      ),
    });
    const other = await importFile(good, ...target.slice(0, 4), '--field', 'helpful:1-5');
    expect(other.stderr).toContain('The queue q has the field helpful with another type: boolean: true or false.');
    expect((await readCalls('one/field')).size).toBe(1);
  });

  it.each([
    ['tone:kind|neutral', 'a choice of "kind", "neutral"'],
    ['tone:1-5', 'integer, at least 1, at most 5'],
  ])('says in words which values the field %s takes', async (field, values) => {
    const rows = { file: 'tone.csv', content: 'question,answer,tone,annotator\nWhy?,Because.,rude,ada\n' };
    const { stderr } = await importFile(rows, '--project', 'one/tone', '--queue', 'q', '--field', field);
    expect(stderr).toContain(`does not fit the field tone (${values}). Nothing was stored.`);
  });

  it.each([
    [['-', '--project', 'a/b'], 'no queue: pass --queue, because stdin has no name'],
    [['-', '--queue', 'q'], 'no project: pass --project entity/project or set HEDDLE_PROJECT'],
    [['x.csv', '--field', 'a b:boolean'], 'Its name must be 1 to 128 letters, digits, dots, hyphens or underscores.'],
    [
      ['x.csv', '--field', 'tone:colour'],
      "Write it like one of 'helpful:boolean', 'score:1-5', 'tone:kind|neutral|rude', 'reason:text'.",
    ],
    [['x.csv', '--field', 'score:5-1'], "Write it like one of 'helpful:boolean'"],
  ])('exits with 2 for %j', async (args, message) => {
    expect(await run(['import', ...args], environment)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(message),
    });
  });

  it('refuses to import into another service, and says what sets it', async () => {
    const elsewhere = { ...environment, WF_TRACE_SERVER_URL: 'https://service.example' };
    expect(await run(['import', 'x.csv'], elsewhere)).toMatchObject({
      code: 2,
      stderr:
        'heddle: an import goes into the embedded service, but WF_TRACE_SERVER_URL sets the service https://service.example: unset WF_TRACE_SERVER_URL for it, as in `env -u WF_TRACE_SERVER_URL node dist/heddle.js import FILE`\n',
    });
  });
});
