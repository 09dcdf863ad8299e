import type { RecordedCall } from '../../contract/calls.ts';
import { splitProjectId } from '../../contract/identifiers.ts';
import { formatReference, parsePartReference, parseReference, referenceScheme } from '../../contract/references.ts';
import { inBatches, inBatchesBySize } from '../../core/in-batches.ts';
import { parseStoredJson } from '../../core/json/exact-number.ts';
import { type Members, objectOrEmpty } from '../../core/json/json-object.ts';
import { findCallRows, findCalls } from '../query/find-calls.ts';
import type { RequestBudget } from '../request-budget.ts';
import type { CallRow } from '../storage/call-rows.ts';
import type { Database, Transaction } from '../storage/database.ts';
import { contentDigest } from '../storage/digest.ts';
import { inChunks, selectInProject } from '../storage/in-chunks.ts';
import { prepareVersion, putVersion } from '../storage/object-versions.ts';

/** The operations of the calls that a run consists of. */
export const runOperations = {
  run: 'Evaluation.evaluate',
  trial: 'Evaluation.predict_and_score',
  summarize: 'Evaluation.summarize',
} as const;

/** The names that SDKs give to the operation of a trial. */
const trialOperations: readonly string[] = [runOperations.trial, 'Evaluation.predictAndScore'];

/** Returns the name of the operation of a call, whether it was recorded as a reference or as a name. */
export function operationOf({ op_name }: RecordedCall): string {
  const text = op_name ?? '';
  return parseReference(text)?.name ?? text;
}

export const isRun = (call: RecordedCall): boolean => operationOf(call) === runOperations.run;
export const isTrial = (call: RecordedCall): boolean => trialOperations.includes(operationOf(call));

/** Returns the members that a service recorded about a call of a run, in `attributes.weave`. */
export function attributesOf(call: RecordedCall): Members {
  return objectOrEmpty(objectOrEmpty(call.attributes).weave);
}

/** Maximum number of characters in the name of an object. */
const maxNameChars = 128;

/** The content of operations that no program of a user defines. */
const builtInOperation = { _type: 'CustomWeaveType', weave_type: { type: 'Op' }, files: {} };

/** Stores an operation, in a write transaction, and returns the reference to it for the `op_name` of calls; a long name loses its beginning. */
export async function operationReference(
  transaction: Transaction,
  { project_id, name, account }: { project_id: string; name: string; account: string },
): Promise<string> {
  const object_id = name.slice(-maxNameChars);
  const owner = { project_id, object_id, created_by: account };
  const classes = { kind: 'op', base_object_class: null, leaf_object_class: null } as const;
  const version = prepareVersion({ ...owner, ...classes, content: builtInOperation });
  const { digest } = await putVersion(transaction, version);
  const operation = { ...splitProjectId(project_id), kind: 'op' as const, name: object_id, version: digest };
  return formatReference({ scheme: referenceScheme, ...operation });
}

/** Returns the digest of the row of a trial: that in the reference to the row, or that of the row itself. */
export function rowDigestOf(example: unknown): string {
  const reference = typeof example === 'string' ? parsePartReference(example) : undefined;
  const last = reference?.path.at(-1);
  return last?.edge === 'id' ? last.name : contentDigest(example ?? null);
}

/** Maximum number of ids in one query. */
const idsPerQuery = 500;

/** A call of a run, with the name of its operation and the members that were read. */
export type CallOfRun = RecordedCall & { operation: string };

const columns = ['parent_id', 'op_name', 'ended_at', 'exception', 'attributes', 'inputs', 'output', 'summary'] as const;

/** Returns the call of a row. Its inputs are parsed where they are asked for; nothing asks for those of scorers. */
function toCallOfRun(row: CallRow): CallOfRun {
  const { id, parent_id, op_name, started_at, ended_at, exception, inputs } = row;
  const parsed = (json: string | null | undefined): unknown => (json == null ? null : parseStoredJson(json));
  return {
    id,
    parent_id,
    op_name,
    started_at,
    ended_at,
    exception,
    operation: operationOf(row),
    attributes: parsed(row.attributes),
    get inputs() {
      return parsed(inputs);
    },
    output: parsed(row.output),
    summary: parsed(row.summary),
  };
}

export interface CallTree {
  call: RecordedCall;
  children: CallOfRun[];
}

/** Maximum memory of the calls that are read at once, in bytes. */
const maxChildrenBytes = 16 * 1024 * 1024;
/** Maximum number of calls whose children are read at once: mostly so few that one statement reads them all. */
const maxTrees = 100;

/** Reads the calls that other calls made, for several of those at once, whose memory the budget holds until the next. */
export async function* readTrees(
  database: Database,
  project_id: string,
  calls: readonly RecordedCall[],
  budget: RequestBudget,
): AsyncGenerator<CallTree[], void, undefined> {
  const sizes = await inChunks(
    calls.map(({ id }) => id),
    (ids) =>
      database.read((transaction) =>
        selectInProject(transaction, 'calls', project_id)
          .select(({ fn }) => ['parent_id', fn.sum<number>('memory_bytes').as('bytes')])
          .where('parent_id', 'in', ids)
          .groupBy('parent_id')
          .execute(),
      ),
  );
  // PostgreSQL's driver returns sums as strings.
  const bytesByParent = new Map(sizes.map(({ parent_id, bytes }) => [parent_id, Number(bytes)]));
  const bytesOf = ({ id }: RecordedCall): number => bytesByParent.get(id) ?? 0;
  const sizeOf = (call: RecordedCall): number => Math.max(bytesOf(call), maxChildrenBytes / maxTrees);
  for (const batch of inBatchesBySize(calls, maxChildrenBytes, sizeOf)) {
    const bytes = batch.reduce((sum, call) => sum + bytesOf(call), 0);
    await budget.reserve(bytes, 'a trial has too many or too large calls');
    const trees = batch.map((call) => ({ call, children: [] as CallOfRun[] }));
    const treesById = new Map(trees.map((tree) => [tree.call.id, tree]));
    const filter = { parent_ids: [...treesById.keys()] };
    if (bytes > 0) {
      for await (const rows of findCallRows(database, { project_id, filter }, columns, { budget })) {
        for (const row of rows) treesById.get(row.parent_id!)!.children.push(toCallOfRun(row));
      }
    }
    yield trees;
    budget.release(bytes);
  }
}

/** Reads calls by their ids. Unknown ones are missing. */
export async function* readCallsById(
  database: Database,
  project_id: string,
  ids: readonly string[],
  budget: RequestBudget,
): AsyncGenerator<RecordedCall[], void, undefined> {
  for (const call_ids of inBatches(ids, idsPerQuery)) {
    yield* findCalls(database, { project_id, filter: { call_ids } }, { budget });
  }
}

/** Reads a call by its id; undefined if there is none. */
export async function findCall(
  database: Database,
  project_id: string,
  id: string,
  budget: RequestBudget,
): Promise<RecordedCall | undefined> {
  for await (const [call] of readCallsById(database, project_id, [id], budget)) return call;
  return undefined;
}

/** Counts the trials of a run that have ended. */
export async function countEndedTrials(
  transaction: Transaction,
  { project_id, call_id }: { project_id: string; call_id: string },
): Promise<number> {
  const { count } = await selectInProject(transaction, 'calls', project_id)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('parent_id', '=', call_id)
    .where('ended_at', 'is not', null)
    .where(({ eb, or }) =>
      or(trialOperations.flatMap((name) => [eb('op_name', '=', name), eb('op_name', 'like', `%/op/${name}:%`)])),
    )
    .executeTakeFirstOrThrow();
  // PostgreSQL's driver returns counts as strings.
  return Number(count);
}

/** Reads the trials of runs, with some of their members or all, in batches, in the order in which they started. */
export async function* readTrials(
  database: Database,
  project_id: string,
  runIds: readonly string[],
  budget: RequestBudget,
  members: readonly (typeof columns)[number][] = columns,
): AsyncGenerator<CallOfRun[], void, undefined> {
  const read = ['parent_id', 'op_name', ...members] as const;
  for (const id of runIds) {
    for await (const rows of findCallRows(database, { project_id, filter: { parent_ids: [id] } }, read, { budget })) {
      const trials = rows.filter(isTrial).map(toCallOfRun);
      if (trials.length > 0) yield trials;
    }
  }
}
