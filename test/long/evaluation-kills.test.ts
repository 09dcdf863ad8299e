import { describe, expect, it } from 'vitest';
import { killSharedRuns, mostUnderWay } from '../support/evaluation-kills.ts';

describe('two processes that share runs', () => {
  it('lose no score and ask for no prediction twice in ten kills, but for those under way', async () => {
    const outcome = await killSharedRuns(10);
    console.log(JSON.stringify(outcome));
    const { kills, lost, doubled, askedAgain, repeated } = outcome;
    expect({ lost, doubled, askedAgain }).toEqual({ lost: 0, doubled: 0, askedAgain: 0 });
    expect(repeated).toBeLessThanOrEqual(kills * mostUnderWay);
  }, 900_000);
});
