import { describe, expect, it } from 'vitest';
import { comparisonScorer } from '../../../src/contract/scorers.ts';
import { compareOutput, type PredictionFacts } from '../../../src/service/runs/compare-output.ts';

/** Compares an output with the row `{expected: 'Berlin'}`. */
function compare(scorer: object, output: unknown, facts: PredictionFacts = {}): boolean {
  return compareOutput(comparisonScorer.parse(scorer), { output, row: { expected: 'Berlin' }, facts });
}

describe('compareOutput', () => {
  it.each([
    ['Berlin', 0, true],
    ['Berlim', 0, false],
    ['Berlim', 1, true],
    ['bern', 2, false],
    ['', 6, true],
  ])('counts the characters in which %j differs', (output, tolerance, passed) => {
    expect(compare({ kind: 'text_within', expected: 'expected', tolerance }, output)).toBe(passed);
  });

  it('ignores case in the distance of texts if it is told to', () => {
    const scorer = { kind: 'text_within', expected: 'expected', tolerance: 0, ignore_case: true };
    expect(compare(scorer, 'BERLIN')).toBe(true);
  });

  it('compares no texts whose distance would take too long', () => {
    const scorer = { kind: 'text_within', expected: 'expected', tolerance: 1 };
    expect(() => compare(scorer, 'x'.repeat(20_001))).toThrow('Texts of more than 20000 characters are not compared.');
  });

  const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
  it.each([
    ['{"city":"Berlin"}', true],
    ['```json\n{"city":"Berlin"}\n```', true],
    [{ city: 'Berlin' }, true],
    ['{"city":3}', false],
    ['Berlin', false],
    [null, false],
  ])('compares %j with a JSON Schema', (output, passed) => {
    expect(compare({ kind: 'json_schema', schema }, output)).toBe(passed);
  });

  it('compares what a prediction took with limits, as far as that is known', () => {
    expect(compare({ kind: 'latency_within', limit: 2 }, '', { latencySeconds: 2 })).toBe(true);
    expect(compare({ kind: 'latency_within', limit: 2 }, '', { latencySeconds: 2.1 })).toBe(false);
    expect(compare({ kind: 'cost_within', limit: 0.01 }, '', { costUsd: 0.02 })).toBe(false);
    expect(() => compare({ kind: 'cost_within', limit: 0.01 }, '')).toThrow('no price of its model is stored');
  });

  const search = { function: { name: 'search', arguments: '{"query":"flights","days":3}' } };
  const book = { function: { name: 'book', arguments: '{"id":7}' } };
  const message = { role: 'assistant', content: null, tool_calls: [search, book] };

  it.each([
    ['a message', message],
    ['a completion', { choices: [{ message }] }],
    ['JSON text', JSON.stringify(message)],
    [
      'content of Anthropic',
      {
        content: [
          { type: 'text', text: 'One moment.' },
          { type: 'tool_use', name: 'search', input: { query: 'flights', days: 3 } },
          { type: 'tool_use', name: 'book', input: { id: 7 } },
        ],
      },
    ],
  ])('finds the tool calls of %s', (_, output) => {
    const calls = [{ name: 'book' }, { name: 'search' }];
    expect(compare({ kind: 'tool_calls', calls, exact: true }, output)).toBe(true);
    expect(compare({ kind: 'tool_calls', calls, ordered: true }, output)).toBe(false);
    expect(compare({ kind: 'tool_calls', calls: [{ name: 'book' }], exact: true }, output)).toBe(false);
    expect(compare({ kind: 'tool_calls', calls: [{ name: 'book' }] }, output)).toBe(true);
    expect(compare({ kind: 'tool_calls', calls: [{ name: 'book' }, { name: 'book' }] }, output)).toBe(false);
  });

  it('compares the arguments of tool calls with a schema', () => {
    const withDays = (days: object) => ({
      kind: 'tool_calls',
      calls: [{ name: 'search', arguments: { properties: { days } } }],
    });
    expect(compare(withDays({ type: 'integer', maximum: 3 }), message)).toBe(true);
    expect(compare(withDays({ type: 'string' }), message)).toBe(false);
  });

  it('gives each expected tool call one of its own, whatever their order', () => {
    const output = { tool_calls: [search, { function: { name: 'search', arguments: '{"query":"hotels"}' } }] };
    const any = { name: 'search' };
    const flights = { name: 'search', arguments: { properties: { query: { const: 'flights' } } } };
    expect(compare({ kind: 'tool_calls', calls: [any, flights] }, output)).toBe(true);
    expect(compare({ kind: 'tool_calls', calls: [flights, flights] }, output)).toBe(false);
  });

  it('fails an output without tool calls', () => {
    expect(compare({ kind: 'tool_calls', calls: [{ name: 'search' }] }, 'No.')).toBe(false);
  });
});
