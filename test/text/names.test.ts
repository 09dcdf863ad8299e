import { describe, expect, it } from 'vitest';
import { nearest } from '../../src/text/names.ts';

describe('nearest', () => {
  it('returns the nearest names first, whatever their case', () => {
    const names = ['retro', 'triages', 'TRIAGE', 'tirage'];
    expect(nearest('Triage', names, (name) => [name])).toEqual(['TRIAGE', 'triages', 'tirage']);
  });

  // The time of a comparison grows with the product of the lengths.
  it('compares only the first 100 characters', () => {
    const long = 'y'.repeat(99);
    const names = [`x${long}abc`, `z${long}xyz`, `z${long}abc`];
    expect(nearest(`z${long}abc`, names, (name) => [name])).toEqual([`z${long}xyz`, `z${long}abc`, `x${long}abc`]);
  });
});
