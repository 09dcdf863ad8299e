import { describe, expect, it } from 'vitest';
import { connectClient } from '../support/client.ts';
import { importItems } from '../support/import-items.ts';
import { importNumberedQueue } from '../support/numbered-queue.ts';

describe('read_call', () => {
  it('returns the whole call, or the values at the given paths', async () => {
    const { call } = await connectClient(await importNumberedQueue(2));
    expect(await call('read_call', { call_id: 'call-1' })).toMatchObject({
      call: { id: 'call-1', op_name: 'answer', inputs: { question: 'Question 1?' } },
    });
    const paths = ['inputs.question', 'output.none', 'toString'];
    const { values, missing, members, text } = await call('read_call', { call_id: 'call-1', paths });
    expect(values).toEqual({ 'inputs.question': 'Question 1?' });
    expect(missing).toEqual(['output.none', 'toString']);
    expect(members).toEqual({ '': expect.arrayContaining(['id', 'inputs', 'output']), output: ['texts'] });
    expect(text).toContain('These paths do not exist: output.none, toString; output has texts; the call has ');
  });

  it('cuts the values of a whole call to max_value_chars', async () => {
    const { call } = await connectClient(await importNumberedQueue(2));
    const { call: cut } = await call('read_call', { call_id: 'call-1', max_value_chars: 20 });
    expect(cut).toMatchObject({
      id: 'call-1',
      started_at: '2026-01-01T00:01:00.000Z',
      inputs: '{"question":"Questio…[+6 characters]',
      output: { texts: ['n…[+1 characters]', '…[+1 entries]'] },
    });
  });

  it('names the members of the last part of a path that exists', async () => {
    const { call } = await connectClient(await importNumberedQueue(2));
    const end = async (path: string) => (await call('read_call', { call_id: 'call-1', paths: [path] })).members;
    expect(await end('inputs.questoin')).toEqual({ inputs: ['question'] });
    expect(await end('inputs.question.text')).toEqual({ 'inputs.question': [] });
    expect(await end('inputs.none.deeper[0]')).toEqual({ inputs: ['question'] });
  });

  it('names the paths that are nearest to one that does not exist', async () => {
    const { call } = await connectClient(await importNumberedQueue(2));
    const paths = ['input.question', 'question', 'output.texts[9]'];
    const { nearest, text } = await call('read_call', { call_id: 'call-1', paths });
    expect(nearest['input.question'][0]).toBe('inputs.question');
    expect(nearest.question[0]).toBe('inputs.question');
    expect(nearest['output.texts[9]'][0]).toBe('output.texts[0]');
    expect(text).toContain('Nearest to input.question: inputs.question, ');
  });

  it('cuts a call that is too large, and keeps the end of a talk', async () => {
    const messages = Array.from({ length: 40 }, (_, n) => ({
      role: 'user',
      content: `Message ${n}: ${'x'.repeat(100)}`,
    }));
    const environment = await importItems([
      {
        call_id: 'talk',
        call_op_name: 'answer',
        call_trace_id: 'trace',
        call_started_at: '2026-01-12T09:00:00.000Z',
        call: { inputs: { messages }, output: 'Done.' },
      },
    ]);
    const { call } = await connectClient({ ...environment, HEDDLE_MAX_RESULT_CHARS: '2000' });
    const { now: _, text, ...result } = await call('read_call', { call_id: 'talk' });
    expect(result).toMatchObject({ call_id: 'talk', call: { id: 'talk', op_name: 'answer', output: 'Done.' } });
    expect(result.call.inputs.messages).toEqual(['…[+36 entries]', ...messages.slice(-4)]);
    expect(text).toContain('Message 39');
  });

  it('names the nearest calls when there is no such call', async () => {
    const { call } = await connectClient(await importNumberedQueue(2));
    expect(await call('read_call', { call_id: 'call-01' })).toMatchObject({
      error: { code: 'not_found', hint: expect.stringContaining('The nearest calls are call-') },
    });
    expect((await call('read_call', { call_id: '5f0c2d1e-77aa' })).error.hint).toMatch(
      /The newest calls are support-0012, support-0011, support-0010\.$/,
    );
  });
});
