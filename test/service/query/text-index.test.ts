import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TextIndex } from '../../../src/service/storage/database.ts';
import { openDatabase } from '../../../src/service/storage/open-database.ts';
import { caseCount } from '../../support/cases.ts';
import { basic, startTestService } from '../../support/embedded-service.ts';
import { onEnd } from '../../support/on-end.ts';

const service = await startTestService();
const plain = await startTestService();
const { textIndex } = await openIndex();
const never = new AbortController().signal;

async function openIndex(): Promise<{ textIndex: TextIndex }> {
  const database = await openDatabase(service.data);
  onEnd(() => database.close());
  return database;
}

async function send(path: string, body: object): Promise<string> {
  const [indexed, expected] = await Promise.all([service, plain].map((one) => one.send('POST', path, basic, body)));
  expect(expected!.status, JSON.stringify(expected!.body)).toBe(200);
  expect(indexed!.body).toEqual(expected!.body);
  return indexed!.body;
}

const start = (project_id: string, id: string, text: string, output?: string) => ({
  mode: 'start',
  req: {
    start: {
      ...{ project_id, id, trace_id: 't', op_name: 'op', started_at: '2026-01-01T00:00:00Z', attributes: {} },
      ...{ inputs: { text }, ...(output !== undefined && { output, ended_at: '2026-01-01T00:00:01Z', summary: {} }) },
    },
  },
});
const end = (project_id: string, id: string, output: unknown) => ({
  mode: 'end',
  req: { end: { project_id, id, ended_at: '2026-01-01T00:00:01Z', output, summary: {} } },
});

async function idsWith(project_id: string, condition: object): Promise<string[]> {
  const lines = await send('/calls/stream_query', { project_id, columns: ['id'], query: { $expr: condition } });
  return lines
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line).id);
}

const has = (field: string, text: string, case_insensitive = false) => ({
  $contains: { input: { $getField: field }, substr: { $literal: text }, case_insensitive },
});
const is = (field: string, text: string) => ({ $eq: [{ $getField: field }, { $literal: text }] });

const word = fc.constantFrom(
  'refund',
  'Refund',
  'straße',
  'STRASSE',
  'İstanbul',
  '返金してください',
  'a "b" \\ c',
  'x%y_z',
  '\n',
  '😀😀',
);
const text = fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => words.join(' '));
const part = fc.oneof(
  word,
  fc.tuple(text, fc.nat(8)).map(([whole, from]) => [...whole].slice(from).join('') || whole),
);
const field = fc.constantFrom('inputs.text', 'inputs', 'output');
const single = fc.oneof(
  fc.tuple(field, part, fc.boolean()).map((args) => has(...args)),
  fc.tuple(field, text).map((args) => is(...args)),
);
const condition = fc.oneof(
  { weight: 3, arbitrary: single },
  fc.array(single, { minLength: 2, maxLength: 3 }).map(($or) => ({ $or })),
  fc.tuple(single, single).map(([first, second]) => ({ $and: [first, { $not: [second] }] })),
);
const id = fc.nat(5).map((number) => `id-${number}`);
const step = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(fc.constant('start'), id, text) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('end'), id, text) },
  fc.tuple(fc.constant('delete'), id, text),
  fc.tuple(fc.constantFrom('begin', 'build', 'drop'), id, text),
);

let projects = 0;

async function take(project_id: string, [name, call, value]: [string, string, string]): Promise<void> {
  if (name === 'begin') await textIndex.build(AbortSignal.abort());
  else if (name === 'build') await textIndex.build(never);
  else if (name === 'drop') await textIndex.drop();
  else if (name === 'delete') await send('/calls/delete', { project_id, call_ids: [call] });
  else await send('/call/upsert_batch', { batch: [(name === 'start' ? start : end)(project_id, call, value)] });
}

describe('the index of texts', () => {
  it('changes no answer, whatever is recorded, ended and deleted before, while and after it is built', async () => {
    const steps = fc.array(step, { minLength: 5, maxLength: 25 });
    const conditions = fc.array(condition, { minLength: 4, maxLength: 8 });
    const check = async (taken: [string, string, string][], asked: object[]) => {
      const project_id = `p/text-${projects++}`;
      for (const one of taken) await take(project_id, one);
      for (const one of asked) await idsWith(project_id, one);
      await textIndex.build(never);
      for (const one of asked) await idsWith(project_id, one);
    };
    await fc.assert(fc.asyncProperty(steps, conditions, check), { numRuns: caseCount(30) });
  });

  it('names the calls that have a text, once it is complete', async () => {
    const project_id = 'p/needle';
    await textIndex.drop();
    const batch = Array.from({ length: 250 }, (_, n) =>
      start(project_id, `id-${n}`, n % 50 === 0 ? `Needle ${n}` : `hay ${n}`),
    );
    await send('/call/upsert_batch', { batch: [...batch, start('p/other', 'other', 'Needle')] });
    const pattern = { column: 'inputs', pattern: '%needle%', ignoresCase: true };
    const find = (maxCalls: number) => textIndex.find(project_id, [pattern], maxCalls);
    await textIndex.build(AbortSignal.abort());
    expect(await find(100)).toBeUndefined();
    await send('/call/upsert_batch', {
      batch: [end(project_id, 'id-100', 'done'), start(project_id, 'late', 'a needle')],
    });
    await send('/calls/delete', { project_id, call_ids: ['id-150'] });
    await textIndex.build(never);
    expect((await find(100))?.sort()).toEqual(['id-0', 'id-100', 'id-200', 'id-50', 'late']);
    expect(await find(5)).toBeUndefined();
    expect((await idsWith(project_id, has('inputs.text', 'eedle'))).sort()).toEqual([
      'id-0',
      'id-100',
      'id-200',
      'id-50',
      'late',
    ]);
    expect(await idsWith(project_id, { $or: [has('output', 'done'), has('inputs.text', 'Needle 2')] })).toEqual([
      'id-100',
      'id-200',
    ]);
    await textIndex.drop();
    expect(await find(100)).toBeUndefined();
  });

  it('finds a call that is too large to be compared with a text', async () => {
    await textIndex.build(never);
    await send('/call/upsert_batch', { batch: [start('p/large', 'large', `${'x'.repeat(400_000)} needle`)] });
    expect(await idsWith('p/large', has('inputs.text', 'needle'))).toEqual(['large']);
    expect(await idsWith('p/large', has('inputs.text', 'absent'))).toEqual([]);
  });
});
