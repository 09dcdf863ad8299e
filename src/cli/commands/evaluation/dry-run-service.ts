import { createHash } from 'node:crypto';
import { ServiceClient } from '../../../client/service-client.ts';
import type { CallParts, EndpointName, ResultOf } from '../../../contract/endpoints.ts';
import { classMembers, type ObjectVersion } from '../../../contract/objects.ts';
import { objectIdOf, objectReference } from '../../../contract/references.ts';
import { canonicalJson } from '../../../core/json/canonical-json.ts';

type Handlers = { [Name in EndpointName]?: (parts: CallParts<Name>) => ResultOf<Name> | undefined };

/**
 * Returns a function that wraps clients of the service, so that the dataset, the scorers and the evaluation which tools store
 * through them stay in memory, where the same clients read them. Everything else is read from the service.
 */
export function keepingInMemory(): (client: ServiceClient) => ServiceClient {
  const handlers = memoryHandlers();
  const wrap = (client: ServiceClient): ServiceClient =>
    new Proxy(client, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]): unknown => {
          const kept = name === 'call' ? answer(handlers, args[0] as EndpointName, args[1] as never) : undefined;
          if (kept !== undefined) return Promise.resolve(kept);
          const result: unknown = Reflect.apply(member, target, args);
          return result instanceof ServiceClient ? wrap(result) : result;
        };
      },
    });
  return wrap;
}

function answer<Name extends EndpointName>(handlers: Handlers, name: Name, parts: CallParts<Name>) {
  const handler: Handlers[Name] = handlers[name];
  return handler?.(parts);
}

/** Returns the operations of the service that store and read definitions, on the memory of one command. */
function memoryHandlers(): Handlers {
  const tables = new Map<string, Record<string, unknown>[]>();
  const objects = new Map<string, ObjectVersion>();
  const keep = (project_id: string, object_id: string, val: unknown): string => {
    const digest = digestOf(val);
    const { _class_name, _bases = [] } = val as { _class_name?: string; _bases?: string[] };
    const [base] = _bases;
    const base_object_class = base === 'Object' ? _class_name : base;
    const version = { project_id, object_id, digest, version_index: 0, kind: 'object', base_object_class, val };
    for (const name of [digest, 'latest']) objects.set(objectReference(project_id, object_id, name), version);
    return digest;
  };
  return {
    createTable: ({ body: { table } }) => {
      const digest = digestOf(table.rows);
      tables.set(digest, table.rows);
      return { digest };
    },
    createObject: ({ body: { obj } }) => ({ digest: keep(obj.project_id, obj.object_id, obj.val) }),
    createEvaluation: ({ path, body }) => {
      const object_id = objectIdOf(body.name);
      const project_id = `${path.entity}/${path.project}`;
      const digest = keep(project_id, object_id, { ...body, ...classMembers('Evaluation', 'Evaluation') });
      return { object_id, digest, version_index: 0, evaluation_ref: objectReference(project_id, object_id, digest) };
    },
    readObject: ({ body: { project_id, object_id, digest } }) => {
      const obj = objects.get(objectReference(project_id, object_id, digest));
      return obj && { obj };
    },
    countTableRows: ({ body: { digest } }) => {
      const rows = tables.get(digest);
      return rows && { count: rows.length };
    },
    queryTable: ({ body: { digest, offset, limit } }) => {
      const start = offset ?? 0;
      const rows = tables.get(digest)?.slice(start, limit == null ? undefined : start + limit);
      return rows && { rows: rows.map((val) => ({ digest: '', val })) };
    },
  };
}

/** Returns what stands for the digest of a content until it is stored. */
function digestOf(content: unknown): string {
  return createHash('sha256').update(canonicalJson(content)).digest('base64url').replaceAll(/[-_]/g, 'x');
}
