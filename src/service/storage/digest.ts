import { createHash } from 'node:crypto';

/** Serialises a value as JSON with sorted member names, so that equal content gives equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    member !== null && typeof member === 'object' && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}

/** Returns the digest of a string: its SHA-256 as 43 characters of `[A-Za-z0-9]`. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').replaceAll('-', 'X').replaceAll('_', 'Y');
}
