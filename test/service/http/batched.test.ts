import { expect, test } from 'vitest';
import { batched } from '../../../src/service/http/batched.ts';

test('what is asked for in one turn is loaded at once, in order', async () => {
  const loads: string[][] = [];
  const upper = batched(async (keys: string[]) => {
    loads.push([...keys]);
    return keys.map((key) => key.toUpperCase());
  });
  expect(await Promise.all(['a', 'b', 'a'].map(upper))).toEqual(['A', 'B', 'A']);
  expect(await upper('c')).toBe('C');
  expect(loads).toEqual([['a', 'b', 'a'], ['c']]);
});

test('what comes while a load is under way is not answered by it', async () => {
  const finish: (() => void)[] = [];
  const load = batched(
    (keys: number[]) => new Promise<number[]>((resolve) => finish.push(() => resolve(keys.map((key) => -key)))),
  );
  const first = load(1);
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  const second = load(2);
  finish[0]!();
  expect(await first).toBe(-1);
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  finish[1]!();
  expect(await second).toBe(-2);
});

test('a failure reaches all of its turn and none of the next', async () => {
  let broken = true;
  const load = batched(async (keys: number[]) => {
    if (broken) throw new Error('broken');
    return keys;
  });
  const outcomes = await Promise.allSettled([load(1), load(2)]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  broken = false;
  expect(await load(3)).toBe(3);
});
