import { isJsonObject } from './json-object.ts';

/** Serialises a value as JSON with sorted member names, so that equal content gives equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    isJsonObject(member) ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1))) : member,
  );
}
