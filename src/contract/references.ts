import * as z from 'zod';
import { splitProjectId } from './identifiers.ts';

/** The scheme of references at the embedded service, which is that of the public service. */
export const referenceScheme = 'weave';

/** A parsed reference. `version` is a digest, `latest`, `vN` (0-based) or an alias; calls have none. */
export interface Reference {
  scheme: string;
  entity: string;
  project: string;
  kind: 'object' | 'op' | 'table' | 'call';
  name: string;
  version?: string;
}

/** Valid names of stored objects. */
export const objectNamePattern = /^[\p{L}\p{N}_.-]{1,128}$/u;

const referencePattern =
  /^(?<scheme>[A-Za-z][A-Za-z0-9+.-]*):\/\/\/(?<entity>[^/:?#]+)\/(?<project>[^/:?#]+)\/(?<kind>object|op|table|call)\/(?<name>[\p{L}\p{N}_.-]{1,128})(?::(?<version>[^/:\s]+))?$/u;

/**
 * Parses `<scheme>:///<entity>/<project>/<kind>/<name>:<version>`. Returns undefined for any other text, including an
 * object, op or table without a version.
 */
export function parseReference(text: string): Reference | undefined {
  const groups = referencePattern.exec(text)?.groups;
  if (!groups) return undefined;
  const { version, ...named } = groups as unknown as Reference;
  if ((named.kind === 'call') !== (version === undefined)) return undefined;
  return version === undefined ? named : { ...named, version };
}

/** A reference to a part of an object: the object, and the names and indices that lead to the part. */
export interface PartReference {
  object: Reference;
  path: string[];
}

/**
 * Parses a reference to an object or a part of it, like `…/object/name:version/attr/rows/index/0`. Returns undefined for
 * any other text.
 */
export function parsePartReference(text: string): PartReference | undefined {
  // A scheme, two empty parts, entity, project, kind and name come before the part.
  const segments = text.split('/');
  const object = parseReference(segments.slice(0, 7).join('/'));
  const edges = segments.slice(7);
  if (!object || object.kind === 'call' || edges.length % 2 !== 0) return undefined;
  const path: string[] = [];
  for (let at = 0; at < edges.length; at += 2) {
    if (!['attr', 'key', 'index', 'id'].includes(edges[at]!)) return undefined;
    try {
      path.push(decodeURIComponent(edges[at + 1]!));
    } catch {
      return undefined;
    }
  }
  return { object, path };
}

/** Formats a reference; the inverse of {@link parseReference}. */
export function formatReference(reference: Reference): string {
  const { scheme, entity, project, kind, name, version } = reference;
  return `${scheme}:///${entity}/${project}/${kind}/${name}${version === undefined ? '' : `:${version}`}`;
}

/** Formats the reference to a version of a stored object. `projectId` is `entity/project`. */
export function objectReference(projectId: string, name: string, version: string): string {
  return formatReference({ scheme: referenceScheme, ...splitProjectId(projectId), kind: 'object', name, version });
}

/** A reference of any service's scheme; only its form is checked. */
export const referenceText = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9+.-]*:\/\/\S+$/, 'must be a reference like weave:///entity/project/object/name:version');
