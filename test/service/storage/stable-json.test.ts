import { describe, expect, it } from 'vitest';
import { contentDigest, digestOf, tableDigest } from '../../../src/service/storage/digest.ts';
import { stableJson } from '../../../src/service/storage/stable-json.ts';

describe('stableJson', () => {
  it.each([
    [{ b: [1, null], a: { d: true, c: 'x' } }, '{"a": {"c": "x", "d": true}, "b": [1, null]}'],
    [[], '[]'],
    [{}, '{}'],
    ['Prüfung 👍 "\\\n\u007f\u0001', '"Pr\\u00fcfung \\ud83d\\udc4d \\"\\\\\\n\\u007f\\u0001"'],
    [{ kept: 1, left_out: undefined }, '{"kept": 1}'],
    [JSON.parse('{"__proto__": 1, "2": 0, "10": 0}'), '{"10": 0, "2": 0, "__proto__": 1}'],
    // The order of code points: U+FF5E comes before U+1F44D, whose first half is U+D83D.
    [{ '👍': 1, '～': 2 }, '{"\\uff5e": 2, "\\ud83d\\udc4d": 1}'],
  ])('writes %j as Python does, with sorted names and in ASCII', (value, text) => {
    expect(stableJson(value)).toBe(text);
  });

  it.each([
    [0, '0'],
    [-0, '0'],
    [-1.5, '-1.5'],
    [0.1, '0.1'],
    [0.0001, '0.0001'],
    [0.00012, '0.00012'],
    [0.00001, '1e-05'],
    [0.000012, '1.2e-05'],
    [-2.5e-7, '-2.5e-07'],
    [5e-324, '5e-324'],
    [123456789012345680000, '123456789012345680000'],
    [1e21, '1e+21'],
    [1.5e300, '1.5e+300'],
  ])('writes the number %s as Python does', (value, text) => {
    expect(stableJson(value)).toBe(text);
  });
});

describe('digests', () => {
  it('are those of the public service', () => {
    // Recorded from the public service's own code.
    expect(contentDigest({ a: 1 })).toBe('XdhgKMbg1k4iUYb5astpM4ssWXZN95FiEH9cS7NNExA');
    expect(digestOf('')).toBe('47DEQpj8HBSaXYTImWX5JCeuQeRkm5NMpJWZG3hSuFU');
  });

  it('of a list of rows follow from the digests of its rows and their order', () => {
    const rows = [
      { q: '1+1', target: 2 },
      { target: 4, q: '2+2' },
    ].map(contentDigest);
    expect(rows).toEqual([
      'Xez88HCQnJ0XedLbtxrjUT8d6q7fOokULfthVqzofFc',
      'fWxjvljku9bZfvYxNNUoJ5eXrhzvvbhbVG8bbqiHoxE',
    ]);
    expect(tableDigest(rows)).toBe('f98daf4815b4ad2b742b311d1b4c97b503997e258b440ff822be0e8e3ad031f1');
    expect(tableDigest(rows.reverse())).not.toBe('f98daf4815b4ad2b742b311d1b4c97b503997e258b440ff822be0e8e3ad031f1');
    expect(tableDigest([])).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  });
});
