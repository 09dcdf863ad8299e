import { describe, expect, it } from 'vitest';
import { nearestTo } from '../../../src/tools/support/nearest-names.ts';

describe('nearestTo', () => {
  it('returns the nearest names first, whatever their case', () => {
    expect(nearestTo('Triage', ['retro', 'triages', 'TRIAGE', 'tirage'], (name) => [name], 2)).toEqual([
      'TRIAGE',
      'triages',
    ]);
  });

  it('compares only the beginnings of names that are very long', () => {
    const long = 'y'.repeat(128 * 1024);
    const candidates = Array.from({ length: 200 }, (_, index) => `${index}${long}`);
    const startedAt = performance.now();
    expect(nearestTo(`7${long}`, candidates, (name) => [name], 1)).toEqual([`7${long}`]);
    // The whole names would take minutes.
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  });
});
