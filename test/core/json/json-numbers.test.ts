import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type InexactNumberError, parseExactJson, parseKeepingDigits } from '../../../src/core/json/json-numbers.ts';
import { caseCount } from '../../support/cases.ts';
import { tally } from '../../support/tally.ts';

const changed = ['9007199254740993', '-9007199254740993', '123456789012345678901', '1e999', '-1E+400', '1.5e0309'];
const kept = ['0', '-0', '9007199254740991', '9007199254740992', '123456789012345680000', '1e308', '5e-324', '1e-999'];

/** Returns the faults that parseExactJson reports. */
function faultsOf(json: string): unknown[] {
  try {
    parseExactJson(json);
    return [];
  } catch (error) {
    return (error as InexactNumberError).faults;
  }
}

describe('parseExactJson', () => {
  it.each(changed)('reports %s with its path and what to write instead', (written) => {
    expect(faultsOf(`{"a":[0,{"b \\"c":1,"9007199254740993":${written}}],"d":1}`)).toEqual([
      {
        loc: ['a', 1, '9007199254740993'],
        msg: `${written} cannot be kept exactly as a number: write it as a string`,
        type: 'value_error',
      },
    ]);
  });

  it.each(kept)('accepts %s', (written) => {
    expect(faultsOf(`{"a":[${written}],"b":"9007199254740993 :1e999,9007199254740993"}`)).toEqual([]);
  });

  it('reports the first 20 numbers, and shortens one of a million digits', () => {
    const numbers = Array(30).fill('12345678901234567890');
    numbers[19] = '1'.repeat(1_000_000);
    const faults = faultsOf(`[${numbers.join(',')}]`);
    expect(faults).toHaveLength(20);
    expect(faults[19]).toMatchObject({ loc: [19], msg: expect.stringMatching(/^1{40}… cannot be kept/) });
  });
});

describe('parseKeepingDigits', () => {
  it.each(changed)('returns %s as a string', (written) => {
    expect(parseKeepingDigits(`{"a":[${written},1],"${written}":"${written}"}`)).toEqual({
      a: [written, 1],
      [written]: written,
    });
    expect(parseKeepingDigits(` ${written}\n`)).toBe(written);
  });

  it.each(kept)('returns %s as a number', (written) => {
    expect(parseKeepingDigits(`[${written}]`)).toEqual([Number(written)]);
  });

  it('returns each integer with the digits that it was written with, wherever it stands', () => {
    const runs = caseCount(1_000);
    const integer = fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n });
    const member = fc.tuple(fc.string({ unit: 'binary' }), fc.oneof(integer, fc.string(), fc.double()));
    fc.assert(
      fc.property(fc.array(member, { maxLength: 5 }), fc.constantFrom('', ' ', '\n\t'), (members, space) => {
        const lists = members.map(
          ([name, value]) =>
            `[${space}{${JSON.stringify(name)}${space}:${space}${typeof value === 'bigint' ? value : JSON.stringify(value)}}]`,
        );
        const json = `[${lists.join(`${space},`)}]`;
        const parsed = parseKeepingDigits(json) as [Record<string, unknown>][];
        members.forEach(([name, value], index) => {
          const [got] = Object.entries(parsed[index]![0]).filter(([key]) => key === name);
          if (typeof value === 'bigint' && got) expect(toDigits(got[1])).toBe(String(value));
          if (typeof value === 'string' && got) expect(got[1]).toBe(value);
        });
      }),
      { numRuns: runs },
    );
    tally('property runs', runs);
  });

  it('throws a SyntaxError for text that is not JSON', () => {
    expect(() => parseKeepingDigits('[9007199254740993')).toThrow(SyntaxError);
  });
});

/** Returns the digits in which a value is shown. */
function toDigits(value: unknown): string {
  return typeof value === 'string' ? value : BigInt(value as number) === 0n ? '0' : shortest(value as number);
}

function shortest(value: number): string {
  const [mantissa = '', exponent = '0'] = String(value).split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return (whole + fraction).padEnd(whole.length + Number(exponent), '0');
}
