import { describe, expect, it } from 'vitest';
import { cutValue } from '../../src/text/call-values.ts';

describe('cutValue', () => {
  it('says how many characters are missing', () => {
    expect(cutValue('abcdef', 4)).toBe('abcd…[+2 characters]');
    expect(cutValue('abcd', 4)).toBe('abcd');
  });

  it('counts the characters that were cut off before', () => {
    expect(cutValue(cutValue('x'.repeat(1000), 100), 10)).toBe(`${'x'.repeat(10)}…[+990 characters]`);
    expect(cutValue(cutValue('x'.repeat(1000), 100), 110)).toBe(`${'x'.repeat(100)}…[+900 characters]`);
  });

  it('cuts the JSON of a value that is not a string', () => {
    expect(cutValue({ a: 'bcd' }, 5)).toBe('{"a":…[+6 characters]');
    expect(cutValue({ a: 1 }, 7)).toEqual({ a: 1 });
  });
});
