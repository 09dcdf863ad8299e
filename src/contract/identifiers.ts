import * as z from 'zod';
import { isPlainSegment, isProjectId, maxSegmentChars } from './path-segments.ts';

/** One segment of a URL path. A refinement, because not every reader of JSON Schema supports Unicode character classes. */
export const pathSegment = z
  .string()
  .max(maxSegmentChars)
  .refine(isPlainSegment, 'must be a plain identifier: not empty, without / \\ % ? # or white space');

/** A project, written `entity/project`; both parts are path segments. */
export const projectId = z
  .string()
  .regex(/^[^/]+\/[^/]+$/, { error: 'must have the shape entity/project', abort: true })
  .refine(isProjectId, 'must have the shape entity/project')
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

/** Returns the entries that have a name, or else those whose name differs from it in case only, or in spaces around it. */
export function entriesNamed<Entry extends { name: string }>(name: string, entries: readonly Entry[]): Entry[] {
  const alike = entries.filter((entry) => entry.name.trim().toLowerCase() === name.trim().toLowerCase());
  const same = alike.filter((entry) => entry.name === name);
  return same.length > 0 ? same : alike;
}
