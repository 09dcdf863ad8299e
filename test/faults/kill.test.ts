import { expect, test } from 'vitest';
import { killRounds } from '../support/kill-rounds.ts';

// Fifty rounds are the suite test/long/kill.test.ts.
test('three processes on one file are killed at random points: what they told of is there', async () => {
  const { acknowledged, lost } = await killRounds(2);
  expect(acknowledged).toBeGreaterThan(0);
  expect(lost).toBe(0);
}, 60_000);
