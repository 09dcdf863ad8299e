import * as z from 'zod';
import { projectId as projectIdSchema } from '../../contract/identifiers.ts';
import { objectName } from '../../contract/object-name.ts';
import { objectIdOf } from '../../contract/references.ts';
import type { Database } from '../storage/database.ts';
import { prepareObject, putVersion } from '../storage/object-versions.ts';
import { openDatabase } from '../storage/open-database.ts';
import {
  addAccount,
  grantProjects,
  listAccounts,
  type ProjectGrants,
  renewAccount,
  revokeProjects,
} from './accounts.ts';
import { endSessionsOf, type InvitedPerson, invitePerson } from './board-sessions.ts';
import { checkArguments } from './check-arguments.ts';
import { type ImportTarget, importItems } from './import-items.ts';
import { listContents } from './list-contents.ts';
import { listStoredProjects, readerOf } from './project-reader.ts';

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
    renewUser: (name: string) => renewAccount(database, name),
    grant: (name: string, grants: ProjectGrants) => grantProjects(database, name, grants),
    revoke: (name: string, grants: ProjectGrants) => revokeProjects(database, name, grants),
    invite: (person: InvitedPerson) => invitePerson(database, person),
    endSessions: (name?: string) => endSessionsOf(database, name),
    listUsers: () => database.read(listAccounts),
    importItems: (source: AsyncIterable<string> | Iterable<string>, target: ImportTarget) =>
      importItems(database, source, target),
    putObject: (kind: StorableKind, projectId: string, name: string, value: unknown) =>
      putObject(database, kind, projectId, name, value),
    list: (projectId?: string) => database.read((transaction) => listContents(transaction, projectId)),
    projects: () => listStoredProjects(database),
    reader: (projectId: string) => readerOf(database, projectId),
    integrityCheck: () => database.integrityCheck(),
    close: () => database.close(),
  };
}

/** Stores a version of an object, unless the same content is stored already. */
async function putObject(database: Database, kind: StorableKind, projectId: string, name: string, value: unknown) {
  const { schema, hint } = storable[kind];
  const objectSchema = z.object({
    project: projectIdSchema,
    name: objectName,
    [kind]: schema as z.ZodType,
  });
  const object = { project: projectId, name, [kind]: value };
  const { [kind]: content } = checkArguments(objectSchema, object, `The ${kind} was not stored`, hint);
  const version = prepareObject(kind, {
    project_id: projectId,
    object_id: objectIdOf(name),
    content,
    created_by: 'cli',
  });
  return database.write((transaction) => putVersion(transaction, version));
}
