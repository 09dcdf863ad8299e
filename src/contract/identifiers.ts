import * as z from 'zod';

/**
 * One segment of a URL path. Refused before any byte is sent: whatever could leave the segment, written out or
 * percent-encoded (`/`, `\\`, `%`, `?`, `#`, dot segments), control characters and text that UTF-8 cannot carry. A check
 * rather than a pattern: not every reader of a JSON Schema knows character classes of Unicode.
 */
export const pathSegment = z
  .string()
  .max(256)
  .refine(
    (text) => /^[^/\\%?#\s\p{Cc}]+$/u.test(text) && text !== '.' && text !== '..' && text.isWellFormed(),
    'must be a plain identifier: not empty, without / \\ % ? # or white space',
  );

/** `entity/project`, each a path segment (interface 4.1). */
export const projectId = z
  .string()
  .regex(/^[^/]+\/[^/]+$/, 'must have the shape entity/project')
  .refine(
    (text) => text.split('/').every((part) => pathSegment.safeParse(part).success),
    'must have the shape entity/project',
  )
  .describe('Project that the call works in, written entity/project.');

/** Splits a checked `entity/project`. */
export function splitProjectId(text: string): { entity: string; project: string } {
  const [entity = '', project = ''] = text.split('/');
  return { entity, project };
}

/**
 * The path below the inference prefix, with its leading slash (interface 4.2). Only characters that need no encoding,
 * no empty and no dot segments: it cannot leave `/inference/v1`.
 */
export const inferencePath = z
  .string()
  .regex(/^(\/[A-Za-z0-9._~:@-]+)+$/, 'must be a path like /chat/completions')
  .max(1024)
  .refine((text) => !text.split('/').some((part) => /^\.{1,2}$/.test(part)), 'must not have . or .. in it');
