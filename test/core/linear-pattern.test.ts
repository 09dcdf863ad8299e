import { describe, expect, it } from 'vitest';
import { compileLinearPattern } from '../../src/core/linear-pattern.ts';

describe('compileLinearPattern', () => {
  it('finds a match anywhere in the text', () => {
    const isMatch = compileLinearPattern('refund(s|ed)?\\b');
    expect(isMatch('Your order was refunded.')).toBe(true);
    expect(isMatch('Your order was Refunded.')).toBe(false);
    expect(compileLinearPattern('^refund', { ignoreCase: true })('REFUND me')).toBe(true);
  });

  it('searches a long text that would occupy a backtracking engine forever', () => {
    expect(compileLinearPattern('(a+)+$')(`${'a'.repeat(100_000)}b`)).toBe(false);
  });

  it.each([
    ['(open', 'missing closing ): `(open`'],
    ['(?=ahead)', 'invalid or unsupported Perl syntax: `(?=`'],
    ['(a)\\1', 'invalid escape sequence: `\\1`'],
    ['(a{1000}){1000}', 'invalid repeat count: `{1000}`'],
    ['x'.repeat(1001), 'the pattern has 1001 characters; at most 1000 are allowed'],
  ])('refuses %.20s', (pattern, message) => {
    expect(() => compileLinearPattern(pattern)).toThrow(new SyntaxError(message));
  });
});
