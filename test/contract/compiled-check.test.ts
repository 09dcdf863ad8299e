import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { surelyFits } from '../../src/contract/compiled-check.ts';
import type { Endpoint } from '../../src/contract/endpoint.ts';
import { type EndpointName, endpoints } from '../../src/contract/endpoints.ts';
import { faultsOf } from '../../src/contract/validation.ts';
import { caseCount } from '../support/cases.ts';
import { goodBody } from '../support/good-responses.ts';
import { tally } from '../support/tally.ts';

const names = (Object.keys(endpoints) as EndpointName[]).filter((name) => !(endpoints[name] as Endpoint).bytes);
const part = fc.constantFrom(undefined, null, true, 0, 1.5, 2 ** 60, -0, '', 'x', [], [null], [['x']], {}, { id: 1 });

/** Returns a copy of a value of JSON in which the part at a position in its order has been replaced, or removed. */
function withPart(value: unknown, position: number, replacement: unknown): unknown {
  let passed = -1;
  return JSON.parse(
    JSON.stringify(value, (_, member: unknown) => {
      passed += 1;
      return passed === position ? replacement : member;
    }) ?? 'null',
  );
}

describe('surelyFits', () => {
  it.each(names)('accepts the responses of %s that zod accepts, and no others', (name) => {
    const { response } = endpoints[name];
    const good = goodBody(name);
    const runs = caseCount(1_000);
    expect(surelyFits(response, good, 1_000)).toBe(true);
    fc.assert(
      fc.property(fc.nat(40), part, fc.nat(40), part, (first, one, second, other) => {
        const value = withPart(withPart(good, first, one), second, other);
        expect(surelyFits(response, value, 1_000)).toBe(response.safeParse(value).success);
      }),
      { numRuns: runs },
    );
    tally('property runs', runs);
  });

  it('refuses a value with more values than a schema may look at', () => {
    const list = z.array(z.looseObject({ id: z.string(), rest: z.unknown() }));
    const value = Array.from({ length: 10 }, () => ({ id: 'a', rest: [1, 2, 3] }));
    expect(surelyFits(list, value, 21)).toBe(true);
    expect(surelyFits(list, value, 20)).toBe(false);
  });

  it('leaves schemas to zod whose checks it does not know', () => {
    const schemas = [
      z.string().min(1),
      z.int().min(0),
      z.strictObject({}),
      z.enum(['a']),
      z.record(z.enum(['a']), z.string()),
    ];
    for (const schema of schemas) expect(surelyFits(schema, {}, 10)).toBe(false);
    expect(faultsOf(z.looseObject({ name: z.string().min(1) }), { name: 'a' }, 'response')).toBeUndefined();
  });
});

describe('faultsOf', () => {
  it('names the faults of a value as zod finds them', () => {
    expect(faultsOf(endpoints.readModel.response, { id: 5 }, 'response')).toEqual([
      { loc: ['response', 'id'], msg: 'Invalid input: expected string, received number', type: 'string_type' },
    ]);
  });
});
