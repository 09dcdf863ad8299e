/** Names that objects inherit, or that change what they inherit. */
export const inheritedNames = ['__proto__', 'constructor', 'prototype', 'toString'];

/** Members that matter where a prototype is read: of a property descriptor, a response and a query. */
const trap = { get: 1, set: 1, value: 1, limit: 0, status: 204, body: 1 };

/** Returns an object with one member of its own, whatever its name. */
export function withMember(name: string, value: unknown = trap): Record<string, unknown> {
  return Object.fromEntries([[name, value]]);
}

/** Returns a value in which each object also has a member of this name. */
export function withMemberEverywhere(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((entry) => withMemberEverywhere(entry, name));
  const members = Object.entries(value).map(([key, member]) => [key, withMemberEverywhere(member, name)]);
  return Object.fromEntries([...members, [name, trap]]);
}

/** Lists copies of a value, in each of which another text, at any depth, is the name. */
export function withTextsReplaced(value: unknown, name: string): unknown[] {
  if (typeof value === 'string') return [name];
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) {
    return value.flatMap((entry, at) => withTextsReplaced(entry, name).map((changed) => value.with(at, changed)));
  }
  return Object.entries(value).flatMap(([key, member]) =>
    withTextsReplaced(member, name).map((changed) => ({ ...value, [key]: changed })),
  );
}

/** Returns what every object inherits, to compare it before and after. */
export function inheritedByAll(): unknown {
  return [Object.prototype, Function.prototype, Array.prototype].map((prototype) =>
    Object.entries(Object.getOwnPropertyDescriptors(prototype)),
  );
}
