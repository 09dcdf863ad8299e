import { isDeepStrictEqual } from 'node:util';
import { annotationFeedbackType } from '../../src/contract/feedback.ts';
import { canonicalJson } from '../../src/core/json/canonical-json.ts';
import { project, type Workspace } from './workspace.ts';

/** The model's change to the item of one call. */
export interface ItemChange {
  annotation_state?: string;
  /** The latest value by field. */
  judgements?: Record<string, unknown>;
  notes?: string[];
}

const noteType = 'wandb.note.1';
const annotationPrefix = annotationFeedbackType('');

/** Reads from the service what the model did to the items of all queues, by call. */
async function readChanges(workspace: Workspace): Promise<Map<string, ItemChange>> {
  const client = await workspace.client();
  const changes = new Map<string, ItemChange>();
  const changeOf = (callId: string): ItemChange => {
    const change = changes.get(callId) ?? {};
    changes.set(callId, change);
    return change;
  };
  for (const { id } of await client.call('queryQueues', { body: { project_id: project } })) {
    const { items } = await client.call('queryQueueItems', {
      path: { queue_id: id },
      body: { project_id: project, limit: 1000 },
    });
    for (const { call_id, annotation_state, annotator_user_id } of items) {
      if (!workspace.isSeeded(annotator_user_id)) changeOf(call_id).annotation_state = annotation_state;
    }
  }
  const { result } = await client.call('queryFeedback', { body: { project_id: project, limit: 1000 } });
  for (const { weave_ref, feedback_type, payload, wb_user_id } of result) {
    if (workspace.isSeeded(wb_user_id)) continue;
    const change = changeOf(weave_ref.slice(weave_ref.lastIndexOf('/') + 1));
    if (feedback_type === noteType) {
      change.notes = [...(change.notes ?? []), String(payload?.note)];
    } else {
      const isAnnotation = feedback_type.startsWith(annotationPrefix);
      const field = isAnnotation ? feedback_type.slice(annotationPrefix.length) : feedback_type;
      change.judgements = { ...change.judgements, [field]: payload?.value };
    }
  }
  return changes;
}

/**
 * Compares what the model did to the items of all queues with what it should have done, by call. Returns one fault for each
 * item that is not as it should be.
 */
export async function faultsOfItems(
  workspace: Workspace,
  expected: Readonly<Record<string, ItemChange>>,
): Promise<string[]> {
  const changes = await readChanges(workspace);
  const faults: string[] = [];
  for (const callId of new Set([...Object.keys(expected), ...changes.keys()])) {
    const wanted = expected[callId] ?? {};
    const found = changes.get(callId) ?? {};
    if (!isDeepStrictEqual(found, wanted)) {
      faults.push(`${callId} should have ${canonicalJson(wanted)} but has ${canonicalJson(found)}`);
    }
  }
  return faults;
}
