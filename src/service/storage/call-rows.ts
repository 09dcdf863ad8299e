import { type RawBuilder, sql } from 'kysely';
import type { RecordedCall } from '../../contract/calls.ts';
import { parseReference } from '../../contract/references.ts';
import { parseStoredJson, plainNumber, storedJson } from '../../core/json/exact-number.ts';
import { isJsonObject, type Members } from '../../core/json/json-object.ts';
import { microsecondsOf, shortTimestamp } from '../../core/timestamps.ts';
import { type Tables, tables } from './database-tables.ts';
import { memoryBytesOf } from './memory-bytes.ts';

/** Columns with JSON. They are the largest, so a query reads only those that it needs. */
export const jsonColumns = ['attributes', 'inputs', 'output', 'summary', 'data'] as const;
export type JsonColumn = (typeof jsonColumns)[number];

/** Returns SQL of the bytes of some columns with text, which the engines know without reading it. */
export function bytesOf(columns: readonly string[]): RawBuilder<number> {
  return sql`${sql.join(
    columns.map((column) => sql`coalesce(octet_length(${sql.ref(column)}), 0)`),
    sql` + `,
  )}`;
}

type MemberColumn = Exclude<keyof Tables['calls'], JsonColumn | 'memory_bytes' | 'latency'>;
const otherColumns: readonly string[] = [...jsonColumns, 'memory_bytes', 'latency'];
/** Columns with members of calls that are not JSON. */
export const memberColumns = Object.keys(tables.calls.columns).filter(
  (column): column is MemberColumn => !otherColumns.includes(column),
);
/** Columns that every query of calls reads. */
export const smallColumns = [...memberColumns, 'latency'] as const;

type KeyColumn = 'project_id' | 'id' | 'op_name' | 'trace_id' | 'started_at' | 'ended_at';
const keyColumns = ['project_id', 'id', 'op_name', 'trace_id', 'started_at', 'ended_at'] as const;
/** Columns with text, which an import may give any type. */
const textColumns = memberColumns.filter(
  (column): column is Exclude<MemberColumn, KeyColumn> => !keyColumns.some((key) => key === column),
);

/** A row of a call of which perhaps not all JSON columns were read. */
export type CallRow = Pick<Tables['calls'], (typeof smallColumns)[number]> & Partial<Pick<Tables['calls'], JsonColumn>>;

/** The members of a call that every row has. */
type RowKey = Pick<Tables['calls'], KeyColumn>;

const membersWithColumns = new Set<string>([
  ...keyColumns,
  ...textColumns,
  ...jsonColumns.filter((column) => column !== 'data'),
]);

/** Returns the row of a call: its key, and the other recorded members, in which members of the key are ignored. */
export function toCallRow(key: RowKey, members: Members): Tables['calls'] {
  const texts = Object.fromEntries(textColumns.map((name) => [name, toText(members[name])])) as Pick<
    Tables['calls'],
    (typeof textColumns)[number]
  >;
  const others = Object.entries(members).filter(([name]) => !membersWithColumns.has(name));
  const values = {
    attributes: toJson(members.attributes),
    inputs: toJson(members.inputs),
    output: toJson(members.output),
    summary: toJson(members.summary),
    data: others.length === 0 ? '{}' : storedJson(Object.fromEntries(others)),
  };
  const memory_bytes = memoryBytesOf(...Object.values(texts), ...Object.values(values));
  const latency = latencyOf(key.started_at, key.ended_at, values.summary);
  // Spreading objects with so many members together takes ten times as long as all the rest.
  return Object.assign({ memory_bytes, latency }, key, texts, values);
}

/** Formats a recorded value for a JSON column; null for a missing one. */
export function toJson(value: unknown): string | null {
  return value === undefined ? null : storedJson(value);
}

/** The members of a call in the order of responses, with the values that a call without them has. */
export const emptyMembers = {
  display_name: null,
  parent_id: null,
  ended_at: null,
  attributes: {},
  inputs: {},
  output: null,
  summary: null,
  exception: null,
  wb_user_id: null,
  wb_run_id: null,
  thread_id: null,
  turn_id: null,
  wb_run_step: null,
  wb_run_step_end: null,
  deleted_at: null,
  storage_size_bytes: null,
  total_storage_size_bytes: null,
};

/** Returns the call of a row. Members whose columns were not read are empty. */
export function toCall(row: CallRow): RecordedCall {
  // Unknown members stay readable, but cannot override the columns.
  const others = row.data === undefined || row.data === '{}' ? undefined : (parseStoredJson(row.data) as Members);
  // A spread of so many members takes five times as long, but only it may copy a member called __proto__.
  const call: RecordedCall = others
    ? { ...emptyMembers, ...others, id: row.id }
    : Object.assign({}, emptyMembers, { id: row.id });
  if (others) call.deleted_at = toText(others.deleted_at);
  for (const column of ['attributes', 'inputs', 'output'] as const) {
    if (row[column] != null) call[column] = parseStoredJson(row[column]);
  }
  for (const column of memberColumns) (call as Members)[column] = row[column];
  call.started_at = shortTimestamp(row.started_at);
  call.ended_at = row.ended_at && shortTimestamp(row.ended_at);
  if (row.summary !== undefined)
    call.summary = deriveSummary(call, row.summary === null ? {} : parseStoredJson(row.summary), row.latency);
  return call;
}

/** Adds what the public service derives from the other members: the status, the latency and the name for display. */
function deriveSummary(call: RecordedCall, recorded: unknown, latency: number | null): unknown {
  const summary = recorded ?? {};
  if (!isJsonObject(summary)) return summary;
  const { status, latency_ms, trace_name, display_name, ...weave } = Object((summary as Members).weave) as Members;
  const name = call.op_name ?? '';
  return {
    ...summary,
    weave: {
      ...weave,
      status: statusOf(call, summary as Members),
      ...(latency !== null && { latency_ms: latency }),
      ...(call.display_name ? { display_name: call.display_name } : { trace_name: parseReference(name)?.name ?? name }),
    },
  };
}

/** Returns what the column `latency` has for a call. */
export function latencyOf(started_at: string, ended_at: string | null, summary: string | null): number | null {
  if (!ended_at) return null;
  const hasMembers = summary === null || summary === 'null' || summary.trimStart().startsWith('{');
  return hasMembers ? millisecondsBetween(started_at, ended_at) : null;
}

/** Returns the whole milliseconds between two stored times of a call. */
export function millisecondsBetween(started_at: string, ended_at: string): number {
  return Math.trunc((microsecondsOf(ended_at) - microsecondsOf(started_at)) / 1000);
}

function statusOf({ exception, ended_at }: RecordedCall, { status_counts }: Members): string {
  if (exception) return 'error';
  if (!ended_at) return 'running';
  const error = plainNumber((Object(status_counts) as Members).error);
  return typeof error === 'number' && error > 0 ? 'descendant_error' : 'success';
}

/** Converts a recorded value to a string, since an import may contain anything. */
function toText(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
