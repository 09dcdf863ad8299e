import type { RecordedCall } from '../../contract/calls.ts';
import { callColumns } from '../../contract/calls.ts';
import type { QueueItem } from '../../contract/queue-items.ts';
import { type ErrorCode, HeddleError } from '../../core/errors.ts';
import { concurrently } from './concurrently.ts';
import type { ToolContext } from './tool.ts';

/** Calls that one request asks for: the default page is one, and calls of 300 kB still fit an answer. */
const callsAtOnce = 100;

/** Calls that are read at once where each takes a request of its own. */
const concurrentReads = 32;

/** Failures that may lie in asking for many calls together: each of them is then asked for by itself. */
const ofTheWhole = new Set<ErrorCode>([
  'unsupported',
  'too_large',
  'bad_response',
  'not_found',
  'invalid_request',
  'validation_failed',
]);

/**
 * The recorded calls of queue items by their ids, with the members that the display fields need; in the place of a call
 * that cannot be read, why.
 * @throws HeddleError only when the client has cancelled.
 */
export async function readCalls(
  items: readonly QueueItem[],
  project_id: string,
  { service, signal }: Pick<ToolContext, 'service' | 'signal'>,
): Promise<Map<string, RecordedCall | HeddleError>> {
  const outcomes = new Map<string, RecordedCall | HeddleError>();
  const ids = [...new Set(items.map(({ call_id }) => call_id))];
  const columns = columnsFor(items);

  const ofTheService = (error: unknown): HeddleError => {
    if (!(error instanceof HeddleError) || signal.aborted) throw error;
    return error;
  };
  const readTogether = async (call_ids: string[]): Promise<HeddleError | undefined> => {
    const query = { project_id, filter: { call_ids }, limit: call_ids.length, ...(columns && { columns }) };
    const found = await service.queryCalls(query, { signal }).catch(ofTheService);
    if (found instanceof HeddleError) return found;
    const calls = new Map(found.map((call) => [call.id, call]));
    for (const id of call_ids) outcomes.set(id, calls.get(id) ?? gone);
    return undefined;
  };
  const readAlone = async (id: string): Promise<void> => {
    const answer = await service.readCall({ project_id, id }, { signal }).catch(ofTheService);
    outcomes.set(id, answer instanceof HeddleError ? answer : (answer.call ?? gone));
  };

  for (let start = 0; start < ids.length; start += callsAtOnce) {
    const some = ids.slice(start, start + callsAtOnce);
    if (!service.unsupportedOperations.has('queryCalls')) {
      const failure = await readTogether(some);
      if (failure?.code === 'unsupported') service.unsupportedOperations.add('queryCalls');
      if (failure && !ofTheWhole.has(failure.code)) for (const id of some) outcomes.set(id, failure);
      if (!failure || !ofTheWhole.has(failure.code)) continue;
    }
    await concurrently(some, concurrentReads, readAlone);
  }
  return outcomes;
}

const gone = new HeddleError({ code: 'not_found', message: 'The recorded call is gone.', hint: 'Skip it.' });

/** What to ask of each call; undefined for all of it, where a display field is of a member that the interface does not name. */
function columnsFor(items: readonly QueueItem[]): string[] | undefined {
  const paths = items.flatMap(({ display_fields }) => display_fields.map((path) => path.split('[', 1)[0]!));
  const columns = [...new Set(['id', ...paths])];
  return columns.every((path) => callColumns.includes(path.split('.', 1)[0]!)) ? columns : undefined;
}
