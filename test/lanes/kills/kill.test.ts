import { describe, expect, it } from 'vitest';
import { fewestWrites, killRounds } from '../../support/kill-rounds.ts';

/** Rounds of three kills. More of them find more: `HEDDLE_KILL_ROUNDS=20 npm run test:kills`. */
const rounds = Number(process.env.HEDDLE_KILL_ROUNDS ?? 5);

describe('the storage', () => {
  it(`has every acknowledged write after ${rounds} rounds of killing three services`, async () => {
    const { acknowledged, lost } = await killRounds(rounds);
    console.log(`${acknowledged} writes acknowledged, ${lost} lost`);
    expect(acknowledged).toBeGreaterThanOrEqual(rounds * 3 * fewestWrites);
    expect(lost).toBe(0);
  }, 900_000);
});
