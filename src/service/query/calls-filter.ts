import type { CallsFilter, RecordedCall } from '../../contract/calls.ts';

type Predicate = (call: RecordedCall) => boolean;

/** Returns the test that a call passes if it matches every member of a filter. */
export function matchesFilter(filter: CallsFilter): Predicate {
  const tests: Predicate[] = [];
  const equals = (values: string[] | null | undefined, read: (call: RecordedCall) => unknown): void => {
    if (!values?.length) return;
    const accepted = new Set<unknown>(values);
    tests.push((call) => accepted.has(read(call)));
  };
  const contains = (values: string[] | null | undefined, read: (call: RecordedCall) => unknown): void => {
    if (!values?.length) return;
    const accepted = new Set<unknown>(values);
    tests.push((call) => hasString(read(call), accepted));
  };
  equals(filter.call_ids, (call) => call.id);
  equals(filter.trace_ids, (call) => call.trace_id);
  equals(filter.parent_ids, (call) => call.parent_id);
  equals(filter.thread_ids, (call) => call.thread_id);
  equals(filter.turn_ids, (call) => call.turn_id);
  equals(filter.wb_user_ids, (call) => call.wb_user_id);
  equals(filter.wb_run_ids, (call) => call.wb_run_id);
  contains(filter.input_refs, (call) => call.inputs);
  contains(filter.output_refs, (call) => call.output);
  if (filter.op_names?.length) tests.push(isOneOf(filter.op_names));
  if (filter.trace_roots_only) tests.push((call) => (call.parent_id ?? null) === null);
  return (call) => tests.every((test) => test(call));
}

function hasString(value: unknown, accepted: ReadonlySet<unknown>): boolean {
  if (typeof value !== 'object' || value === null) return accepted.has(value);
  return Object.values(value).some((member) => hasString(member, accepted));
}

/** Compares the name of an operation. A reference whose version is `*` stands for all versions. */
function isOneOf(names: readonly string[]): Predicate {
  const exact = new Set<unknown>(names);
  const prefixes = names.filter((name) => name.endsWith(':*')).map((name) => name.slice(0, -1));
  return ({ op_name }) => exact.has(op_name) || prefixes.some((prefix) => op_name?.startsWith(prefix));
}
