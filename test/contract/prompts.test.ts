import { describe, expect, it } from 'vitest';
import { fillPlaceholders, findPlaceholders, messagesOfPrompt } from '../../src/contract/prompts.ts';

describe('fillPlaceholders', () => {
  it('replaces names once, doubled braces by one, and lone braces by what is returned for them', () => {
    const filled = fillPlaceholders(
      '{{{name}}} and {other {name',
      (name) => `<${name} {x}>`,
      (brace) => `lone ${brace}`,
    );
    expect(filled).toBe('{<name {x}>} and lone {other lone {name');
  });
});

describe('findPlaceholders', () => {
  it('returns each name once in its order, and the first lone brace', () => {
    expect(findPlaceholders(['{b} {a} {{no}}', '{a} {c} }'])).toEqual({ names: ['b', 'a', 'c'], loneBrace: '}' });
    expect(findPlaceholders(['none'])).toEqual({ names: [], loneBrace: undefined });
  });
});

describe('messagesOfPrompt', () => {
  it('returns the messages, or the content as one of the user', () => {
    expect(messagesOfPrompt({ messages: [{ role: 'system', content: 'Be kind' }] })).toEqual([
      { role: 'system', content: 'Be kind' },
    ]);
    expect(messagesOfPrompt({ content: 'Hello' })).toEqual([{ role: 'user', content: 'Hello' }]);
    for (const other of [null, undefined, 'text', 3, {}, { content: 5 }])
      expect(messagesOfPrompt(other)).toBeUndefined();
  });
});
