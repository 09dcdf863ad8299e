import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ExactNumber,
  exactJson,
  parseKeepingNumbers,
  parseStoredJson,
  replaceExactNumbers,
  storedJson,
} from '../../../src/core/json/exact-number.ts';
import { caseCount } from '../../support/cases.ts';

describe('parseKeepingNumbers', () => {
  it.each([
    '1.0',
    '-0',
    '-0.0',
    '1e-07',
    '1e+20',
    '1E5',
    '0.00000010',
    '1234567890123456789',
    '-9007199254740993',
    '18446744073709551615',
    '0.1234567890123456789',
    '1e999',
    '[1.0,1,[2.50],{"a":1.0}]',
    '{"a":{"b":[{"c":1.0},1.0]},"__proto__":1.0,"with \\"quotes\\"":1.0,"1.0":"1.0"}',
    '{"":{"":1.0}}',
  ])('keeps %s as it is written', (json) => {
    expect(exactJson(parseKeepingNumbers(json))).toBe(json);
    expect(exactJson(parseStoredJson(storedJson(parseKeepingNumbers(json))))).toBe(json);
  });

  it('makes plain numbers of all that JavaScript writes as they are written', () => {
    const value = parseKeepingNumbers('[1,-2.5,0.30000000000000004,9007199254740991,1e-7,5e-324,0.000001]');
    expect(value).toEqual([1, -2.5, 0.30000000000000004, 9007199254740991, 1e-7, 5e-324, 0.000001]);
    expect((value as unknown[]).some((entry) => entry instanceof ExactNumber)).toBe(false);
  });

  it('keeps the last of two members with the same name', () => {
    expect(exactJson(parseKeepingNumbers('{"a":1.0,"a":[2.0]}'))).toBe('{"a":[2.0]}');
  });

  it('keeps any JSON with any numbers', () => {
    const written = fc.oneof(
      fc.bigInt().map(String),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value.toExponential()),
      fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 }).map((value) => value.toFixed(8)),
    );
    fc.assert(
      fc.property(fc.json(), written, (json, number) => {
        const text = `{"json":${JSON.stringify(JSON.parse(json))},"n":[${number},${number}]}`;
        expect(exactJson(parseKeepingNumbers(text))).toBe(text);
      }),
      { numRuns: caseCount(1000) },
    );
  });
});

describe('ExactNumber', () => {
  it('is the nearest number for everything but exactJson', () => {
    expect(JSON.stringify([new ExactNumber('1.0'), new ExactNumber('1234567890123456789')])).toBe(
      '[1,1234567890123456800]',
    );
  });

  it('gives way to a plain number where one is needed and holds its value', () => {
    const value = parseKeepingNumbers('{"limit":5.0,"list":[1e2],"large":1234567890123456789}');
    expect(replaceExactNumbers(value, [['limit'], ['list', 0], ['large'], ['missing', 'deeper'], []])).toBe(true);
    expect(exactJson(value)).toBe('{"limit":5,"list":[100],"large":1234567890123456789}');
  });
});
