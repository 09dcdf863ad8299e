import { describe, expect, it } from 'vitest';
import { sumUsage } from '../../../src/service/runs/predict-and-score.ts';

describe('sumUsage', () => {
  it('adds up the counts of each model', () => {
    const total = sumUsage([
      { small: { requests: 1, total_tokens: 10 } },
      { small: { requests: 1, note: 'x' }, judge: {} },
    ]);
    expect(JSON.stringify(total)).toBe('{"small":{"requests":2,"total_tokens":10},"judge":{}}');
  });

  it('changes no other object when a model or a count is named __proto__', () => {
    const total = sumUsage([JSON.parse('{"__proto__":{"polluted":1},"small":{"__proto__":2}}')]);
    expect(JSON.stringify(total)).toBe('{"__proto__":{"polluted":1},"small":{"__proto__":2}}');
    expect({}).not.toHaveProperty('polluted');
  });
});
