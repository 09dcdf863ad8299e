import type { ExpressionBuilder } from 'kysely';
import * as z from 'zod';
import type { BodyOf } from '../../contract/endpoints.ts';
import { classMembers, type ObjectVersion, type StoredObject } from '../../contract/objects.ts';
import { objectNamePattern, type PartReference, parsePartReference } from '../../contract/references.ts';
import {
  comparisonScorerClass,
  llmJudgeScorer,
  llmJudgeScorerClass,
  llmModel,
  llmModelClass,
} from '../../contract/scorers.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { inBatches, inBatchesBySize } from '../../core/in-batches.ts';
import { exactJson, parseStoredJson } from '../../core/json/exact-number.ts';
import { objectOrEmpty } from '../../core/json/json-object.ts';
import type { RequestBudget } from '../request-budget.ts';
import type { Database, Transaction } from '../storage/database.ts';
import type { Tables } from '../storage/database-tables.ts';
import { inChunks, selectInProject } from '../storage/in-chunks.ts';
import { memoryBytesOf, totalMemoryOf } from '../storage/memory-bytes.ts';
import {
  findVersion,
  objectClasses,
  prepareVersion,
  putVersion,
  versionsOf,
  withMarks,
} from '../storage/object-versions.ts';
import { createPartReader } from '../storage/read-part.ts';
import { totalOrder } from '../storage/total-order.ts';
import { inTransaction, type OperationHandler, type OperationInput } from './operation.ts';

/**
 * Stores a version of an object; storing the same content again returns the existing version.
 * @throws Refusal 403 for an invalid name, 400 for a value that does not fit the class.
 */
export const createObject: OperationHandler<'createObject'> = async (
  { body: { obj }, account, budget },
  { database },
) => {
  const { project_id, object_id, builtin_object_class } = obj;
  if (!objectNamePattern.test(object_id)) throw new Refusal(403, `Invalid object name: ${object_id}`);
  const content = builtin_object_class ? withClass(obj.val, builtin_object_class) : obj.val;
  const version = prepareVersion({ project_id, object_id, ...classesOf(content), content, created_by: account });
  await budget.parse(version.memory_bytes);
  const { digest } = await database.write((transaction) => putVersion(transaction, version));
  return { digest, object_id };
};

const typeName = z.enum(['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']);

/** A field of annotation queues. Its schema is a JSON Schema. */
const annotationSpec = z.looseObject({
  name: z.string().nullish(),
  description: z.string().nullish(),
  field_schema: z
    .looseObject({
      type: z.union([typeName, z.array(typeName)]).optional(),
      enum: z.array(z.unknown()).optional(),
      minimum: z.number().optional(),
      maximum: z.number().optional(),
    })
    .default({}),
  unique_among_creators: z.boolean().default(false),
  op_scope: z.array(z.string()).nullish().default(null),
});

/** The classes that the service knows: the schema of their values, if it checks them, and the class that they extend. */
const knownClasses = new Map<string, { schema?: z.ZodType<Record<string, unknown>>; base: string }>([
  ['AnnotationSpec', { schema: annotationSpec, base: 'AnnotationSpec' }],
  [llmModelClass, { schema: llmModel, base: 'Model' }],
  [llmJudgeScorerClass, { schema: llmJudgeScorer, base: 'Scorer' }],
  [comparisonScorerClass, { base: 'Scorer' }],
]);

/** Checks a value against its class, and adds the members with which the SDK marks the class. */
function withClass(val: unknown, className: string): Record<string, unknown> {
  const { schema = z.looseObject({}), base = className } = knownClasses.get(className) ?? {};
  const parsed = schema.safeParse(val);
  if (!parsed.success) throw new Refusal(400, `Invalid ${className}: ${z.prettifyError(parsed.error)}`);
  return { ...parsed.data, ...classMembers(base, className) };
}

const marked = z.looseObject({ _class_name: z.string(), _bases: z.array(z.string()) });
const markedOp = z.looseObject({
  _type: z.literal('CustomWeaveType'),
  weave_type: z.looseObject({ type: z.literal('Op') }),
});

/** Returns the kind and the classes of a value, which the SDK states in members of the value. */
function classesOf(val: unknown): Pick<Tables['objects'], 'kind' | 'base_object_class' | 'leaf_object_class'> {
  if (markedOp.safeParse(val).success) return { kind: 'op', base_object_class: null, leaf_object_class: null };
  const { success, data } = marked.safeParse(val);
  if (!success) return { kind: 'object', base_object_class: null, leaf_object_class: null };
  const leaf = data._class_name;
  // Bases are listed nearest first; the one just before Object is the base class.
  const base = data._bases[data._bases.indexOf('Object') - 1];
  return { kind: 'object', base_object_class: base ?? leaf, leaf_object_class: leaf };
}

/**
 * Reads one version of an object.
 * @throws Refusal 404 when there is none.
 */
export const readObject = inTransaction('readObject', async (transaction, { body, budget }) => {
  const { project_id, object_id, digest } = body;
  const row = await findVersion(transaction, { project_id, object_id, version: digest });
  if (!row) throw await versionNotFound(transaction, body);
  budget.hold(row.memory_bytes);
  const latest = await versionsOf(transaction, body)
    .select(({ fn }) => fn.max('version_index').as('latest_index'))
    .executeTakeFirstOrThrow();
  const { content, ...version } = row;
  return { obj: toVersion({ ...version, ...latest }, content) };
});

/**
 * Deletes versions of an object for good, in a write transaction: all that are named, or none.
 * @throws Refusal 404 for an unknown version, or an object without versions.
 */
export const deleteObject = inTransaction('deleteObject', async (transaction, { body }) => {
  const { project_id, object_id, digests } = body;
  const named = new Set<string>();
  for (const version of digests ?? []) {
    const row = await findVersion(transaction, { project_id, object_id, version });
    if (!row) throw new Refusal(404, `Object ${object_id}:${version} not found`);
    named.add(row.digest);
  }
  const deleted = digests?.length
    ? [...named]
    : (await versionsOf(transaction, body).select('digest').execute()).map(({ digest }) => digest);
  if (deleted.length === 0) throw new Refusal(404, `Object ${object_id} not found`);
  await inChunks(deleted, (chunk) =>
    transaction
      .deleteFrom('objects')
      .where('project_id', '=', project_id)
      .where('object_id', '=', object_id)
      .where('digest', 'in', chunk)
      .execute(),
  );
  const deleted_at = new Date().toISOString();
  await inChunks(deleted, (chunk) =>
    transaction
      .insertInto('deleted_versions')
      .values(chunk.map((digest) => ({ project_id, object_id, digest, deleted_at })))
      .onConflict((conflict) => conflict.columns(['project_id', 'object_id', 'digest']).doUpdateSet({ deleted_at }))
      .execute(),
  );
  return { num_deleted: deleted.length };
});

/** Returns the refusal of a version that does not exist, which tells when it was deleted. */
async function versionNotFound(
  transaction: Transaction,
  { project_id, object_id, digest }: BodyOf<'readObject'>,
): Promise<Refusal> {
  const deleted = await selectInProject(transaction, 'deleted_versions', project_id)
    .select('deleted_at')
    .where('object_id', '=', object_id)
    .where('digest', '=', digest)
    .executeTakeFirst();
  if (!deleted) return new Refusal(404, `Object ${object_id}:${digest} not found`);
  const { deleted_at } = deleted;
  const reason = `Object ${object_id}:${digest} was deleted at ${deleted_at}`;
  return new Refusal(404, reason, { body: { reason, deleted_at } });
}

/** Selects the index of the latest version of an object. */
function latestIndex({ selectFrom }: ExpressionBuilder<Tables, 'objects'>) {
  return selectFrom('objects as version')
    .select(({ fn }) => fn.max('version.version_index').as('latest'))
    .whereRef('version.project_id', '=', 'objects.project_id')
    .whereRef('version.object_id', '=', 'objects.object_id');
}

const sortFields = ['created_at', 'object_id'] as const;

/**
 * Reads versions of objects, by default the oldest first.
 * @throws Refusal 413 for versions whose content is too large in total.
 */
export const queryObjects: OperationHandler<'queryObjects'> = async ({ body, budget }, { database }) => {
  const found = await findVersions(database, body);
  if (body.metadata_only) return { objs: found.map((row) => toVersion(row, undefined)) };
  budget.hold(totalMemoryOf(found), 'ask for fewer versions at once, or for metadata_only');
  const objs: ObjectVersion[] = [];
  for await (const versions of readVersions(database, found, budget)) objs.push(...versions);
  return { objs };
};

type FoundVersion = Omit<Tables['objects'], 'content'> & { latest_index: number | null };

/** Finds versions of objects as {@link queryObjects} does, without their content. */
function findVersions(database: Database, body: BodyOf<'queryObjects'>): Promise<FoundVersion[]> {
  return database.read((transaction) => {
    let versions = selectInProject(transaction, 'objects', body.project_id)
      .select(['project_id', 'object_id', 'digest', 'version_index', 'kind', 'base_object_class', 'leaf_object_class'])
      .select(['memory_bytes', 'created_at', 'created_by'])
      .select((eb) => latestIndex(eb).as('latest_index'))
      .limit(body.limit ?? Number.MAX_SAFE_INTEGER)
      .offset(body.offset ?? 0);
    const { base_object_classes, leaf_object_classes, object_ids, is_op, latest_only } = body.filter ?? {};
    if (base_object_classes?.length) versions = versions.where('base_object_class', 'in', base_object_classes);
    if (leaf_object_classes?.length) versions = versions.where('leaf_object_class', 'in', leaf_object_classes);
    if (object_ids?.length) versions = versions.where('object_id', 'in', object_ids);
    if (is_op != null) versions = versions.where('kind', '=', is_op ? 'op' : 'object');
    if (latest_only) versions = versions.where('version_index', '=', latestIndex);
    const order = totalOrder(body.sort_by, sortFields, { field: 'created_at', direction: 'asc' });
    for (const { column, direction } of order) {
      if (column !== 'id') versions = versions.orderBy(column, direction);
    }
    return versions.orderBy('object_id').orderBy('version_index').execute();
  });
}

/** Number of versions, and of their bytes, that are read at once. */
const versionsPerRead = 100;
const bytesPerRead = 16 * 1024 * 1024;

/** Reads the content of found versions, in batches. One that was deleted since it was found is missing. */
async function* readVersions(
  database: Database,
  found: readonly FoundVersion[],
  budget: RequestBudget,
): AsyncGenerator<ObjectVersion[], void, undefined> {
  for (const sized of inBatchesBySize(found, bytesPerRead, ({ memory_bytes }) => memory_bytes)) {
    for (const batch of inBatches(sized, versionsPerRead)) {
      const rows = await database.read((transaction) =>
        selectInProject(transaction, 'objects', batch[0]!.project_id)
          .select(['object_id', 'version_index', 'content'])
          .where(({ eb, or }) =>
            or(
              batch.map(({ object_id, version_index }) =>
                eb.and([eb('object_id', '=', object_id), eb('version_index', '=', version_index)]),
              ),
            ),
          )
          .execute(),
      );
      const contents = new Map(rows.map((row) => [`${row.object_id}:${row.version_index}`, row.content]));
      const versions: ObjectVersion[] = [];
      for (const row of batch) {
        const content = contents.get(`${row.object_id}:${row.version_index}`);
        if (content === undefined) continue;
        await budget.parse(row.memory_bytes);
        versions.push(toVersion(row, content));
      }
      yield versions;
    }
  }
}

/**
 * Reads the values of references, in their order; null for a part that does not exist.
 * @throws Refusal 400 for text that is not a reference, or whose version is not a digest; 404 for an object that does not exist, or that the account may not see; 413 for values that are too large
 * in total.
 */
export const readReferences: OperationHandler<'readReferences'> = async (
  { body: { refs }, maySee, budget },
  { database },
) => {
  const vals: unknown[] = [];
  const known = new Map<string, { value: unknown; chars: number }>();
  const read = createPartReader(database, maySee, budget);
  const tooLarge = 'read fewer references at once';
  const parsedRefs = refs.map(parseDigestReference);
  for (const [index, parsed] of parsedRefs.entries()) {
    const ref = refs[index]!;
    let entry = known.get(ref);
    if (!entry) {
      const value = (await read(parsed)) ?? null;
      const { object } = parsed;
      const isUnknown = value === null && object.kind !== 'table' && (await read({ object, path: [] })) === undefined;
      if (isUnknown) throw new Refusal(404, `Ref not found: ${ref}`);
      const json = exactJson(value);
      await budget.parse(json.length);
      budget.hold(memoryBytesOf(json), tooLarge);
      entry = { value, chars: json.length };
      known.set(ref, entry);
    }
    // Each mention is written out.
    budget.hold(entry.chars, tooLarge);
    vals.push(entry.value);
  }
  return { vals };
};

/** @throws Refusal 400 for text that is not a reference, or whose version is not a digest. */
function parseDigestReference(ref: string): PartReference {
  const parsed = parsePartReference(ref);
  if (!parsed) throw new Refusal(400, `Invalid ref: ${ref}`);
  const { version } = parsed.object;
  if (version === undefined || !/^(latest|v\d+)$/.test(version)) return parsed;
  throw new Refusal(400, `Refs need a digest, not ${version}: ${ref}`);
}

/** Lists every version of a project's evaluations, the oldest first. */
export const listEvaluations: OperationHandler<'listEvaluations'> = async (input, { database }) =>
  listObjects(database, input, 'evaluation');

/** Lists every version of a project's datasets, the oldest first. */
export const listDatasets: OperationHandler<'listDatasets'> = async (input, { database }) =>
  listObjects(database, input, 'dataset');

/** Lists every version of a project's scorers, the oldest first. */
export const listScorers: OperationHandler<'listScorers'> = async (input, { database }) =>
  listObjects(database, input, 'scorer');

/** Reads a version of a dataset, with the reference to its rows. @throws Refusal 404 when there is none. */
export const readDatasetVersion = inTransaction('readDatasetVersion', async (transaction, { path, budget }) => {
  const { entity, project, object_id, digest: version } = path;
  const row = await findVersion(transaction, { project_id: `${entity}/${project}`, object_id, version });
  if (row?.base_object_class !== objectClasses.dataset[0]) {
    throw new Refusal(404, `Object ${object_id}:${version} not found`);
  }
  budget.hold(row.memory_bytes);
  const dataset = toVersion({ ...row, latest_index: null }, row.content);
  return { ...toListed(dataset, 'dataset'), rows: objectOrEmpty(dataset.val).rows };
});

async function* listObjects(
  database: Database,
  { path, query: { limit, offset }, budget }: OperationInput<'listEvaluations' | 'listDatasets' | 'listScorers'>,
  kind: 'evaluation' | 'dataset' | 'scorer',
): AsyncGenerator<StoredObject, void, undefined> {
  const found = await findVersions(database, {
    project_id: `${path.entity}/${path.project}`,
    filter: { base_object_classes: [objectClasses[kind][0]] },
    limit,
    offset,
  });
  // The content of a dataset is only its rows, which may be large.
  if (kind === 'dataset') yield* found.map((row) => toListed(toVersion(row, undefined), kind));
  else yield* readListed(database, found, kind, budget);
}

async function* readListed(
  database: Database,
  found: readonly FoundVersion[],
  kind: 'evaluation' | 'scorer',
  budget: RequestBudget,
): AsyncGenerator<StoredObject, void, undefined> {
  for (const batch of inBatchesBySize(found, bytesPerRead, ({ memory_bytes }) => memory_bytes)) {
    await budget.reserve(totalMemoryOf(batch));
    for await (const versions of readVersions(database, batch, budget)) {
      yield* versions.map((version) => toListed(version, kind));
    }
    budget.release(totalMemoryOf(batch));
  }
}

function toListed(
  { object_id, digest, version_index, created_at, val: content }: ObjectVersion,
  kind: 'evaluation' | 'dataset' | 'scorer',
): StoredObject {
  const val = content as Record<string, unknown>;
  const members = {
    object_id,
    digest,
    version_index,
    created_at,
    name: typeof val.name === 'string' ? val.name : object_id,
    description: typeof val.description === 'string' ? val.description : null,
  };
  return kind === 'evaluation' ? { ...members, ...evaluationMembers(val) } : members;
}

function evaluationMembers({ dataset, scorers, trials, evaluation_name }: Record<string, unknown>) {
  // The public service stores three operations with each evaluation; nothing here can run them.
  const operations = { evaluate_op: null, predict_and_score_op: null, summarize_op: null };
  return { dataset, scorers, trials, evaluation_name: evaluation_name ?? null, ...operations };
}

/** Returns a version as clients see it. Without its content, `val` is an empty object. */
function toVersion(row: FoundVersion, content: string | undefined): ObjectVersion {
  const { created_by, latest_index, memory_bytes: _, ...version } = row;
  return {
    ...version,
    is_latest: row.version_index === latest_index ? 1 : 0,
    deleted_at: null,
    val: content === undefined ? {} : withMarks(parseStoredJson(content), row),
    wb_user_id: created_by,
    size_bytes: content === undefined ? null : Buffer.byteLength(content),
  };
}
