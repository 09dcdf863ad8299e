import { describe, expect, it } from 'vitest';
import { type ConnectedClient, connectClient } from '../support/client.ts';
import { sendResponse } from '../support/fake-service.ts';
import { importItems } from '../support/import-items.ts';
import { startRecordedService } from '../support/recorded-service.ts';

const sdkOperation = 'weave:///demo/support/op/answer:abc';

/** Four calls, one a day from 2026-01-01 on. The sample project adds twelve from 2026-01-12 on. */
const environment = await importItems([
  {
    call_id: 'plain',
    call_op_name: 'answer',
    call_trace_id: 'trace-1',
    call_started_at: '2026-01-01T00:00:00Z',
    call: { inputs: { question: 'Wo ist die "Prüfung"?' }, output: 'x'.repeat(1001) },
  },
  {
    call_id: 'failed',
    call_op_name: sdkOperation,
    call_trace_id: 'trace-1',
    call_started_at: '2026-01-02T00:00:00Z',
    call: { inputs: { question: 'Why?', score: 2 }, exception: 'ValueError: no answer' },
  },
  {
    call_id: 'newer-version',
    call_op_name: 'weave:///demo/support/op/answer:def',
    call_trace_id: 'trace-2',
    call_started_at: '2026-01-03T00:00:00Z',
    call: { inputs: { question: 'Where?', score: 1 }, output: { text: 'Over THERE' } },
  },
  {
    call_id: 'other-operation',
    call_op_name: 'weave:///demo/support/op/reanswer:abc',
    call_trace_id: 'trace-3',
    call_started_at: '2026-01-04T00:00:00Z',
    call: { inputs: {}, output: null },
  },
]);

const connect = (): Promise<ConnectedClient> => connectClient(environment);
const idsOf = ({ calls }: { calls: { id: string }[] }): string[] => calls.map(({ id }) => id);
const beforeSample = { started_before: '2026-01-10' };

describe('query_calls', () => {
  it('returns values cut to 200 characters, without members that a call lacks', async () => {
    const { call } = await connect();
    const { calls, text } = await call('query_calls', { filter: { ...beforeSample, trace_id: 'trace-1' } });
    expect(calls).toEqual([
      {
        id: 'failed',
        op_name: sdkOperation,
        started_at: '2026-01-02T00:00:00.000Z',
        exception: 'ValueError: no answer',
        inputs: { question: 'Why?', score: 2 },
      },
      {
        id: 'plain',
        op_name: 'answer',
        started_at: '2026-01-01T00:00:00.000Z',
        inputs: { question: 'Wo ist die "Prüfung"?' },
        output: `${'x'.repeat(200)}…[+801 characters]`,
      },
    ]);
    expect(text).toContain('2 calls of 2 from offset 0. This is the last page.');
  });

  it('returns the values at the given paths, and names those that no call has', async () => {
    const { call } = await connect();
    const fields = ['inputs.question', 'output.text', 'inputs.queston'];
    const page = await call('query_calls', { filter: { ...beforeSample, op_name: 'answer' }, fields });
    expect(page.calls).toEqual([
      { id: 'newer-version', 'inputs.question': 'Where?', 'output.text': 'Over THERE' },
      { id: 'failed', 'inputs.question': 'Why?' },
      { id: 'plain', 'inputs.question': 'Wo ist die "Prüfung"?' },
    ]);
    expect(page.missing).toEqual(['inputs.queston']);
    expect(page.nearest['inputs.queston'][0]).toBe('inputs.question');
    expect(page.text).toContain(
      'No call of this page has inputs.queston. Nearest to inputs.queston: inputs.question, ',
    );
    const rare = await call('query_calls', { filter: beforeSample, fields: ['inputs.score', 'exception'], limit: 1 });
    expect(rare.missing).toEqual(['inputs.score', 'exception']);
    expect(rare).not.toHaveProperty('nearest');
  });

  it('leads from a field for the cost to the totals', async () => {
    const { call } = await connect();
    const page = await call('query_calls', { fields: ['op_name', 'cost'], limit: 1 });
    expect(page).toMatchObject({ missing: ['cost'], warning: 'totals adds up tokens and cost.' });
    expect(page.text).toContain('No call of this page has cost. totals adds up tokens and cost.');
    expect(page).not.toHaveProperty('nearest');
  });

  it('refuses a range of times that no time is in', async () => {
    const { call } = await connect();
    const filter = { started_after: '2026-01-10', started_before: '2026-01-09' };
    expect((await call('query_calls', { filter })).error).toMatchObject({
      code: 'invalid_arguments',
      message: 'No call can match: started_after is not earlier than started_before.',
    });
  });

  it('cuts values that were asked for at 1,000 characters', async () => {
    const { call } = await connect();
    const { calls } = await call('query_calls', { filter: { ...beforeSample, text: 'xxx' }, fields: ['output'] });
    expect(calls).toEqual([{ id: 'plain', output: `${'x'.repeat(1000)}…[+1 characters]` }]);
  });

  it('returns every member of a call for the field *', async () => {
    const { call } = await connect();
    const { calls } = await call('query_calls', { filter: { ...beforeSample, has_error: true }, fields: ['*'] });
    expect(calls).toEqual([
      {
        id: 'failed',
        project_id: 'demo/support',
        op_name: sdkOperation,
        trace_id: 'trace-1',
        started_at: '2026-01-02T00:00:00.000Z',
        exception: 'ValueError: no answer',
        inputs: { question: 'Why?', score: 2 },
        summary: { weave: { status: 'error', trace_name: 'answer' } },
      },
    ]);
  });

  it('pages through the calls in the order that was asked for', async () => {
    const { call } = await connect();
    const sort_by = [{ field: 'inputs.score', direction: 'asc' }];
    const request = { filter: beforeSample, sort_by, limit: 2 };
    const first = await call('query_calls', request);
    expect(idsOf(first)).toEqual(['newer-version', 'failed']);
    expect(first).toMatchObject({ offset: 0, next_offset: 2, total: 4 });
    expect(first.text).toContain('2 calls of 4 from offset 0. More follow: next_offset 2.');
    const last = await call('query_calls', { ...request, offset: 2 });
    expect(idsOf(last)).toEqual(['other-operation', 'plain']);
    expect(last).toMatchObject({ offset: 2, total: 4 });
    expect(last.next_offset).toBeUndefined();
  });

  it('says how many calls match beyond the last one', async () => {
    const { call } = await connect();
    const page = await call('query_calls', { filter: beforeSample, offset: 10 });
    expect(page).toMatchObject({ calls: [], total: 4 });
    expect(page.text).toContain('No calls at offset 10: only 4 match.');
  });

  it('refuses an invalid time', async () => {
    const { call } = await connect();
    for (const started_after of ['yesterday', '7 days ago', '2026-02-31', '2026-02-31T10:00:00Z']) {
      const { error } = await call('query_calls', { filter: { started_after } });
      expect(error.message).toContain(
        'filter.started_after: must be a date or time like 2026-01-31 or 2026-01-31T09:00:00Z',
      );
    }
  });

  it('sends conditions that the public service takes, and asks for the columns it needs', async () => {
    const service = await startRecordedService();
    const { call } = await connectClient(service.environmentOf('ada'));
    const filter = {
      op_name: 'answer',
      trace_id: 't',
      started_after: '2026-01-01',
      started_before: '2026-01-02T00:00:00.500Z',
      has_error: true,
      text: 'ü',
    };
    const recorded = { op_name: 'answer', started_at: '2026-01-01T12:00:00Z', inputs: { q: 'ü' }, exception: 'Error' };
    service.calls = ['a', 'b'].map((id) => ({ id, ...recorded }));
    expect(await call('query_calls', { filter, limit: 1 })).toMatchObject({ calls: [{ id: 'a' }], total: 2 });
    const contains = (name: string, substr: string) => ({
      $contains: { input: { $getField: name }, substr: { $literal: substr }, case_insensitive: true },
    });
    const matching = {
      project_id: 'team/project',
      filter: { trace_ids: ['t'] },
      query: {
        $expr: {
          $and: [
            {
              $or: [
                { $eq: [{ $getField: 'op_name' }, { $literal: 'answer' }] },
                { $contains: { input: { $getField: 'op_name' }, substr: { $literal: '/op/answer:' } } },
              ],
            },
            { $gte: [{ $getField: 'started_at' }, { $literal: 1767225600 }] },
            { $not: [{ $gte: [{ $getField: 'started_at' }, { $literal: 1767312000.5 }] }] },
            { $not: [{ $eq: [{ $getField: 'exception' }, { $literal: null }] }] },
            {
              $or: [
                contains('inputs', 'ü'),
                contains('inputs', '\\u00fc'),
                contains('output', 'ü'),
                contains('output', '\\u00fc'),
              ],
            },
          ],
        },
      },
    };
    expect(service.bodiesOf('/calls/stream_query')).toEqual([
      {
        ...matching,
        sort_by: [{ field: 'started_at', direction: 'desc' }],
        limit: 2,
        offset: 0,
        columns: ['id', 'op_name', 'started_at', 'exception', 'inputs', 'output'],
      },
    ]);
    expect(service.bodiesOf('/calls/query_stats')).toEqual([{ ...matching, limit: 10_000 }]);
  });

  it('follows references on the way to a field', async () => {
    const service = await startRecordedService();
    service.expands = false;
    const { call } = await connectClient(service.environmentOf('ada'));
    const { calls } = await call('query_calls', { fields: ['inputs.row.question'], limit: 1 });
    expect(calls).toEqual([{ id: 'call-i1', 'inputs.row.question': 'Is it safe?' }]);
    expect(service.bodiesOf('/calls/stream_query')[1]).toMatchObject({
      columns: ['id', 'inputs.row.question'],
      expand_columns: ['inputs.row', 'inputs.row.question'],
    });
  });

  it('counts no more than 10,000 calls with a text, and says that there are at least as many', async () => {
    const service = await startRecordedService();
    service.calls = Array.from({ length: 10_002 }, (_, index) => ({ id: `call-${index}`, inputs: { q: 'refund' } }));
    const { call } = await connectClient(service.environmentOf('ada'));
    const page = await call('query_calls', { filter: { text: 'refund' }, limit: 1 });
    expect(page).toMatchObject({ total_at_least: 10_000, next_offset: 1 });
    expect(page).not.toHaveProperty('total');
  });

  it('returns no total at a service that cannot count', async () => {
    const service = await startRecordedService();
    service.missing = new Set(['/calls/query_stats']);
    const { call } = await connectClient(service.environmentOf('ada'));
    const page = await call('query_calls', { limit: 1 });
    expect(page).toMatchObject({ calls: [{ id: 'call-i1' }], next_offset: 1 });
    expect(page).not.toHaveProperty('total');
  });

  it('finds calls that took longer than some seconds', async () => {
    const { call } = await connect();
    const page = await call('query_calls', {
      filter: { latency_above: 2.9 },
      sort_by: [{ field: 'started_at', direction: 'asc' }],
    });
    expect(idsOf(page)).toEqual(['support-0010', 'support-0011', 'support-0012']);
  });

  it('names the nearest operations for one that no call is of', async () => {
    const { call } = await connect();
    const { error } = await call('query_calls', { filter: { op_name: 'support.anser' } });
    expect(error).toMatchObject({ code: 'not_found' });
    expect(error.message).toBe('No recorded call of project demo/support is of the operation "support.anser".');
    expect(error.hint).toMatch(/^The nearest operations are support\.answer, /);
    expect(await call('query_calls', { filter: { op_name: 'support.answer', text: 'zebra' } })).toMatchObject({
      total: 0,
    });
  });

  it.each([
    ['latency_ms', 'No call has a member "latency_ms".', 'summary.weave.latency_ms'],
    ['inputs.scor', 'No matching call has a value at "inputs.scor".', 'inputs.score'],
    // The newest call has no inputs.
    ['inputs.questoin', 'No matching call has a value at "inputs.questoin".', 'inputs.question'],
  ])('refuses to sort by %s, and names the nearest', async (field, message, near) => {
    const { call } = await connect();
    const { error } = await call('query_calls', { filter: beforeSample, sort_by: [{ field, direction: 'desc' }] });
    expect(error).toMatchObject({ code: 'invalid_arguments', message });
    expect(error.hint).toContain(near);
  });

  it('sorts by latency, by the name that queue items have', async () => {
    const { call } = await connect();
    const orderBy = async (field: string) => {
      const { calls } = await call('query_calls', { sort_by: [{ field, direction: 'desc' }], fields: ['ended_at'] });
      return calls.map(({ id }: { id: string }) => id);
    };
    const order = await orderBy('latency');
    expect(order.length).toBeGreaterThan(1);
    expect(order).toEqual(await orderBy('summary.weave.latency_ms'));
  });

  it('adds up the newest calls itself where the service does not, and says that there are more', async () => {
    const service = await startRecordedService();
    const summary = { usage: { small: { total_tokens: 2 } }, weave: { latency_ms: 500 } };
    service.calls = Array.from({ length: 25_001 }, (_, n) => ({ id: `c${n}`, op_name: 'answer', summary }));
    const { call } = await connectClient(service.environmentOf('ada'));
    const { totals, text } = await call('query_calls', { totals: true });
    expect(totals).toEqual({
      calls: 25_000,
      tokens: 50_000,
      partial: 'the newest 25000 calls; more match',
      unpriced_models: ['small'],
      operations: [
        { operation: 'answer', calls: 25_000, tokens: 50_000, latency_seconds: 0.5, p95_latency_seconds: 0.5 },
      ],
    });
    expect(text).toContain(
      'Totals (of the newest 25000 calls; more match): calls 25000, tokens 50000. No price is known for small (`heddle price` stores it).',
    );
  });

  it('pages the operations of totals by limit and offset, and adds the others up', async () => {
    const service = await startRecordedService();
    const summary = { usage: { small: { total_tokens: 2 } } };
    service.calls = [1, 2, 3].flatMap((count) =>
      Array.from({ length: count }, (_, n) => ({ id: `c${count}${n}`, op_name: `op${count}`, summary })),
    );
    const { call } = await connectClient(service.environmentOf('ada'));
    const page = (args: object) => call('query_calls', { totals: true, ...args });
    const first = await page({ limit: 1, sort_by: [{ field: 'started_at', direction: 'asc' }] });
    expect(first).toMatchObject({
      totals: {
        calls: 6,
        tokens: 12,
        operations: [
          { operation: 'op3', calls: 3, tokens: 6 },
          { operation: '2 others', calls: 3, tokens: 6 },
        ],
      },
      total: 6,
      next_offset: 1,
      warning: 'sort_by and fields change nothing with totals.',
    });
    expect(first.text).toContain(
      'sort_by and fields change nothing with totals. More operations follow: next_offset 1.',
    );
    const last = await page({ limit: 2, offset: 1 });
    expect(last.totals.operations.map(({ operation }: { operation: string }) => operation)).toEqual([
      'op2',
      'op1',
      '1 other',
    ]);
    expect(last).not.toHaveProperty('next_offset');
  });

  it('asks for no more calls than fit the result', async () => {
    const service = await startRecordedService();
    service.respond = (request) => sendResponse(request, 200, '', { 'content-type': 'application/x-ndjson' });
    const { call } = await connectClient({ ...service.environmentOf('ada'), HEDDLE_MAX_RESULT_CHARS: '10000' });
    await call('query_calls', { limit: 1000 });
    expect(service.bodiesOf('/calls/stream_query').at(-1)).toMatchObject({ limit: 201 });
  });
});
