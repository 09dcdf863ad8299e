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
    const { values } = await call('read_call', { call_id: 'call-1', paths });
    expect(values).toEqual({ 'inputs.question': 'Question 1?' });
  });

  it('fails with not_found for an unknown call', async () => {
    const { call } = await connectStdioClient(await importNumberedQueue(1));
    expect(await call('read_call', { call_id: 'nowhere' })).toMatchObject({ error: { code: 'not_found' } });
  });
});
