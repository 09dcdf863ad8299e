import { describe, expect, it } from 'vitest';
import { basic, startTestService, withStore } from '../../support/embedded-service.ts';

const service = await startTestService();
const digest = 'a'.repeat(43);
const ticket = `weave:///p/q/object/ticket:${digest}`;
const answerOp = `weave:///p/q/op/answer:${digest}`;

const line = (call_id: string, call_op_name: string, call_trace_id: string, call: object) =>
  JSON.stringify({ call_id, call_op_name, call_trace_id, call_started_at: '2026-01-01T00:00:00Z', call });
await withStore(service.data, async (store) => {
  await store.importItems(
    [
      line('root', answerOp, 't1', { inputs: { ticket }, output: { rows: [{ ref: ticket }] }, thread_id: 'th' }),
      line('child', `weave:///p/q/op/answer:${'b'.repeat(43)}`, 't1', { parent_id: 'root', turn_id: 'tu' }),
      line('plain', 'answer', 't2', { inputs: { text: `see ${ticket}` }, wb_user_id: 'ada', wb_run_id: 'run' }),
      line('longer', `weave:///p/q/op/answer_again:${digest}`, 't2', { output: ticket, parent_id: 'plain' }),
    ],
    { projectId: 'p/q', queueId: 'q' },
  );
  const many = Array.from({ length: 1200 }, (_, index) => line(`many-${index}`, `op-${index}`, `t-${index}`, {}));
  await store.importItems(many, { projectId: 'p/many', queueId: 'q' });
});

async function found(filter: object, members: object = { project_id: 'p/q' }): Promise<string[]> {
  const { status, body } = await service.send('POST', '/calls/stream_query', basic, { filter, ...members });
  expect(status, JSON.stringify(body)).toBe(200);
  return (body as string)
    .split('\n')
    .slice(0, -1)
    .map((text) => JSON.parse(text).id);
}

describe('filterCondition', () => {
  it.each([
    [{}, ['child', 'longer', 'plain', 'root']],
    [{ call_ids: ['root', 'plain', 'nothing'] }, ['plain', 'root']],
    [{ op_names: ['answer'] }, ['plain']],
    [{ op_names: [answerOp] }, ['root']],
    [{ op_names: ['weave:///p/q/op/answer:*'] }, ['child', 'root']],
    [{ op_names: ['weave:///p/q/op/answer:*', 'answer'] }, ['child', 'plain', 'root']],
    [{ op_names: ['answer*'] }, []],
    [{ op_names: ['%'] }, []],
    [{ trace_ids: ['t2'] }, ['longer', 'plain']],
    [{ parent_ids: ['root', 'plain'] }, ['child', 'longer']],
    [{ thread_ids: ['th'] }, ['root']],
    [{ turn_ids: ['tu'] }, ['child']],
    [{ input_refs: [ticket] }, ['root']],
    [{ output_refs: [ticket] }, ['longer', 'root']],
    [{ wb_user_ids: ['ada', 'eve'] }, ['plain']],
    [{ wb_run_ids: ['run'] }, ['plain']],
    [{ trace_roots_only: true }, ['plain', 'root']],
    [{ trace_roots_only: false }, ['child', 'longer', 'plain', 'root']],
    [{ trace_roots_only: true, trace_ids: ['t1'] }, ['root']],
    [{ output_refs: [ticket], parent_ids: ['plain'], op_names: ['answer'] }, []],
    [{ call_ids: [], op_names: [], parent_ids: [], input_refs: [] }, ['child', 'longer', 'plain', 'root']],
  ])('finds calls by %j', async (filter, ids) => {
    expect(await found(filter)).toEqual(ids);
  });

  it('pages the calls that match', async () => {
    const page = { project_id: 'p/q', limit: 1, offset: 1 };
    expect(await found({ output_refs: [ticket] }, page)).toEqual(['root']);
    expect(await found({ trace_ids: ['t1'] }, page)).toEqual(['root']);
  });

  it('finds those of some named calls whose inputs have a text', async () => {
    const $contains = { input: { $getField: 'inputs' }, substr: { $literal: 'see ' } };
    const members = { project_id: 'p/q', query: { $expr: { $contains } } };
    expect(await found({ call_ids: ['root', 'plain', 'plain', 'many-1', 'nothing'] }, members)).toEqual(['plain']);
    expect(await found({ call_ids: ['root', 'longer'] }, members)).toEqual([]);
    expect(await found({ call_ids: ['longer', 'plain'], trace_ids: ['t2'] }, members)).toEqual(['plain']);
    const filter = { call_ids: ['root', 'plain'] };
    const { body } = await service.send('POST', '/calls/query_stats', basic, { filter, ...members });
    expect(body.count).toBe(1);
  });

  it.each([
    ['call_ids', 'many-'],
    ['op_names', 'op-'],
    ['trace_ids', 't-'],
  ])('accepts more than 500 %s', async (member, prefix) => {
    const values = Array.from({ length: 1001 }, (_, index) => `${prefix}${index + 199}`);
    const ids = await found({ [member]: values }, { project_id: 'p/many' });
    expect(ids).toHaveLength(1001);
    expect(ids).not.toContain('many-198');
    expect(await found({ [member]: [...values, 'nothing'] }, { project_id: 'p/many', limit: 2 })).toHaveLength(2);
  });
});
