import { describe, expect, it } from 'vitest';
import { nearest } from '../../src/text/names.ts';

describe('nearest', () => {
  it('returns the nearest names first, whatever their case', () => {
    const names = ['retro', 'triages', 'TRIAGE', 'tirage'];
    expect(nearest('Triage', names, (name) => [name])).toEqual(['TRIAGE', 'triages', 'tirage']);
  });

  it('returns names that begin with the text before those that contain it, and these before similar ones', () => {
    const names = ['  ', 'Tumult', 'My autumn', 'Autumn complaints'];
    expect(nearest('autumn', names, (name) => [name])).toEqual(['Autumn complaints', 'My autumn', 'Tumult']);
  });

  // The time of a comparison grows with the product of the lengths.
  it('compares only the first 100 characters', () => {
    const long = 'y'.repeat(99);
    const names = [`x${long}abc`, `z${long}xyz`, `z${long}abc`];
    expect(nearest(`z${long}abc`, names, (name) => [name])).toEqual([`z${long}xyz`, `z${long}abc`, `x${long}abc`]);
  });
});
