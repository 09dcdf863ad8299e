import type { CallsFilter } from '../../contract/calls.ts';
import { allOf, type Condition, hasStringIn, isNull, isOneOf, isOneOfNames } from './condition.ts';

const filterColumns = [
  ['call_ids', 'id'],
  ['trace_ids', 'trace_id'],
  ['parent_ids', 'parent_id'],
  ['thread_ids', 'thread_id'],
  ['turn_ids', 'turn_id'],
  ['wb_user_ids', 'wb_user_id'],
  ['wb_run_ids', 'wb_run_id'],
] as const;

/** Returns the condition that every member of a filter matches. */
export function filterCondition(filter: CallsFilter): Condition {
  const { op_names, input_refs, output_refs, trace_roots_only } = filter;
  const conditions: Condition[] = [];
  for (const [member, column] of filterColumns) {
    const values = filter[member];
    if (values?.length) conditions.push(isOneOf(column, values));
  }
  if (op_names?.length) conditions.push(isOneOfNames('op_name', op_names));
  if (input_refs?.length) conditions.push(hasStringIn('inputs', input_refs));
  if (output_refs?.length) conditions.push(hasStringIn('output', output_refs));
  if (trace_roots_only) conditions.push(isNull('parent_id'));
  return allOf(conditions);
}
