/** Returns how often each value occurs, in the order of their first occurrence. */
export function countEach<Value>(values: readonly Value[]): Map<Value, number> {
  const counts = new Map<Value, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

/** Returns the value that occurs most often, the first of several; undefined without values. */
export function commonestOf<Value>(values: readonly Value[]): Value | undefined {
  const [commonest] = [...countEach(values)].sort(([, a], [, b]) => b - a);
  return commonest?.[0];
}
