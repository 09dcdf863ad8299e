import { describe, expect, it } from 'vitest';
import { killRounds } from '../support/kill-rounds.ts';

describe('the data file', () => {
  // test/long/kill.test.ts runs fifty rounds.
  it('has every acknowledged write after three processes were killed at random moments', async () => {
    const { acknowledged, lost } = await killRounds(2);
    expect(acknowledged).toBeGreaterThan(0);
    expect(lost).toBe(0);
  }, 60_000);
});
