import { describe, expect, it } from 'vitest';
import { cutValue, valueAt } from '../../src/text/call-values.ts';

describe('cutValue', () => {
  it('says how many characters are missing', () => {
    expect(cutValue('abcdef', 4)).toBe('abcd…[+2 characters]');
    expect(cutValue('abcd', 4)).toBe('abcd');
  });

  it('counts the characters that were cut off before', () => {
    expect(cutValue(cutValue('x'.repeat(1000), 100), 10)).toBe(`${'x'.repeat(10)}…[+990 characters]`);
    expect(cutValue(cutValue('x'.repeat(1000), 100), 110)).toBe(`${'x'.repeat(100)}…[+900 characters]`);
  });

  it('cuts the long members of an object, of which a talk keeps its end', () => {
    const messages = ['Hello', 'x'.repeat(500), 'Thanks, solved.'].map((content) => ({ role: 'user', content }));
    expect(cutValue({ id: 7, messages, notes: 'y'.repeat(500) }, 300)).toEqual({
      id: 7,
      messages: ['…[+2 entries]', { role: 'user', content: 'Thanks, solved.' }],
      notes: expect.stringMatching(/^y{50,140}…\[\+\d+ characters\]$/),
    });
  });

  it('shows the beginning of the last turn of a talk beside short members, within the same size', () => {
    const messages = ['system', 'user'].map((role) => ({ role, content: 'x'.repeat(300) }));
    const cut = cutValue({ model: 'gpt-4o-mini', temperature: 0.2, messages }, 200);
    expect(cut).toEqual({
      model: 'gpt-4o-mini',
      temperature: 0.2,
      messages: ['…[+1 entries]', { role: 'user', content: `${'x'.repeat(83)}…[+217 characters]` }],
    });
    expect(JSON.stringify(cut)).toHaveLength(200);
  });

  it('leaves out the last members of an object with too many', () => {
    const many = Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`m${n}`, 'z'.repeat(100)]));
    expect(cutValue(many, 300)).toEqual({
      ...Object.fromEntries(
        ['m0', 'm1', 'm2', 'm3', 'm4', 'm5'].map((name) => [name, `${'z'.repeat(20)}…[+80 characters]`]),
      ),
      '…': '[+6 members]',
    });
  });

  it('says how many members are missing where one has room, also of an object that was cut before', () => {
    const short = { harbour: 'Visby', boats: 'x'.repeat(30), crew: 'y'.repeat(30), catch: 'z'.repeat(30) };
    expect(cutValue(short, 40)).toEqual({ harbour: 'Visby', '…': '[+3 members]' });
    const once = cutValue({ ...short, ports: 'p'.repeat(30) }, 90);
    expect(once).toEqual({ harbour: 'Visby', boats: 'x'.repeat(30), '…': '[+3 members]' });
    expect(cutValue(once, 40)).toEqual({ harbour: 'Visby', '…': '[+4 members]' });
  });

  it('cuts the JSON of an object without room for its members', () => {
    expect(cutValue({ a: 'bcd' }, 5)).toBe('{"a":…[+6 characters]');
    expect(cutValue({ a: 1 }, 7)).toEqual({ a: 1 });
  });
});

describe('cutValue of a list', () => {
  const talk = ['Hello', 'Hi, how can I help?', 'Where is my refund?'].map((content, n) => ({
    role: n % 2 === 0 ? 'user' : 'assistant',
    content,
  }));

  it('keeps the last messages of a talk, and says how many were before', () => {
    expect(cutValue(talk, 100)).toEqual(['…[+2 entries]', { role: 'user', content: 'Where is my refund?' }]);
  });

  it('keeps the first entries of another list', () => {
    expect(cutValue(['one', 'two', 'three', 'x'.repeat(100)], 62)).toEqual(['one', 'two', 'three', '…[+1 entries]']);
  });

  it('cuts the long texts of an entry that is too long by itself', () => {
    const long = { role: 'user', content: 'x'.repeat(1000) };
    expect(cutValue([...talk, long], 200)).toEqual([
      '…[+3 entries]',
      { role: 'user', content: expect.stringMatching(/^x{60,160}…\[\+\d+ characters\]$/) },
    ]);
  });

  it('counts the entries that were cut off before', () => {
    expect(cutValue(cutValue([...talk, ...talk], 160), 100)).toEqual([
      '…[+5 entries]',
      { role: 'user', content: 'Where is my refund?' },
    ]);
  });
});

describe('valueAt', () => {
  const call = { id: '1', inputs: { messages: [{ content: 'first' }, { content: 'last' }] } };

  it.each([
    ['inputs.messages[0].content', 'first'],
    ['inputs.messages[-1].content', 'last'],
    ['inputs.messages[-2].content', 'first'],
    ['inputs.messages[-3].content', undefined],
    ['inputs[-1]', undefined],
  ])('finds %s', (path, value) => {
    expect(valueAt(call, path)).toBe(value);
  });
});
