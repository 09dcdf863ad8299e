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
    { pattern: '(open', message: 'missing closing ): `(open`' },
    { pattern: '(?=ahead)', message: 'invalid or unsupported Perl syntax: `(?=`' },
    { pattern: '(a)\\1', message: 'invalid escape sequence: `\\1`' },
    { pattern: '(a{1000}){1000}', message: 'invalid repeat count: `{1000}`' },
    { pattern: 'x'.repeat(1001), message: 'the pattern has 1001 characters; at most 1000 are allowed' },
  ])('refuses a pattern with the reason $message', ({ pattern, message }) => {
    expect(() => compileLinearPattern(pattern)).toThrow(new SyntaxError(message));
  });
});
