import { setImmediate } from 'node:timers/promises';

/**
 * A function that looks up one key at a time, and asks `load` once for all that came in within a turn of the event loop:
 * requests that arrive together then cost little more than one. `load` answers in the order of its keys.
 */
export function batched<Key, Value>(load: (keys: Key[]) => Promise<Value[]>): (key: Key) => Promise<Value> {
  let waiting: { keys: Key[]; values: Promise<Value[]> } | undefined;
  const collect = () => {
    const keys: Key[] = [];
    const values = setImmediate().then(() => {
      waiting = undefined;
      return load(keys);
    });
    return { keys, values };
  };
  return async (key) => {
    waiting ??= collect();
    const { keys, values } = waiting;
    const index = keys.push(key) - 1;
    return (await values)[index]!;
  };
}
