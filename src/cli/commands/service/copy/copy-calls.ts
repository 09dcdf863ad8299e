import { withFallback } from '../../../../client/with-fallback.ts';
import type { CompletedCall, StartedCall } from '../../../../contract/calls.ts';
import { splitProjectId } from '../../../../contract/identifiers.ts';
import { concurrently } from '../../../../core/concurrently.ts';
import { isJsonObject, type Members } from '../../../../core/json/json-object.ts';
import type { StoredCall } from '../../../../service/start-service.ts';
import type { CopiedNames } from './copied-names.ts';
import { type ProjectCopy, sendInHalves } from './project-copy.ts';

/** A call as the target is to have it; `ended_at` is absent if it has not ended. */
export type CopiedCall = StartedCall & { id: string; trace_id: string } & Partial<CompletedCall>;

/** Starts and ends of single calls that are sent at the same time. */
const concurrentRequests = 8;

/** Copies the recorded calls. Those that the target has, from an earlier copy, are not sent again. */
export async function copyCalls(copy: ProjectCopy): Promise<void> {
  for await (const batch of copy.reader.calls()) {
    const calls = batch.map((call) =>
      copiedCall(call, copy.names, (change) => copy.tally.change('calls', change, call.id)),
    );
    const known = await endsAtTarget(copy, calls);
    const isThere = ({ id, ended_at }: CopiedCall): boolean => known.has(id) && (!ended_at || known.get(id) !== null);
    const missing = calls.filter((call) => !isThere(call));
    copy.tally.count('calls', { there: calls.length - missing.length });
    if (copy.isDryRun) continue;
    let refused = 0;
    const refuse = ({ id }: CopiedCall, { message }: Error): void => {
      refused += 1;
      copy.tally.leave('calls', message, id);
    };
    const ended = missing.filter(({ id, ended_at }) => ended_at && !known.has(id));
    await sendInHalves(ended, (part) => recordCompleted(copy, part), refuse);
    const others = missing.filter((call) => !ended.includes(call));
    await concurrently(others, concurrentRequests, (call) =>
      sendInHalves([call], () => (known.has(call.id) ? recordEnd(copy, call) : recordStart(copy, call)), refuse),
    );
    copy.tally.count('calls', { copied: missing.length - refused });
  }
}

/** Returns the ends of those calls that the target has, by their ids; null for one that has not ended. */
export async function endsAtTarget(
  { target, names }: ProjectCopy,
  calls: readonly { id: string }[],
): Promise<Map<string, string | null>> {
  const found = await target.call('queryCalls', {
    body: {
      project_id: names.target_id,
      filter: { call_ids: calls.map(({ id }) => id) },
      columns: ['ended_at'],
      limit: calls.length,
    },
  });
  return new Map(found.map(({ id, ended_at }) => [id, ended_at ?? null]));
}

function recordCompleted({ target, names }: ProjectCopy, calls: readonly CopiedCall[]): Promise<unknown> {
  const batch = calls.map((call) => ({ ...call, ended_at: call.ended_at! }));
  return withFallback<unknown>(
    () => target.call('completeCalls', { path: splitProjectId(names.target_id), body: { batch } }),
    () =>
      target.call('recordCalls', {
        body: { batch: [...calls.map(startOf), ...calls.map(endOf)] },
      }),
  );
}

const startOf = (call: CopiedCall) => ({ mode: 'start' as const, req: { start: call } });
const endOf = ({ project_id, id, ended_at, output, exception, summary }: CopiedCall) => ({
  mode: 'end' as const,
  req: { end: { project_id, id, ended_at: ended_at!, output, exception, summary: summary ?? {} } },
});

function recordStart({ target, names }: ProjectCopy, call: CopiedCall): Promise<unknown> {
  const event = startOf(call);
  return withFallback<unknown>(
    () => target.call('startCallInProject', { path: splitProjectId(names.target_id), body: event.req }),
    () => target.call('recordCalls', { body: { batch: [event] } }),
  );
}

function recordEnd({ target, names }: ProjectCopy, call: CopiedCall): Promise<unknown> {
  const event = endOf(call);
  return withFallback<unknown>(
    () => target.call('endCallInProject', { path: splitProjectId(names.target_id), body: event.req }),
    () => target.call('recordCalls', { body: { batch: [event] } }),
  );
}

/**
 * Returns a call as the target is to have it.
 * @param note is told what will be different, because the interface has no place for it.
 */
export function copiedCall(call: StoredCall, names: CopiedNames, note: (change: string) => void): CopiedCall {
  const asMembers = (member: 'attributes' | 'inputs' | 'summary'): Members => {
    const value = call[member] ?? {};
    if (isJsonObject(value)) return value;
    note(`${member} that are no object are stored as {"value": …}`);
    return { value };
  };
  const id = names.call(call.id);
  if (id !== call.id) note('a new id, because the target takes only UUIDs');
  if (isJsonObject(call.data) && Object.keys(call.data).length > 0)
    note('members that are not in the interface are left out');
  const started: StartedCall & { id: string; trace_id: string } = {
    project_id: names.target_id,
    id,
    op_name: names.reference(call.op_name),
    display_name: call.display_name,
    trace_id: names.trace(call.trace_id),
    parent_id: call.parent_id === null ? null : names.call(call.parent_id),
    thread_id: call.thread_id,
    turn_id: call.turn_id,
    started_at: call.started_at,
    attributes: names.attributes(asMembers('attributes')),
    inputs: names.value(asMembers('inputs')),
    wb_run_id: call.wb_run_id,
  };
  const hasEnd = call.ended_at !== null || call.output != null || call.exception !== null || call.summary != null;
  if (!hasEnd) return started;
  if (call.ended_at === null) note('an output but no time of its end: it ends when it started');
  return {
    ...started,
    ended_at: call.ended_at ?? call.started_at,
    exception: call.exception,
    output: names.value(call.output),
    summary: names.value(asMembers('summary')),
  };
}
