/**
 * Returns how many cases a property test runs: a tenth at hand, and all of them with `HEDDLE_ALL_CASES=1`, as `.ci/run` sets it.
 * @param all number of cases that prove the property.
 */
export function caseCount(all: number): number {
  return process.env.HEDDLE_ALL_CASES ? all : Math.ceil(all / 10);
}

/**
 * Returns the cases that a test goes through: a tenth at hand, at least one, and all of them with `HEDDLE_ALL_CASES=1`.
 * @param turn tests that go through the same list begin with different cases if they pass different turns.
 */
export function someCases<Case>(all: readonly Case[], turn = 0): readonly Case[] {
  if (process.env.HEDDLE_ALL_CASES) return all;
  const distance = Math.min(10, all.length);
  return all.filter((_, index) => index % distance === turn % distance);
}

/** Returns whole numbers from `first` to `last`. */
export function range(first: number, last: number, step = 1): number[] {
  return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, index) => first + index * step);
}
