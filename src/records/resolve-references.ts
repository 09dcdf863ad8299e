import { asServiceFailure } from '../client/as-service-failure.ts';
import type { ServiceClient } from '../client/service-client.ts';
import type { RecordedCall } from '../contract/calls.ts';
import { parsePartReference } from '../contract/references.ts';
import type { Members } from '../core/json/json-object.ts';
import { ownMember } from '../core/json/member-at.ts';
import { memberName, pathSegments } from '../text/call-values.ts';
import { readValues } from './read-objects.ts';

/** Maximum number of references that lead to one another. */
const maxRounds = 5;
/** Columns that a request asks to expand, and members on the way to a column in which a reference is looked for. */
const maxExpandColumns = 1000;
const maxExpandDepth = 10;

/**
 * Returns the columns at which a service replaces references by the objects they lead to, so that the values at `paths`
 * can be read: every part of a path below a member of the call, up to a limit.
 */
export function expandColumns(paths: readonly string[]): string[] {
  const columns = paths.flatMap((path) => {
    const names = path.split('[', 1)[0]!.split('.');
    return names.slice(1, maxExpandDepth).map((_, index) => names.slice(0, index + 2).join('.'));
  });
  return [...new Set(columns)].slice(0, maxExpandColumns);
}

/**
 * Replaces references at `paths` of calls, and on the way to them, by the values they lead to. For services that have not
 * done so themselves. A reference that cannot be read stays.
 */
export async function resolveReferences(
  calls: readonly RecordedCall[],
  paths: readonly string[],
  service: ServiceClient,
): Promise<void> {
  const values = new Map<string, unknown>();
  for (let round = 0; round < maxRounds; round += 1) {
    const places = calls.flatMap((call) => paths.flatMap((path) => referenceOn(call, path) ?? []));
    const unread = [...new Set(places.map(({ reference }) => reference))].filter((reference) => !values.has(reference));
    const read = await readValues(unread, service).catch((error) => void asServiceFailure(error, service));
    if (!read) return;
    for (const [reference, value] of read) values.set(reference, value);
    const resolved = places.filter(({ reference }) => (values.get(reference) ?? undefined) !== undefined);
    for (const { parent, name, reference } of resolved) parent[name] = values.get(reference);
    if (resolved.length === 0) return;
  }
}

interface Place {
  parent: Members;
  name: string;
  reference: string;
}

/** Returns the first reference on a path of a call. */
function referenceOn(call: RecordedCall, path: string): Place | undefined {
  let parent: unknown = call;
  for (const segment of pathSegments(path)) {
    const name = memberName(parent, segment);
    if (typeof parent !== 'object' || parent === null || !Object.hasOwn(parent, name)) return undefined;
    const value = ownMember(parent, name);
    const isReference = typeof value === 'string' && parent !== call && parsePartReference(value) !== undefined;
    if (isReference) return { parent: parent as Members, name, reference: value };
    parent = value;
  }
  return undefined;
}
