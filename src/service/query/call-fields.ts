import { Refusal } from '../../core/http/refusal.ts';
import { emptyMembers } from '../storage/call-rows.ts';
import { type ConditionColumns, feedbackPath, queuePath } from './condition.ts';

const names = new Set(['id', 'project_id', 'trace_id', 'op_name', 'started_at', ...Object.keys(emptyMembers)]);
const jsonNames = new Set(['inputs', 'output', 'attributes', 'summary']);
/** Members of the summary that the service derives; each is text or a number by itself. */
const derived = new Map([
  ['summary.weave.status', 'text'],
  ['summary.weave.trace_name', 'text'],
  ['summary.weave.latency_ms', 'other'],
] as const);
const others = new Set(['started_at', 'ended_at', 'deleted_at', 'storage_size_bytes', 'total_storage_size_bytes']);

/**
 * The fields of calls that queries may name, and what the public service holds there: JSON as text, so that a number needs
 * `$convert`. Fields and comparisons that it refuses are refused.
 */
export const callFields = {
  checkField(path: string): void {
    if (names.has(path.split('.', 1)[0]!) || path === queuePath || feedbackPath(path)) return;
    throw new Refusal(403, `Field ${path.slice(0, 200).toWellFormed()} is not allowed`);
  },

  kindOf(path: string) {
    const kind = derived.get(path as 'summary.weave.status');
    if (kind) return kind;
    if (others.has(path)) return 'other';
    return jsonNames.has(path.split('.', 1)[0]!) || feedbackPath(path) ? 'json' : 'text';
  },
} satisfies Pick<ConditionColumns, 'checkField' | 'kindOf'>;
