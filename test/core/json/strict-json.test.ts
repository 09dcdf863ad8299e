import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseStrictJson } from '../../../src/core/json/strict-json.ts';

const parse = (text: string): unknown => parseStrictJson(Buffer.from(text));

describe('parseStrictJson', () => {
  it('returns what JSON.parse returns when no object repeats a name', () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom(undefined, 2, '\t'), (json, indent) => {
        const text = JSON.stringify(JSON.parse(json), null, indent);
        fc.pre(!text.includes('__proto__'));
        expect(parse(text)).toEqual(JSON.parse(text));
      }),
    );
    expect(parse('\uFEFF{"a":1}')).toEqual({ a: 1 });
  });

  it('rejects a name that occurs twice in any object, even if it is escaped', () => {
    const nested = fc.constantFrom(
      '#',
      '[1,#]',
      '{"x":[{"y":#}]}',
      '[[{"a":{"b":"}"}},#],"{"]',
      '{"\\"":"\\\\","z":#}',
    );
    const spelled = fc.constantFrom('"name"', '"n\\u0061me"', '"\\u006e\\u0061\\u006d\\u0065"');
    const between = fc.constantFrom('', '"o":1,', '"o":{"p":[]},', '"o":",{\\"name\\":",', ' \n');
    fc.assert(
      fc.property(nested, spelled, spelled, between, (around, first, second, other) => {
        const text = around.replace('#', `{${first}:{"k":1},${other}${second} : "v"}`);
        expect(JSON.parse(text)).toBeDefined();
        expect(() => parse(text)).toThrow('it has "name" twice');
      }),
    );
  });

  it('accepts a name that occurs in several objects, or as a value', () => {
    const text = '{"a":{"a":"a","b":["a","a",{"a":1}]},"b":{"a":"b"},"":["",""]}';
    expect(parse(text)).toEqual(JSON.parse(text));
  });

  it.each(['{"__proto__":1}', '[{"a":{"\\u005f_proto__":{}}}]'])('rejects the member __proto__: %s', (text) => {
    expect(() => parse(text)).toThrow('it has a member "__proto__"');
  });

  it('rejects what is not JSON, or not UTF-8', () => {
    for (const text of ['', '{', '{"a":1,}', "{'a':1}", 'NaN']) expect(() => parse(text)).toThrow('it is not JSON');
    expect(() => parseStrictJson(Buffer.from([0x22, 0xff, 0x22]))).toThrow('it is not UTF-8 text');
  });
});
