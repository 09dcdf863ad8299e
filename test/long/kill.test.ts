import { describe, expect, it } from 'vitest';
import { killRounds } from '../support/kill-rounds.ts';

describe('the data file', () => {
  it('has every acknowledged write after twenty rounds of killing three processes', async () => {
    const { acknowledged, lost } = await killRounds(20);
    console.log(`${acknowledged} writes acknowledged, ${lost} lost`);
    expect(acknowledged).toBeGreaterThan(200);
    expect(lost).toBe(0);
  }, 900_000);
});
