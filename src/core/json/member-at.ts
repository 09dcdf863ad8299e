/** Returns the value at a path of member names; undefined if there is none. Inherited members are ignored. */
export function memberAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, name) => ownMember(at, name), value);
}

/**
 * Returns the member of an object by a name that may come from outside; undefined if there is none. Inherited members, such as
 * `constructor`, are ignored.
 */
export function ownMember<Value>(members: Readonly<Record<string, Value>> | undefined, name: string): Value | undefined;
export function ownMember(value: unknown, name: string): unknown;
export function ownMember(value: unknown, name: string): unknown {
  const isObject = typeof value === 'object' && value !== null;
  return isObject && Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
}
