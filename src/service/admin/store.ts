import * as z from 'zod';
import { projectId as projectIdSchema } from '../../contract/identifiers.ts';
import { objectNamePattern, objectReference } from '../../contract/references.ts';
import { errorDetails } from '../../contract/validation-errors.ts';
import { HeddleError } from '../../core/errors.ts';
import type { Database, Transaction } from '../storage/database.ts';
import { objectOfKind, putVersion, type VersionId } from '../storage/object-versions.ts';
import { openDatabase } from '../storage/open-database.ts';
import { type Account, addAccount } from './accounts.ts';
import { type ImportResult, type ImportTarget, importItems } from './import-items.ts';

const messages = z.array(z.looseObject({ role: z.string() })).min(1);

/** Schemas of the objects that can be stored; each converts what a person writes to the stored content. */
const storable = {
  prompt: z.union([messages.transform((list) => ({ messages: list })), z.looseObject({ messages })]),
  dataset: z.array(z.looseObject({})).transform((rows) => ({ rows })),
  scorer: z.looseObject({}),
};

export type StorableKind = keyof typeof storable;

/** The queues and objects of one project. */
export interface Listing {
  project_id: string;
  queues: { id: string; name: string; items: number; states: Record<string, number> }[];
  objects: {
    object_id: string;
    /** `evaluation`, `prompt`, `dataset`, `scorer`, `field`, or the class of another object in lower case. */
    kind: string;
    /** Oldest first. */
    versions: (Omit<VersionId, 'object_id'> & { created_at: string })[];
  }[];
}

/** Administers the embedded service's data directly, without credentials. */
export interface Store {
  /** Creates an account and returns its random secrets, which are not stored. Throws `conflict` if the name is taken. */
  addUser(name: string): Promise<Account>;
  /** Loads queue items; see {@link importItems}. */
  importItems(source: AsyncIterable<string> | Iterable<string>, target: ImportTarget): Promise<ImportResult>;
  /**
   * Stores a version of an object, unless the same content is stored already. A prompt is a list of messages or
   * `{messages}`, a dataset a list of rows, a scorer any object.
   */
  putObject(kind: StorableKind, projectId: string, name: string, value: unknown): Promise<VersionId>;
  /** Lists the contents of one project, or of all. */
  list(projectId?: string): Promise<Listing[]>;
  /** Returns the faults of the database; an empty list if there are none. */
  integrityCheck(): Promise<string[]>;
  close(): Promise<void>;
}

/**
 * Opens a SQLite file or a `postgres://` URL and creates what is missing.
 * @throws HeddleError when the database cannot be used.
 */
export async function openServiceStore(urlOrPath: string): Promise<Store> {
  const database = await openDatabase(urlOrPath);
  return {
    addUser: (name) => addAccount(database, name),
    importItems: (source, target) => importItems(database, source, target),
    putObject: (kind, projectId, name, value) => putObject(database, kind, projectId, name, value),
    list: (projectId) => database.read((transaction) => list(transaction, projectId)),
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
  const content = checked.data[kind];
  const object = objectOfKind(kind, { project_id: projectId, object_id: name, content, created_by: 'cli' });
  return database.write((transaction) => putVersion(transaction, object));
}

async function list(transaction: Transaction, projectId: string | undefined): Promise<Listing[]> {
  const queues = await listQueues(transaction);
  const objects = await listObjects(transaction);
  const projectIds = [...new Set([...queues, ...objects].map(({ project_id }) => project_id))];
  return projectIds
    .filter((id) => projectId === undefined || id === projectId)
    .sort()
    .map((id) => ({
      project_id: id,
      queues: queues.filter(({ project_id }) => project_id === id).map(({ project_id: _, ...queue }) => queue),
      objects: objects.filter(({ project_id }) => project_id === id).map(({ project_id: _, ...object }) => object),
    }));
}

type InProject<T> = T & { project_id: string };

async function listQueues(transaction: Transaction): Promise<InProject<Listing['queues'][number]>[]> {
  const counts = await transaction
    .selectFrom('queue_items')
    .select(({ fn }) => ['project_id', 'queue_id', 'annotation_state', fn.countAll<number>().as('items')])
    .where('deleted_at', 'is', null)
    .groupBy(['project_id', 'queue_id', 'annotation_state'])
    .execute();
  const queues = await transaction
    .selectFrom('queues')
    .select(['project_id', 'id', 'name'])
    .where('deleted_at', 'is', null)
    .orderBy('id')
    .execute();
  return queues.map((queue) => {
    const states = counts
      .filter(({ project_id, queue_id }) => project_id === queue.project_id && queue_id === queue.id)
      .map(({ annotation_state, items }): [string, number] => [annotation_state, Number(items)]);
    return { ...queue, items: states.reduce((sum, [, items]) => sum + items, 0), states: Object.fromEntries(states) };
  });
}

async function listObjects(transaction: Transaction): Promise<InProject<Listing['objects'][number]>[]> {
  const rows = await transaction
    .selectFrom('objects')
    .select(['project_id', 'object_id', 'kind', 'base_object_class', 'digest', 'version_index', 'created_at'])
    .orderBy('object_id')
    .orderBy('version_index')
    .execute();
  const objects = new Map<string, InProject<Listing['objects'][number]>>();
  for (const { project_id, object_id, kind: rowKind, base_object_class, ...version } of rows) {
    const kind = base_object_class === 'AnnotationSpec' ? 'field' : (base_object_class ?? rowKind).toLowerCase();
    const key = `${project_id}/${kind}/${object_id}`;
    const object = objects.get(key) ?? { project_id, object_id, kind, versions: [] };
    object.versions.push({ ...version, reference: objectReference(project_id, object_id, version.digest) });
    objects.set(key, object);
  }
  return [...objects.values()];
}
