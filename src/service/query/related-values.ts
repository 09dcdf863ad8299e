import { callReference } from '../../contract/references.ts';
import { parseStoredJson } from '../../core/json/exact-number.ts';
import type { RequestBudget } from '../request-budget.ts';
import type { Database } from '../storage/database.ts';
import { inChunks } from '../storage/in-chunks.ts';
import { totalMemoryOf } from '../storage/memory-bytes.ts';
import { feedbackPath, queuePath, type Related } from './condition.ts';

/** Reads what conditions and sort keys look for beside a call: the feedback on it, and the queues that hold it. */
export interface RelatedValues {
  /** Reads what belongs to some calls, and forgets what belonged to those before. */
  load(ids: readonly string[]): Promise<void>;
  /** Returns what belongs to a call of the last load. */
  of(id: string): Related;
}

/** Returns the reader for the paths of conditions and sort keys; undefined if they need nothing beside the call. */
export function relatedValues(
  database: Database,
  project_id: string,
  paths: readonly string[],
  budget: RequestBudget,
): RelatedValues | undefined {
  const types = new Set(paths.flatMap((path) => feedbackPath(path)?.type ?? []));
  const needsQueues = paths.includes(queuePath);
  if (types.size === 0 && !needsQueues) return undefined;
  let related = new Map<string, Related>();
  let heldBytes = 0;

  const ofCall = (id: string): Related => {
    const known = related.get(id) ?? { feedback: [], queueIds: [] };
    related.set(id, known);
    return known;
  };

  async function loadFeedback(ids: readonly string[]): Promise<void> {
    const idsByReference = new Map(ids.map((id) => [callReference(project_id, id), id]));
    const rows = await inChunks([...idsByReference.keys()], (chunk) =>
      database.read((transaction) => {
        const onCalls = transaction
          .selectFrom('feedback')
          .selectAll()
          .where('project_id', '=', project_id)
          .where('weave_ref', 'in', chunk)
          // The latest feedback of a type counts.
          .orderBy('created_at', 'desc')
          .orderBy('id', 'desc');
        return (types.has('*') ? onCalls : onCalls.where('feedback_type', 'in', [...types])).execute();
      }),
    );
    heldBytes = totalMemoryOf(rows);
    await budget.reserve(heldBytes);
    await budget.parse(heldBytes);
    for (const { memory_bytes: _, payload, ...row } of rows) {
      const id = idsByReference.get(row.weave_ref);
      if (id !== undefined) ofCall(id).feedback.push({ ...row, payload: parseStoredJson(payload) });
    }
  }

  async function loadQueues(ids: readonly string[]): Promise<void> {
    const rows = await inChunks([...ids], (chunk) =>
      database.read((transaction) =>
        transaction
          .selectFrom('queues')
          .innerJoin('queue_items', (join) =>
            join
              .onRef('queue_items.project_id', '=', 'queues.project_id')
              .onRef('queue_items.queue_id', '=', 'queues.id'),
          )
          .select(['queue_items.call_id', 'queue_items.queue_id'])
          .where('queues.project_id', '=', project_id)
          .where('queues.deleted_at', 'is', null)
          .where('queue_items.deleted_at', 'is', null)
          .where('queue_items.call_id', 'in', chunk)
          .execute(),
      ),
    );
    for (const { call_id, queue_id } of rows) ofCall(call_id).queueIds.push(queue_id);
  }

  return {
    async load(ids) {
      budget.release(heldBytes);
      heldBytes = 0;
      related = new Map();
      if (types.size > 0) await loadFeedback(ids);
      if (needsQueues) await loadQueues(ids);
    },
    of: ofCall,
  };
}
