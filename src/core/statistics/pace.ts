import { appendTo } from '../append-to.ts';

/** A longer time between two items is a break, not work. */
const maxWorkMs = 30 * 60_000;
/** Items whose times are this near were written together, after each of them was judged. */
const togetherMs = 2000;

/** That someone judged an item, and when. */
export interface TimedJudgement {
  by: string;
  item: string;
  atMs: number;
}

/**
 * Estimates how many seconds each person takes for an item: the median of the times between their items, without breaks. Items
 * that were written together share the time before. Nobody is in the result who judged only once.
 */
export function secondsPerItem(judgements: readonly TimedJudgement[]): Map<string, number> {
  const timesBy = new Map<string, Map<string, number>>();
  for (const { by, item, atMs } of judgements) {
    const times = timesBy.get(by) ?? new Map<string, number>();
    times.set(item, Math.max(atMs, times.get(item) ?? 0));
    timesBy.set(by, times);
  }
  const found = new Map<string, number>();
  for (const [by, times] of timesBy) {
    const seconds = medianSeconds([...times.values()]);
    if (seconds !== undefined) found.set(by, seconds);
  }
  return found;
}

/** Does the same for one person, from the milliseconds at which each item was last judged; undefined for one item alone. */
export function medianSeconds(times: readonly number[]): number | undefined {
  const taken = timesTaken([...times].sort((a, b) => a - b));
  return taken.length > 0 ? Math.round(median(taken) / 1000) : undefined;
}

function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return (sorted[Math.ceil(middle) - 1]! + sorted[Math.floor(middle)]!) / 2;
}

/** Returns the milliseconds that each item took, from the times of all items in ascending order. */
function timesTaken(times: readonly number[]): number[] {
  const moments = new Map<number, number[]>();
  let moment = Number.NEGATIVE_INFINITY;
  let before = moment;
  for (const time of times) {
    if (time - before > togetherMs) moment = time;
    before = time;
    appendTo(moments, moment, time);
  }
  const written = [...moments.values()];
  return written.slice(1).flatMap((together, place) => {
    const sinceLast = together.at(-1)! - written[place]!.at(-1)!;
    return sinceLast > maxWorkMs ? [] : together.map(() => sinceLast / together.length);
  });
}
