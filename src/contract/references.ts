import { undefinedOnError } from '../core/errors.ts';
import { splitProjectId } from './identifiers.ts';

/** The scheme of references at the embedded service, which is that of the public service. */
export const referenceScheme = 'weave';

/**
 * A parsed reference. `version` is a digest, `latest`, `vN` (0-based) or an alias; calls and tables, whose name is their
 * digest, have none.
 */
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

/**
 * Returns the object id that services make of a name: in lower case, with `_` for spaces and slashes, without `<` and `>`.
 * Not every name has one that is valid.
 */
export function objectIdOf(name: string): string {
  return name.replaceAll(/[ /]/g, '_').replaceAll(/[<>]/g, '').toLowerCase();
}

// Groups with names would take most of the time, and every recorded call has a reference.
const referencePattern =
  /^([A-Za-z][A-Za-z0-9+.-]*):\/\/\/([^/:?#]+)\/([^/:?#]+)\/(object|op|table|call)\/([\p{L}\p{N}_.-]{1,128})(?::([^/:\s]+))?$/u;

/**
 * Parses `<scheme>:///<entity>/<project>/<kind>/<name>:<version>`. Returns undefined for any other text, including an
 * object or op without a version.
 */
export function parseReference(text: string): Reference | undefined {
  const found = referencePattern.exec(text);
  if (!found) return undefined;
  const [, scheme = '', entity = '', project = '', kind, name = '', version] = found;
  if ((kind === 'object' || kind === 'op') !== (version !== undefined)) return undefined;
  const named = { scheme, entity, project, kind: kind as Reference['kind'], name };
  return version === undefined ? named : { ...named, version };
}

/** Ways from a value to a part of it: a member, an entry of a list, or a row of a table by its digest. */
const edges = ['attr', 'key', 'index', 'id'] as const;

/** One step from a value to a part of it. */
export interface PathStep {
  edge: (typeof edges)[number];
  name: string;
}

/** A reference to a part of an object or table: the object, and the steps that lead to the part. */
export interface PartReference {
  object: Reference;
  path: PathStep[];
}

/** Maximum number of steps in a reference. */
const maxSteps = 100;

/**
 * Parses a reference to an object or a part of it, like `…/object/name:version/attr/rows/index/0`, or to a row of a table.
 * Returns undefined for any other text.
 */
export function parsePartReference(text: string): PartReference | undefined {
  // A scheme, two empty parts, entity, project, kind and name come before the part.
  const segments = text.split('/', 7 + 2 * maxSteps + 1);
  const object = parseReference(segments.slice(0, 7).join('/'));
  const steps = segments.slice(7);
  if (!object || object.kind === 'call' || steps.length % 2 !== 0 || steps.length > 2 * maxSteps) return undefined;
  // A table itself has no value that could be returned.
  if (object.kind === 'table' && steps.length === 0) return undefined;
  const path: PathStep[] = [];
  for (let at = 0; at < steps.length; at += 2) {
    const edge = edges.find((name) => name === steps[at]);
    const name = undefinedOnError(() => decodeURIComponent(steps[at + 1]!));
    if (!edge || name === undefined) return undefined;
    path.push({ edge, name });
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

/** Returns the id of the recorded call that a reference names. */
export function callIdOf(reference: string): string {
  return reference.split('/').slice(6).join('/');
}

/** Formats the reference to a recorded call. `projectId` is `entity/project`. */
export function callReference(projectId: string, callId: string): string {
  return formatReference({ scheme: referenceScheme, ...splitProjectId(projectId), kind: 'call', name: callId });
}
