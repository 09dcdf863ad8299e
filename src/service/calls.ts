import type { RecordedCall } from '../contract/read-call.ts';
import type { Session } from './database.ts';

/** A recorded call, or null where the project has none of this id (design §7; `POST /call/read`). */
export async function readCall(session: Session, projectId: string, id: string): Promise<RecordedCall | null> {
  const row = await session
    .selectFrom('calls')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .executeTakeFirst();
  if (!row) return null;
  const { data, ...columns } = row;
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
