/** Appends a value to the list that a map has under a key; the first value begins the list. */
export function appendTo<Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

/** Groups values by a key, each group in their order. */
export function groupBy<Key, Value>(values: Iterable<Value>, keyOf: (value: Value) => Key): Map<Key, Value[]> {
  const groups = new Map<Key, Value[]>();
  for (const value of values) appendTo(groups, keyOf(value), value);
  return groups;
}
