import { createHash, type Hash } from 'node:crypto';
import { stableJson } from './stable-json.ts';

/** Returns the digest of a string or of bytes: their SHA-256 as 43 characters of `[A-Za-z0-9]`. */
export function digestOf(data: string | Uint8Array): string {
  return finishDigest(createHash('sha256').update(data));
}

/** Returns the digest of what a SHA-256 hash has been given, in the form of {@link digestOf}. */
export function finishDigest(hash: Hash): string {
  return hash.digest('base64url').replaceAll('-', 'X').replaceAll('_', 'Y');
}

/** Returns the digest of JSON content, which is the one that the public service gives it. */
export function contentDigest(content: unknown): string {
  return digestOf(stableJson(content));
}

/** Returns the digest of a list of rows: 64 hexadecimal digits that follow from the digests of the rows. */
export function tableDigest(rowDigests: readonly string[]): string {
  const hash = createHash('sha256');
  for (const digest of rowDigests) hash.update(digest);
  return hash.digest('hex');
}
