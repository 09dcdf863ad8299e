import { describe, expect, it } from 'vitest';
import { nearest } from '../../../src/tools/support/names.ts';

describe('nearest', () => {
  it('returns the nearest names first, whatever their case', () => {
    const names = ['retro', 'triages', 'TRIAGE', 'tirage'];
    expect(nearest('Triage', names, (name) => [name])).toEqual(['TRIAGE', 'triages', 'tirage']);
  });

  it('compares only the beginnings of names that are very long', () => {
    const long = 'y'.repeat(128 * 1024);
    const candidates = Array.from({ length: 200 }, (_, index) => `${index}${long}`);
    const startedAt = performance.now();
    expect(nearest(`7${long}`, candidates, (name) => [name])[0]).toBe(`7${long}`);
    // The whole names would take minutes.
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  });
});
