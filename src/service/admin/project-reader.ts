import { type SelectQueryBuilder, sql } from 'kysely';
import { groupBy } from '../../core/append-to.ts';
import { inBatchesBySize } from '../../core/in-batches.ts';
import { parseStoredJson } from '../../core/json/exact-number.ts';
import { ownMember } from '../../core/json/member-at.ts';
import { jsonColumns } from '../storage/call-rows.ts';
import type { Database } from '../storage/database.ts';
import type { Tables } from '../storage/database-tables.ts';
import { inChunks, selectByIds, selectInProject } from '../storage/in-chunks.ts';
import { withMarks } from '../storage/object-versions.ts';
import { selectPlaces } from '../storage/row-tables.ts';

/** A stored version of an object, with the members that mark its class. */
export type StoredVersion = Pick<Tables['objects'], 'object_id' | 'digest' | 'version_index'> & { val: unknown };

/** A recorded call as it is stored. Values that were not recorded are undefined. */
export type StoredCall = Omit<Tables['calls'], 'memory_bytes' | 'latency' | (typeof jsonColumns)[number]> &
  Partial<Record<(typeof jsonColumns)[number], unknown>>;

/** An item of a queue, with the state of each annotator, the latest last. */
export type StoredItem = Pick<Tables['queue_items'], 'id' | 'call_id' | 'annotation_state' | 'annotator_user_id'> & {
  display_fields: string[];
  progress: Tables['annotator_progress'][];
};

export type StoredJudgement = Omit<Tables['feedback'], 'memory_bytes' | 'payload'> & {
  payload: Record<string, unknown>;
};

type StoredTable = Pick<Tables['row_tables'], 'digest' | 'row_count'>;

/** Reads everything that the service has stored of one project. */
export type ProjectReader = ReturnType<typeof readerOf>;

/** Number of rows, and of their memory in bytes, that are read at once. */
const rowsPerRead = 500;
const bytesPerRead = 16 * 1024 * 1024;

/** The tables whose rows belong to a project and are copied, by what a person calls their rows. */
const countedTables = {
  files: 'files',
  tables: 'row_tables',
  objects: 'objects',
  calls: 'calls',
  queues: 'queues',
  items: 'queue_items',
  feedback: 'feedback',
  prices: 'costs',
} as const;

/** The kinds of what a project holds, in the order in which one refers to another. */
const contentKinds = Object.keys(countedTables) as ContentKind[];
export type ContentKind = keyof typeof countedTables;

/** Lists the projects that have anything of these kinds. */
export async function listStoredProjects(database: Database): Promise<string[]> {
  const found = await Promise.all(
    Object.values(countedTables).map((table) =>
      database.read((transaction) => transaction.selectFrom(table).select('project_id').distinct().execute()),
    ),
  );
  return [...new Set(found.flat().map(({ project_id }) => project_id))].sort();
}

/**
 * Returns a reader of a project. Lists come in batches that fit into memory, in an order that what is stored meanwhile does not
 * change; each batch is read in a transaction of its own.
 */
export function readerOf(database: Database, project_id: string) {
  /** Yields the rows of a table from the first to the last, by the columns that identify and order them. */
  async function* inOrder<Key extends Record<string, unknown>>(
    columns: readonly (keyof Key & string)[],
    // biome-ignore lint/suspicious/noExplicitAny: selects columns of any table
    select: (transaction: Parameters<Parameters<Database['read']>[0]>[0]) => SelectQueryBuilder<any, any, Key>,
  ): AsyncGenerator<Key[], void, undefined> {
    let last: Key | undefined;
    for (;;) {
      const keys = await database.read((transaction) => {
        let rows = select(transaction).limit(rowsPerRead);
        for (const column of columns) rows = rows.orderBy(column);
        if (last) {
          const names = sql.join(columns.map((column) => sql.ref(column)));
          const values = sql.join(columns.map((column) => ownMember(last, column)));
          rows = rows.where(sql<boolean>`(${names}) > (${values})`);
        }
        return rows.execute();
      });
      if (keys.length > 0) yield keys;
      if (keys.length < rowsPerRead) return;
      last = keys.at(-1);
    }
  }

  return {
    project_id,

    /** Counts what the project holds, and what of it cannot be copied. */
    async count(): Promise<Record<ContentKind | 'early ends' | 'runs', number>> {
      const countRows = (table: (typeof countedTables)[ContentKind] | 'early_call_ends' | 'evaluation_jobs') =>
        database.read(async (transaction) => {
          let rows = selectInProject(transaction, table, project_id).select(({ fn }) =>
            fn.countAll<number>().as('count'),
          );
          if (table === 'queues' || table === 'queue_items') rows = rows.where(sql<boolean>`deleted_at is null`);
          if (table === 'queue_items') {
            const kept = selectInProject(transaction, 'queues', project_id).select('id');
            rows = rows.where(sql<boolean>`queue_id in (${kept.where('deleted_at', 'is', null)})`);
          }
          // PostgreSQL's driver returns counts as strings.
          return Number((await rows.executeTakeFirstOrThrow()).count);
        });
      const counts = contentKinds.map(async (kind) => [kind, await countRows(countedTables[kind])] as const);
      return {
        ...(Object.fromEntries(await Promise.all(counts)) as Record<ContentKind, number>),
        'early ends': await countRows('early_call_ends'),
        runs: await countRows('evaluation_jobs'),
      };
    },

    /** Yields the digests of the files. */
    async *files(): AsyncGenerator<string, void, undefined> {
      const pages = inOrder<{ digest: string }>(['digest'], (transaction) =>
        selectInProject(transaction, 'files', project_id).select('digest'),
      );
      for await (const page of pages) yield* page.map(({ digest }) => digest);
    },

    /** Reads the bytes of a file. */
    async file(digest: string): Promise<Blob> {
      const chunks = await database.read((transaction) =>
        selectInProject(transaction, 'file_chunks', project_id)
          .select('bytes')
          .where('digest', '=', digest)
          .orderBy('chunk_index')
          .execute(),
      );
      return new Blob(chunks.map(({ bytes }) => new Uint8Array(bytes)));
    },

    /** Yields the lists of rows. */
    async *tables(): AsyncGenerator<StoredTable, void, undefined> {
      const pages = inOrder<StoredTable>(['digest'], (transaction) =>
        selectInProject(transaction, 'row_tables', project_id).select(['digest', 'row_count']),
      );
      for await (const page of pages) yield* page;
    },

    /** Yields the rows of a list with their digests, in their order. */
    async *rows(table_digest: string): AsyncGenerator<{ digest: string; val: object }[], void, undefined> {
      const places = inOrder<{ row_index: number; row_digest: string; memory_bytes: number }>(
        ['row_index'],
        (transaction) => selectPlaces(transaction, { project_id, table_digest }),
      );
      for await (const page of places) {
        for (const batch of inBatchesBySize(page, bytesPerRead, ({ memory_bytes }) => memory_bytes)) {
          const digests = batch.map(({ row_digest }) => row_digest);
          const found = await inChunks(digests, (chunk) =>
            database.read((transaction) =>
              selectInProject(transaction, 'row_contents', project_id)
                .select(['digest', 'content'])
                .where('digest', 'in', chunk)
                .execute(),
            ),
          );
          const contents = new Map(found.map(({ digest, content }) => [digest, content]));
          yield digests.map((digest) => ({ digest, val: parseStoredJson(contents.get(digest)!) as object }));
        }
      }
    },

    /**
     * Lists the versions of all objects, without their content: those of an object in their order, and those of different objects as
     * they were stored, so that a version comes after those that it refers to.
     */
    async versions(): Promise<Omit<StoredVersion, 'val'>[]> {
      const stored = await database.read((transaction) =>
        selectInProject(transaction, 'objects', project_id)
          .select(['object_id', 'digest', 'version_index'])
          .orderBy('created_at')
          .orderBy('object_id')
          .orderBy('version_index')
          .execute(),
      );
      const versionsOf = groupBy(stored, ({ object_id }) => object_id);
      for (const versions of versionsOf.values()) versions.sort((a, b) => b.version_index - a.version_index);
      return stored.map(({ object_id }) => versionsOf.get(object_id)!.pop()!);
    },

    /** Reads a version of an object; undefined if it was deleted meanwhile. */
    async version({ object_id, digest }: Pick<StoredVersion, 'object_id' | 'digest'>): Promise<unknown> {
      const row = await database.read((transaction) =>
        selectInProject(transaction, 'objects', project_id)
          .select(['content', 'base_object_class', 'leaf_object_class'])
          .where('object_id', '=', object_id)
          .where('digest', '=', digest)
          .executeTakeFirst(),
      );
      return row && withMarks(parseStoredJson(row.content), row);
    },

    /** Yields the recorded calls by their ids. */
    async *calls(): AsyncGenerator<StoredCall[], void, undefined> {
      const keys = inOrder<{ id: string; memory_bytes: number }>(['id'], (transaction) =>
        selectInProject(transaction, 'calls', project_id).select(['id', 'memory_bytes']),
      );
      for await (const page of keys) {
        for (const batch of inBatchesBySize(page, bytesPerRead, ({ memory_bytes }) => memory_bytes)) {
          const ids = batch.map(({ id }) => id);
          const rows = await database.read((transaction) =>
            selectByIds(transaction, 'calls', project_id, ids).selectAll().orderBy('id').execute(),
          );
          yield rows.map(toStoredCall);
        }
      }
    },

    /** Lists the queues, the oldest first. */
    queues(): Promise<(Omit<Tables['queues'], 'scorer_refs'> & { scorer_refs: string[] })[]> {
      return database.read(async (transaction) => {
        const rows = await selectInProject(transaction, 'queues', project_id)
          .selectAll()
          .where('deleted_at', 'is', null)
          .orderBy('created_at')
          .orderBy('id')
          .execute();
        return rows.map((row) => ({ ...row, scorer_refs: JSON.parse(row.scorer_refs) }));
      });
    },

    /** Yields the items of a queue in the order in which they were added. */
    async *items(queue_id: string): AsyncGenerator<StoredItem[], void, undefined> {
      const pages = inOrder<
        Omit<StoredItem, 'display_fields' | 'progress'> & { created_at: string; display_fields: string }
      >(['created_at', 'id'], (transaction) =>
        selectInProject(transaction, 'queue_items', project_id)
          .select(['created_at', 'id', 'call_id', 'annotation_state', 'annotator_user_id', 'display_fields'])
          .where('queue_id', '=', queue_id)
          .where('deleted_at', 'is', null),
      );
      for await (const page of pages) {
        const ids = page.map(({ id }) => id);
        const rows = await database.read((transaction) =>
          transaction
            .selectFrom('annotator_progress')
            .selectAll()
            .where('item_id', 'in', ids)
            .orderBy('updated_at')
            .execute(),
        );
        const progress = groupBy(rows, ({ item_id }) => item_id);
        yield page.map((item) => ({
          ...item,
          display_fields: JSON.parse(item.display_fields),
          progress: progress.get(item.id) ?? [],
        }));
      }
    },

    /** Lists the accounts that have judged: given feedback, or set the state of an item. */
    async annotators(): Promise<string[]> {
      const [feedback, progress] = await Promise.all([
        database.read((transaction) =>
          selectInProject(transaction, 'feedback', project_id).select('wb_user_id as user').distinct().execute(),
        ),
        database.read((transaction) =>
          selectInProject(transaction, 'queue_items', project_id)
            .innerJoin('annotator_progress', 'item_id', 'queue_items.id')
            .select('annotator_progress.annotator_user_id as user')
            .distinct()
            .execute(),
        ),
      ]);
      return [...new Set([...feedback, ...progress].map(({ user }) => user))].sort();
    },

    /** Yields the feedback, that on one call or object together and the oldest first. */
    async *feedback(): AsyncGenerator<StoredJudgement[], void, undefined> {
      type Key = Pick<Tables['feedback'], 'weave_ref' | 'created_at' | 'id' | 'wb_user_id' | 'memory_bytes'>;
      const keys = inOrder<Key>(['weave_ref', 'created_at', 'id', 'wb_user_id'], (transaction) =>
        selectInProject(transaction, 'feedback', project_id).select([
          'weave_ref',
          'created_at',
          'id',
          'wb_user_id',
          'memory_bytes',
        ]),
      );
      for await (const page of keys) {
        for (const batch of inBatchesBySize(page, bytesPerRead, ({ memory_bytes }) => memory_bytes)) {
          const ids = batch.map(({ id }) => id);
          const rows = await database.read((transaction) =>
            selectInProject(transaction, 'feedback', project_id).selectAll().where('id', 'in', ids).execute(),
          );
          const found = new Map(rows.map((row) => [`${row.id}\n${row.wb_user_id}`, row]));
          yield batch.flatMap(({ id, wb_user_id }) => {
            const row = found.get(`${id}\n${wb_user_id}`);
            return row ? [{ ...row, payload: parseStoredJson(row.payload) as Record<string, unknown> }] : [];
          });
        }
      }
    },

    /** Lists the prices of models. */
    prices(): Promise<Tables['costs'][]> {
      return database.read((transaction) =>
        selectInProject(transaction, 'costs', project_id).selectAll().orderBy('id').execute(),
      );
    },
  };
}

function toStoredCall({ memory_bytes: _, latency: _latency, ...row }: Tables['calls']): StoredCall {
  const values = jsonColumns.map((column) => [column, row[column] === null ? undefined : parseStoredJson(row[column])]);
  return { ...row, ...Object.fromEntries(values) };
}
