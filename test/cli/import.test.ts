import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { basic, startTestService, storedIn, type TestService, temporaryData } from '../support/embedded-service.ts';
import { emptyHome, type Finished, run, temporaryFolder } from '../support/heddle.ts';
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
      stdout: expect.stringMatching(/^0 added, \d+ duplicates(, 0 judgements or scores)?\n$/),
    });
    expect((await readCalls(project)).size).toBe(calls.size);
    expect(await readFeedback(project, ids)).toEqual(stored);
  });
});
