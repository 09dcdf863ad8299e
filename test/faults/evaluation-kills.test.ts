import { describe, expect, it } from 'vitest';
import { killSharedRuns, mostUnderWay } from '../support/evaluation-kills.ts';

describe('two processes that share a run', () => {
  it('lose no score and ask for no prediction twice when they are killed, but for those under way', async () => {
    const { kills, lost, doubled, askedAgain, repeated } = await killSharedRuns(4);
    expect({ lost, doubled, askedAgain }).toEqual({ lost: 0, doubled: 0, askedAgain: 0 });
    expect(repeated).toBeLessThanOrEqual(kills * mostUnderWay);
  }, 120_000);
});
