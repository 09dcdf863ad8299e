import type { ReadCallRequest, RecordedCall } from '../contract/read-call.ts';
import { batched } from './batched.ts';
import type { Database, Session } from './database.ts';
import { inChunks } from './in-chunks.ts';
import type { Tables } from './tables.ts';

/** Looks up a recorded call; null where the project has none of this id. */
export type ReadCall = (request: ReadCallRequest) => Promise<RecordedCall | null>;

/** Reads recorded calls (design §7; `POST /call/read`). A page of items asks for up to 50 at once, which are one query. */
export function callReader(database: Database): ReadCall {
  const rowOf = batched((requests: ReadCallRequest[]) => database.read((session) => readRows(session, requests)));
  return async (request) => {
    const row = await rowOf(request);
    return row ? callOf(row) : null;
  };
}

async function readRows(session: Session, requests: ReadCallRequest[]): Promise<(Tables['calls'] | undefined)[]> {
  const projects = [...new Set(requests.map(({ project_id }) => project_id))];
  const rows = await inChunks(
    requests.map(({ id }) => id),
    (ids) =>
      session.selectFrom('calls').selectAll().where('project_id', 'in', projects).where('id', 'in', ids).execute(),
  );
  // Another project of the same turn may have a call of the same id.
  const found = new Map(rows.map((row) => [JSON.stringify([row.project_id, row.id]), row]));
  return requests.map(({ project_id, id }) => found.get(JSON.stringify([project_id, id])));
}

function callOf({ data, ...columns }: Tables['calls']): RecordedCall {
  const recorded = JSON.parse(data) as Record<string, unknown>;
  return {
    attributes: {},
    inputs: {},
    output: null,
    summary: null,
    // Whatever else was recorded stays readable; what the columns say cannot be overridden by it.
    ...recorded,
    display_name: textOf(recorded.display_name),
    parent_id: textOf(recorded.parent_id),
    exception: textOf(recorded.exception),
    wb_user_id: textOf(recorded.wb_user_id),
    ...columns,
  };
}

/** An import may have recorded anything where readers expect text. */
function textOf(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
