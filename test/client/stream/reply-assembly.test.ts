import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ReplyAssembly } from '../../../src/client/stream/reply-assembly.ts';
import { resultOf } from '../../../src/core/turns.ts';

function assemble(chunks: Record<string, unknown>[]): Record<string, unknown> {
  const assembly = new ReplyAssembly();
  for (const chunk of chunks) resultOf(assembly.add(chunk));
  return assembly.reply();
}

const head = { id: 'c1', object: 'chat.completion.chunk', created: 7, model: 'm' };

describe('ReplyAssembly', () => {
  it('joins text, role and finish reason, and takes usage from a last chunk without choices', () => {
    expect(
      assemble([
        { ...head, choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }] },
        { ...head, choices: [{ index: 0, delta: { content: 'Hel' }, finish_reason: null }] },
        { ...head, choices: [{ index: 0, delta: { content: 'lo' }, finish_reason: null }] },
        { ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
        { ...head, choices: [], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } },
      ]),
    ).toEqual({
      id: 'c1',
      object: 'chat.completion',
      created: 7,
      model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    });
  });

  it('joins tool calls by index, reasoning separately from content, and log probabilities in order', () => {
    expect(
      assemble([
        {
          choices: [
            {
              index: 0,
              delta: {
                role: 'assistant',
                content: null,
                reasoning_content: 'Let ',
                tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '' } }],
              },
              logprobs: { content: [{ token: 'x' }] },
            },
          ],
        },
        {
          choices: [
            {
              index: 0,
              delta: { reasoning_content: 'me see', tool_calls: [{ index: 0, function: { arguments: '{"q":' } }] },
              logprobs: { content: [{ token: 'y' }] },
            },
          ],
        },
        {
          choices: [
            {
              index: 0,
              delta: {
                tool_calls: [
                  { index: 1, id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } },
                  { index: 0, function: { arguments: '1}' } },
                ],
              },
              finish_reason: 'tool_calls',
            },
          ],
        },
      ]),
    ).toEqual({
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: null,
            reasoning_content: 'Let me see',
            tool_calls: [
              { id: 'a', type: 'function', function: { name: 'f', arguments: '{"q":1}' } },
              { id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } },
            ],
          },
          logprobs: { content: [{ token: 'x' }, { token: 'y' }] },
          finish_reason: 'tool_calls',
        },
      ],
    });
  });

  it('separates choices that arrive interleaved', () => {
    const texts = fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }), {
      minLength: 1,
      maxLength: 4,
    });
    fc.assert(
      fc.property(texts, fc.array(fc.nat(), { maxLength: 40 }), (wanted, order) => {
        const rest = wanted.map((text) => [...text]);
        const chunks: Record<string, unknown>[] = [];
        const take = (index: number): void => {
          const content = rest[index]!.splice(0, 2).join('');
          if (content) chunks.push({ ...head, choices: [{ index, delta: { content }, finish_reason: null }] });
        };
        for (const pick of order) take(pick % wanted.length);
        for (const index of wanted.keys()) while (rest[index]!.length > 0) take(index);
        for (const index of wanted.keys())
          chunks.push({ ...head, choices: [{ index, delta: {}, finish_reason: 'stop' }] });
        expect(assemble(chunks)).toEqual({
          id: 'c1',
          object: 'chat.completion',
          created: 7,
          model: 'm',
          choices: wanted.map((content, index) => ({ index, message: { content }, finish_reason: 'stop' })),
        });
      }),
    );
  });

  it('is finished when every choice has a finish reason', () => {
    const assembly = new ReplyAssembly();
    expect(assembly.finished).toBe(false);
    resultOf(assembly.add({ choices: [{ index: 0, delta: { content: 'a' }, finish_reason: 'stop' }] }));
    expect(assembly.finished).toBe(true);
    resultOf(assembly.add({ choices: [{ index: 1, delta: { content: 'b' } }] }));
    expect(assembly.finished).toBe(false);
  });

  it.each([
    ['tool calls', { delta: { tool_calls: Array.from({ length: 10_000 }, (_, index) => ({ index })) } }, 20],
    ['entries that are no objects', { delta: { content: Array.from({ length: 10_000 }, () => null) } }, 10],
    ['members', { delta: Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`m${n}`, n])) }, 10],
  ])('takes a step for every thousand %s', (_, choice, wanted) => {
    let steps = 0;
    for (const _step of new ReplyAssembly().add({ choices: [choice] })) steps += 1;
    expect(steps).toBe(wanted);
  });
});
