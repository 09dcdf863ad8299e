import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { includesText } from '../../../src/service/query/includes-text.ts';
import { caseCount } from '../../support/cases.ts';

describe('includesText', () => {
  it('finds a text wherever it is, as the engine does, however often its beginning is repeated', () => {
    const anyText = fc.string({ unit: fc.constantFrom('a', 'b', '😀'), maxLength: 12 });
    fc.assert(
      fc.property(anyText, anyText, anyText, fc.integer({ min: 1, max: 60 }), (before, part, after, times) => {
        const sought = part.repeat(times);
        expect(includesText(before + sought + after, sought)).toBe(true);
        const text = before + sought.slice(0, -1) + after;
        expect(includesText(text, sought)).toBe(text.includes(sought));
      }),
      { numRuns: caseCount(2000) },
    );
  });

  it('does not find a text that is longer than the other', () => {
    expect(includesText('a'.repeat(300), 'a'.repeat(301))).toBe(false);
    expect(includesText('a'.repeat(301), 'a'.repeat(301))).toBe(true);
  });
});
