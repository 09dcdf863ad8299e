import { expect, test } from 'vitest';
import { killRounds } from '../support/kill-rounds.ts';

test('fifty rounds of kill -9 on three processes that write to one file', async () => {
  const { acknowledged, lost } = await killRounds(50);
  console.log(`${acknowledged} writes acknowledged, ${lost} lost`);
  expect(acknowledged).toBeGreaterThan(500);
  expect(lost).toBe(0);
}, 900_000);
