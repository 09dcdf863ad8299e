import { describe, expect, it } from 'vitest';
import { killRounds } from '../support/kill-rounds.ts';

describe('the data file', () => {
  it('has every acknowledged write after fifty rounds of killing three processes', async () => {
    const { acknowledged, lost } = await killRounds(50);
    console.log(`${acknowledged} writes acknowledged, ${lost} lost`);
    expect(acknowledged).toBeGreaterThan(500);
    expect(lost).toBe(0);
  }, 900_000);
});
