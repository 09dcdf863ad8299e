import * as z from 'zod';
import { projectId as projectIdSchema } from '../../contract/identifiers.ts';
import { objectNamePattern, objectReference } from '../../contract/references.ts';
import type { Database, Transaction } from '../storage/database.ts';
import { objectOfKind, putVersion, type VersionId } from '../storage/object-versions.ts';
import { openDatabase } from '../storage/open-database.ts';
import { addAccount, grantProjects, listAccounts, type ProjectGrants, revokeProjects } from './accounts.ts';
import { checkArguments } from './check-arguments.ts';
import { type ImportTarget, importItems } from './import-items.ts';

const messages = z.array(z.looseObject({ role: z.string() })).min(1);

/** The kinds of objects that can be stored. Each schema converts what a person writes to the stored content. */
const storable = {
  prompt: {
    schema: z.union([messages.transform((list) => ({ messages: list })), z.looseObject({ messages })]),
    hint: 'A prompt is a JSON array of messages like {"role":"system","content":"…"}, or {"messages":[…]}.',
  },
  dataset: {
    schema: z.array(z.looseObject({})).transform((rows) => ({ rows })),
    hint: 'A dataset is a JSON array of rows, each an object.',
  },
  scorer: { schema: z.looseObject({}), hint: 'A scorer is a JSON object.' },
};
type StorableKind = keyof typeof storable;

/** The queues and objects of one project. */
export type Listing = Awaited<ReturnType<typeof list>>[number];

/** Gives direct access to the embedded service's data, without credentials. */
export type Store = Awaited<ReturnType<typeof openServiceStore>>;

/**
 * Opens a SQLite file or a `postgres://` URL and creates what is missing.
 * @throws HeddleError when the database cannot be used.
 */
export async function openServiceStore(urlOrPath: string) {
  const database = await openDatabase(urlOrPath);
  return {
    addUser: (name: string, grants?: ProjectGrants) => addAccount(database, name, grants),
    grant: (name: string, grants: ProjectGrants) => grantProjects(database, name, grants),
    revoke: (name: string, grants: ProjectGrants) => revokeProjects(database, name, grants),
    listUsers: () => database.read(listAccounts),
    importItems: (source: AsyncIterable<string> | Iterable<string>, target: ImportTarget) =>
      importItems(database, source, target),
    putObject: (kind: StorableKind, projectId: string, name: string, value: unknown) =>
      putObject(database, kind, projectId, name, value),
    list: (projectId?: string) => database.read((transaction) => list(transaction, projectId)),
    integrityCheck: () => database.integrityCheck(),
    close: () => database.close(),
  };
}

const objectName = z
  .string()
  .regex(objectNamePattern, 'must be 1 to 128 letters, digits, dots, hyphens or underscores');

/** Stores a version of an object, unless the same content is stored already. */
async function putObject(database: Database, kind: StorableKind, projectId: string, name: string, value: unknown) {
  const { schema, hint } = storable[kind];
  const objectSchema = z.object({ project: projectIdSchema, name: objectName, [kind]: schema as z.ZodType });
  const object = { project: projectId, name, [kind]: value };
  const { [kind]: content } = checkArguments(objectSchema, object, `The ${kind} was not stored`, hint);
  const newObject = objectOfKind(kind, { project_id: projectId, object_id: name, content, created_by: 'cli' });
  return database.write((transaction) => putVersion(transaction, newObject));
}

/** Lists the contents of one project, or of all. */
async function list(transaction: Transaction, projectId: string | undefined) {
  const projects = await transaction
    .selectFrom('queues')
    .select('project_id')
    .where('deleted_at', 'is', null)
    .union(transaction.selectFrom('objects').select('project_id'))
    .orderBy('project_id')
    .execute();
  const listings = [];
  for (const { project_id } of projects) {
    if (projectId !== undefined && projectId !== project_id) continue;
    const queues = await listQueues(transaction, project_id);
    listings.push({ project_id, queues, objects: await listObjects(transaction, project_id) });
  }
  return listings;
}

async function listQueues(transaction: Transaction, projectId: string) {
  const counts = await transaction
    .selectFrom('queue_items')
    .select(({ fn }) => ['queue_id', 'annotation_state', fn.countAll<number>().as('items')])
    .where('project_id', '=', projectId)
    .where('deleted_at', 'is', null)
    .groupBy(['queue_id', 'annotation_state'])
    .execute();
  const queues = await transaction
    .selectFrom('queues')
    .select(['id', 'name'])
    .where('project_id', '=', projectId)
    .where('deleted_at', 'is', null)
    .orderBy('id')
    .execute();
  return queues.map((queue) => {
    const states = counts
      .filter(({ queue_id }) => queue_id === queue.id)
      .map(({ annotation_state, items }): [string, number] => [annotation_state, Number(items)]);
    return { ...queue, items: states.reduce((sum, [, items]) => sum + items, 0), states: Object.fromEntries(states) };
  });
}

interface ListedObject {
  object_id: string;
  /** `evaluation`, `prompt`, `dataset`, `scorer`, `field`, or the class of another object in lower case. */
  kind: string;
  /** Oldest first. */
  versions: (Omit<VersionId, 'object_id'> & { created_at: string })[];
}

async function listObjects(transaction: Transaction, projectId: string) {
  const rows = await transaction
    .selectFrom('objects')
    .select(['object_id', 'kind', 'base_object_class', 'digest', 'version_index', 'created_at'])
    .where('project_id', '=', projectId)
    .orderBy('object_id')
    .orderBy('version_index')
    .execute();
  const objects = new Map<string, ListedObject>();
  for (const { object_id, kind: rowKind, base_object_class, ...version } of rows) {
    const kind = base_object_class === 'AnnotationSpec' ? 'field' : (base_object_class ?? rowKind).toLowerCase();
    const key = `${kind}/${object_id}`;
    const object = objects.get(key) ?? { object_id, kind, versions: [] };
    object.versions.push({ ...version, reference: objectReference(projectId, object_id, version.digest) });
    objects.set(key, object);
  }
  return [...objects.values()];
}
