import { createHash } from 'node:crypto';

/** Returns the digest of a string: its SHA-256 as 43 characters of `[A-Za-z0-9]`. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').replaceAll('-', 'X').replaceAll('_', 'Y');
}
