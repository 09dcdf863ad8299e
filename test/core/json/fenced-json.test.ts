import { describe, expect, it } from 'vitest';
import { parseFencedJson } from '../../../src/core/json/fenced-json.ts';

describe('parseFencedJson', () => {
  it.each([
    ['{"passed":true}', { value: { passed: true } }],
    [' ```json\n{"passed":true}\n``` ', { value: { passed: true } }],
    ['```\n[1]\n```', { value: [1] }],
    ['null', { value: null }],
    ['``````', undefined],
    ['```json\nyes\n```', undefined],
    ['Yes', undefined],
    ['', undefined],
  ])('reads %j', (text, expected) => {
    expect(parseFencedJson(text)).toEqual(expected);
  });
});
