// Checks without zod, for the settings: a start reads them before it loads any schema.

/** Maximum length of a path segment in characters. */
export const maxSegmentChars = 256;

/**
 * Returns whether a text is one segment of a URL path. Rejects everything that could leave the segment, literal or
 * percent-encoded, and text that UTF-8 cannot encode.
 */
export function isPlainSegment(text: string): boolean {
  return /^[^/\\%?#\s\p{Cc}]+$/u.test(text) && text !== '.' && text !== '..' && text.isWellFormed();
}

/** Returns whether a text is `entity/project`, both of them path segments of at most 256 characters. */
export function isProjectId(text: string): boolean {
  const parts = text.split('/');
  return parts.length === 2 && parts.every((part) => part.length <= maxSegmentChars && isPlainSegment(part));
}
