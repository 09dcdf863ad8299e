import { describe, expect, it } from 'vitest';
import { killSharedRuns, maxOpenRequests } from '../../support/evaluation-kills.ts';

/** More kills find more: `HEDDLE_KILL_ROUNDS=20 npm run test:kills`. */
const kills = Number(process.env.HEDDLE_KILL_ROUNDS ?? 4);

describe('two processes that share runs', () => {
  it(`lose no score in ${kills} kills, and repeat only predictions that were in progress`, async () => {
    const outcome = await killSharedRuns(kills);
    console.log(JSON.stringify(outcome));
    const { lost, doubled, askedAgain, repeated } = outcome;
    expect({ lost, doubled, askedAgain }).toEqual({ lost: 0, doubled: 0, askedAgain: 0 });
    expect(repeated).toBeLessThanOrEqual(outcome.kills * maxOpenRequests);
  }, 900_000);
});
