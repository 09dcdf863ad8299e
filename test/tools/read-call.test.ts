import { describe, expect, it } from 'vitest';
import { importNumberedQueue } from '../support/numbered-queue.ts';
import { connectStdioClient } from '../support/stdio-client.ts';

describe('read_call', () => {
  it('returns the whole call, or the values at the given paths', async () => {
    const { call } = await connectStdioClient(await importNumberedQueue(2));
    expect(await call('read_call', { call_id: 'call-1' })).toMatchObject({
      call: { id: 'call-1', op_name: 'answer', inputs: { question: 'Question 1?' } },
    });
    const paths = ['inputs.question', 'output.none', 'toString'];
    const { values, missing, text } = await call('read_call', { call_id: 'call-1', paths });
    expect(values).toEqual({ 'inputs.question': 'Question 1?' });
    expect(missing).toEqual(['output.none', 'toString']);
    expect(text).toContain('These paths lead nowhere: output.none, toString');
  });

  it('names the nearest calls when there is no such call', async () => {
    const { call } = await connectStdioClient(await importNumberedQueue(2));
    expect(await call('read_call', { call_id: 'call-01' })).toMatchObject({
      error: { code: 'not_found', hint: expect.stringContaining('The nearest calls are call-') },
    });
  });
});
