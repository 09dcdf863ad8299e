import { exactJson } from './exact-number.ts';
import { isJsonObject } from './json-object.ts';

/** Serialises a value as JSON with sorted member names, so that equal content gives equal text. */
export function canonicalJson(value: unknown): string {
  return exactJson(value, sortedMembers);
}

/** Sorts the members of an object, as a replacer of JSON.stringify. */
export function sortedMembers(_: string, value: unknown): unknown {
  return isJsonObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value;
}
