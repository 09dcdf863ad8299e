import { createHash } from 'node:crypto';

/** JSON with sorted member names, so that the same content is the same text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    member !== null && typeof member === 'object' && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}

/** Digest of a text: 43 characters of `[A-Za-z0-9]`, made of its SHA-256. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').replaceAll('-', 'X').replaceAll('_', 'Y');
}
