import { describe, expect, it } from 'vitest';
import type { ServiceClient } from '../../src/client/service-client.ts';
import { annotatorOf, annotatorTest } from '../../src/contract/judgement-test.ts';
import { annotatorMeant } from '../../src/queues/require-annotators.ts';

describe('annotatorMeant', () => {
  const meant = (name: string, ...known: [user: string, creator?: string][]) => {
    const judgements = known.map(([user, creator], n) => ({
      ...annotatorOf(user, creator),
      ...{ id: `j${n}`, call_id: 'c', field: 'ok', value: true, at: '2026-01-01T00:00:00Z' },
    }));
    return annotatorMeant(name, judgements, 'expected', { service: {} as ServiceClient, id: 'q', project: 'p/q' });
  };

  it('takes another case for a name only where nobody has exactly this name', () => {
    expect(meant('KOFI', ['kofi'])).toBe('kofi');
    expect(meant('KOFI', ['kofi'], ['KOFI'])).toBe('KOFI');
    expect(meant('kofi', ['KOFI'], ['kofi'])).toBe('kofi');
    expect(meant('KOFI', ['kofi'], ['KOFI', 'gpt'])).toBe('KOFI (gpt)');
    expect(meant('Kofi (GPT)', ['kofi'], ['kofi', 'gpt'])).toBe('kofi (gpt)');
    expect(meant('kofa', ['kofi'])).toBeUndefined();
  });

  it('refuses a name that in another case is that of two annotators', () => {
    expect(() => meant('Kofi', ['kofi'], ['KOFI'])).toThrow('"Kofi" names 2 annotators of queue q: kofi, KOFI.');
  });
});

describe('annotatorTest', () => {
  it('tells names that differ only in case apart, except for beginnings', () => {
    const users = ['kofi', 'KOFI'].map((user) => annotatorOf(user, undefined));
    const named = (name: string) => users.filter(annotatorTest(name, () => false)).map(({ user }) => user);
    expect(named('kofi')).toEqual(['kofi']);
    expect(named(' KOFI ')).toEqual(['KOFI']);
    expect(named('Ko*')).toEqual(['kofi', 'KOFI']);
  });
});
