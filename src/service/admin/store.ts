import * as z from 'zod';
import { projectId as projectIdSchema } from '../../contract/identifiers.ts';
import { objectNamePattern, objectReference } from '../../contract/references.ts';
import { errorDetails } from '../../contract/validation-errors.ts';
import { HeddleError } from '../../core/errors.ts';
import { type Account, addAccount } from '../http/authentication.ts';
import type { Database } from '../storage/database.ts';
import { type ObjectVersion, putVersion } from '../storage/object-versions.ts';
import { openDatabase } from '../storage/open-database.ts';
import type { ObjectKind } from '../storage/tables.ts';
import { type ImportResult, type ImportTarget, importItems } from './import-items.ts';

const messages = z.array(z.looseObject({ role: z.string() })).min(1);

/** What may be put in, by kind: the value as a person writes it becomes the content as it is kept. */
const storable = {
  prompt: z.union([messages.transform((list) => ({ messages: list })), z.looseObject({ messages })]),
  dataset: z.array(z.looseObject({})).transform((rows) => ({ rows })),
  scorer: z.looseObject({}),
};

export type StorableKind = keyof typeof storable;

/** What a store holds, by project. */
export interface Listing {
  project_id: string;
  queues: { id: string; name: string; items: number; states: Record<string, number> }[];
  objects: {
    object_id: string;
    kind: ObjectKind;
    versions: (Omit<ObjectVersion, 'object_id'> & { created_at: string })[];
  }[];
}

/** The storage, for whoever can open it: the service's credentials are not asked for. */
export interface Store {
  /** Makes an account with random secrets, which are told only this once. Throws `conflict` where the name is taken. */
  addUser(name: string): Promise<Account>;
  /** Loads queue items; see {@link importItems}. */
  importItems(source: AsyncIterable<string> | Iterable<string>, target: ImportTarget): Promise<ImportResult>;
  /**
   * Keeps a version of a stored object. A prompt is a list of messages or `{messages}`, a dataset a list of rows, a scorer
   * any object. The same content is the same version.
   */
  putObject(kind: StorableKind, projectId: string, name: string, value: unknown): Promise<ObjectVersion>;
  /** What is there, in one project or in all, oldest versions first. */
  list(projectId?: string): Promise<Listing[]>;
  /** What is wrong with the storage; empty when it is sound. */
  integrityCheck(): Promise<string[]>;
  close(): Promise<void>;
}

/**
 * Opens the storage, a SQLite file or a `postgres://` URL, making what is missing. Throws a HeddleError that says why it
 * cannot.
 */
export async function openServiceStore(data: string): Promise<Store> {
  const database = await openDatabase(data);
  return {
    addUser: (name) => addAccount(database, name),
    importItems: (source, target) => importItems(database, source, target),
    putObject: (kind, projectId, name, value) => putObject(database, kind, projectId, name, value),
    list: (projectId) => list(database, projectId),
    integrityCheck: () => database.integrityCheck(),
    close: () => database.close(),
  };
}

async function putObject(database: Database, kind: StorableKind, projectId: string, name: string, value: unknown) {
  const checked = z
    .object({
      project: projectIdSchema,
      name: z.string().regex(objectNamePattern, 'must be 1 to 128 letters, digits, dots, hyphens or underscores'),
      [kind]: storable[kind] as z.ZodType,
    })
    .safeParse({ project: projectId, name, [kind]: value });
  if (!checked.success) {
    const detail = errorDetails(checked.error, 'arguments');
    throw new HeddleError({
      code: 'invalid_arguments',
      message: `The ${kind} was not stored: ${detail.map(({ loc, msg }) => [...loc.slice(1), msg].join(': ')).join('; ')}`,
      hint: {
        prompt: 'A prompt is a JSON array of messages like {"role":"system","content":"…"}, or {"messages":[…]}.',
        dataset: 'A dataset is a JSON array of rows, each an object.',
        scorer: 'A scorer is a JSON object.',
      }[kind],
      detail,
    });
  }
  const object = { project_id: projectId, object_id: name, kind, content: checked.data[kind], created_by: 'cli' };
  return database.write((transaction) => putVersion(transaction, object));
}

async function list(database: Database, projectId: string | undefined): Promise<Listing[]> {
  const { queues, counts, objects } = await database.read(async (transaction) => {
    const all = projectId === undefined;
    const queues = transaction
      .selectFrom('queues')
      .select(['project_id', 'id', 'name'])
      .where('deleted_at', 'is', null)
      .$if(!all, (query) => query.where('project_id', '=', projectId!));
    const counts = transaction
      .selectFrom('queue_items')
      .select(({ fn }) => ['project_id', 'queue_id', 'annotation_state', fn.countAll<number>().as('items')])
      .where('deleted_at', 'is', null)
      .$if(!all, (query) => query.where('project_id', '=', projectId!))
      .groupBy(['project_id', 'queue_id', 'annotation_state']);
    const objects = transaction
      .selectFrom('objects')
      .select(['project_id', 'object_id', 'kind', 'digest', 'version_index', 'created_at'])
      .$if(!all, (query) => query.where('project_id', '=', projectId!));
    return {
      queues: await queues.orderBy('project_id').orderBy('id').execute(),
      counts: await counts.execute(),
      objects: await objects.orderBy('project_id').orderBy('object_id').orderBy('version_index').execute(),
    };
  });

  const listings = new Map<string, Listing>();
  const listing = (project_id: string): Listing => {
    const known = listings.get(project_id) ?? { project_id, queues: [], objects: [] };
    listings.set(project_id, known);
    return known;
  };
  for (const { project_id, id, name } of queues) {
    const own = counts.filter((count) => count.project_id === project_id && count.queue_id === id);
    const states = Object.fromEntries(own.map(({ annotation_state, items }) => [annotation_state, Number(items)]));
    const items = Object.values(states).reduce((sum, count) => sum + count, 0);
    listing(project_id).queues.push({ id, name, items, states });
  }
  for (const { project_id, object_id, kind, ...version } of objects) {
    const known = listing(project_id).objects;
    let object = known.find((other) => other.object_id === object_id && other.kind === kind);
    if (!object) {
      object = { object_id, kind, versions: [] };
      known.push(object);
    }
    object.versions.push({ ...version, reference: objectReference(project_id, object_id, version.digest) });
  }
  return [...listings.values()].sort((a, b) => (a.project_id < b.project_id ? -1 : 1));
}
