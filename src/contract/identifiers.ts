import * as z from 'zod';

/**
 * One segment of a URL path. Rejects everything that could leave the segment, literal or percent-encoded, and text that
 * UTF-8 cannot encode. A refinement, because not every reader of JSON Schema supports Unicode character classes.
 */
export const pathSegment = z
  .string()
  .max(256)
  .refine(
    (text) => /^[^/\\%?#\s\p{Cc}]+$/u.test(text) && text !== '.' && text !== '..' && text.isWellFormed(),
    'must be a plain identifier: not empty, without / \\ % ? # or white space',
  );

/** A project, written `entity/project`; both parts are path segments. */
export const projectId = z
  .string()
  .regex(/^[^/]+\/[^/]+$/, 'must have the shape entity/project')
  .refine(
    (text) => text.split('/').every((part) => pathSegment.safeParse(part).success),
    'must have the shape entity/project',
  )
  .describe('Project that the call works in, written entity/project.');

/** Splits a valid `entity/project`. */
export function splitProjectId(text: string): { entity: string; project: string } {
  const [entity = '', project = ''] = text.split('/');
  return { entity, project };
}

/** The path below `/inference/v1`, with its leading slash. Without empty and dot segments it cannot leave the prefix. */
export const inferencePath = z
  .string()
  .regex(/^(\/[A-Za-z0-9._~:@-]+)+$/, 'must be a path like /chat/completions')
  .max(1024)
  .refine((text) => !text.split('/').some((part) => /^\.{1,2}$/.test(part)), 'must not have . or .. in it');
