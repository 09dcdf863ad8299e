import { describe, expect, it } from 'vitest';
import { MemoryPool, RequestBudget } from '../../src/service/request-budget.ts';

const MiB = 1024 * 1024;

/** Returns what a function throws, as its status and its text. */
function refusalOf(work: () => void): string {
  try {
    work();
  } catch (error) {
    const { status, message } = error as { status: number; message: string };
    return `${status} ${message}`;
  }
  return 'none';
}

describe('MemoryPool', () => {
  it('gives an account half of what the others leave, so that another one always gets some', () => {
    const pool = new MemoryPool(800);
    expect([pool.take('a', 400), pool.take('a', 1)]).toEqual([true, false]);
    expect([pool.take('b', 200), pool.take('b', 1)]).toEqual([true, false]);
    expect([pool.take('c', 100), pool.take('c', 1)]).toEqual([true, false]);
    pool.release('a', 400);
    expect([pool.take('c', 150), pool.take('c', 51)]).toEqual([true, false]);
  });
});

describe('RequestBudget', () => {
  it('refuses a request that needs more memory than one may have, and says how to ask for less', () => {
    const budget = new RequestBudget(new MemoryPool(4096 * MiB), 'a');
    budget.hold(512 * MiB);
    expect(refusalOf(() => budget.hold(1, 'ask for fewer calls'))).toBe(
      '413 The request needs more than 512 MiB of memory: ask for fewer calls',
    );
    budget.release(2);
    expect(refusalOf(() => budget.hold(1))).toBe('none');
  });

  it('refuses a request as busy while others have the memory, and lets one that waits go on once it is released', async () => {
    const pool = new MemoryPool(4 * MiB);
    const [first, second] = [new RequestBudget(pool, 'a'), new RequestBudget(pool, 'a')];
    first.hold(2 * MiB);
    expect(refusalOf(() => second.hold(MiB))).toBe('503 Service unavailable: too many requests at once');
    let isHeld = false;
    const waiting = second.reserve(MiB).then(() => {
      isHeld = true;
    });
    await Promise.resolve();
    expect(isHeld).toBe(false);
    first.close();
    await waiting;
    expect(refusalOf(() => second.hold(MiB))).toBe('none');
  });

  it('gives back all memory when the request ends, and refuses what is left of its work', () => {
    const pool = new MemoryPool(4 * MiB);
    const budget = new RequestBudget(pool, 'a');
    budget.hold(2 * MiB);
    budget.close();
    budget.close();
    budget.release(MiB);
    expect(refusalOf(() => budget.hold(1))).toBe('400 The connection was closed');
    expect([pool.take('a', 2 * MiB), pool.take('a', 1)]).toEqual([true, false]);
  });

  it('pauses before the work between two turns exceeds 20 million units, and before a larger step', async () => {
    const turns: number[][] = [[]];
    const budget = new RequestBudget(new MemoryPool(), 'a', async () => {
      turns.push([]);
    });
    for (const units of [12_000_000, 8_000_000, 1, 900_000_000, 1]) {
      await budget.parse(units);
      turns.at(-1)!.push(units);
    }
    expect(turns.flat()).toHaveLength(5);
    // A slow machine pauses more often.
    for (const turn of turns)
      expect(turn.length > 1 ? turn.reduce((sum, units) => sum + units) : 0).toBeLessThan(20_000_001);
  });

  it('refuses a step that others would have to wait for too long, and a request that takes too much work', async () => {
    const budget = new RequestBudget(new MemoryPool(), 'a', async () => {});
    await expect(budget.scan(4_000_000, 1001)).rejects.toMatchObject({ status: 413 });
    for (let step = 0; step < 30; step += 1) await budget.scan(4_000_000, 1000);
    await expect(budget.parse(1)).rejects.toMatchObject({ status: 413 });
  });
});
