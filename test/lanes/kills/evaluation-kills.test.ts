import { describe, expect, it } from 'vitest';
import { killRunWithBudget, killSharedRuns, maxOpenRequests } from '../../support/evaluation-kills.ts';

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

describe('a run with a budget', () => {
  it(`sends no more requests than its budget in ${kills} kills, and loses no score`, async () => {
    const { status, requests, lost } = await killRunWithBudget(kills, { requests: 50 * kills });
    console.log(JSON.stringify({ requests, error: status.error }));
    expect(status).toMatchObject({
      code: 'failed',
      error: expect.stringMatching(`^Stopped by its budget of ${50 * kills} requests`),
    });
    expect(lost).toBe(0);
    expect(requests).toBeLessThanOrEqual(50 * kills);
    // What was in progress at a kill counts as sent, so some of the budget may be left.
    expect(requests).toBeGreaterThan(25 * kills);
  }, 900_000);
});
