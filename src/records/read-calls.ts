import { asServiceFailure } from '../client/as-service-failure.ts';
import type { ServiceClient } from '../client/service-client.ts';
import { callColumns, type RecordedCall } from '../contract/calls.ts';
import type { QueueItem } from '../contract/queue-items.ts';
import { concurrently } from '../core/concurrently.ts';
import { type ErrorCode, HeddleError } from '../core/errors.ts';
import { inBatches } from '../core/in-batches.ts';
import { callPath, maxPaths } from '../text/call-values.ts';
import { expandColumns, resolveReferences } from './resolve-references.ts';

type CallOrFailure = RecordedCall | HeddleError;
/** Calls per batch request: covers a default page, and 100 calls of 300 kB still fit a response. */
const callsPerBatch = 100;

/** Single-call requests in flight at once; fewer of calls so large that they did not fit one response together. */
const concurrentReads = 32;
const concurrentLargeReads = 2;

/** Maximum number of different paths to values of the calls of a page. */
const maxPathsTogether = 1000;

/** Failures that the batch request itself may have caused: its calls are then read one by one. */
const batchFailures = new Set<ErrorCode>([
  'unsupported',
  'too_large',
  'bad_response',
  'not_found',
  'invalid_request',
  'validation_failed',
]);

const missingCall = new HeddleError({
  code: 'not_found',
  message: 'The recorded call does not exist.',
  hint: 'Skip it.',
});

/**
 * Reads the recorded calls of queue items, with the members that the display fields need. The result maps each call id
 * to the call, or to the error that kept it from being read.
 * @throws HeddleError only when the client has cancelled.
 */
export async function readCalls(
  items: readonly Pick<QueueItem, 'call_id' | 'display_fields'>[],
  project: string,
  service: ServiceClient,
): Promise<Map<string, CallOrFailure>> {
  const ids = [...new Set(items.map(({ call_id }) => call_id))];
  const fields = new Set(items.flatMap(({ display_fields }) => display_fields.slice(0, maxPaths)));
  const paths = [...fields].filter((path) => path.length <= callPath.maxLength!).slice(0, maxPathsTogether);
  const outcomes = new Map<string, CallOrFailure>();
  for (const batch of inBatches(ids, callsPerBatch)) {
    const read = await readBatch(batch, paths, project, service);
    const results =
      typeof read === 'number' ? await concurrently(batch, read, (id) => readOne(id, project, service)) : read;
    const calls = results.filter((result): result is RecordedCall => !(result instanceof HeddleError));
    await resolveReferences(calls, paths, service);
    for (const [index, id] of batch.entries()) outcomes.set(id, results[index]!);
  }
  return outcomes;
}

/** Reads calls with one request. Returns how many to read at once when each of them must be read on its own. */
async function readBatch(
  ids: string[],
  paths: string[],
  project_id: string,
  service: ServiceClient,
): Promise<CallOrFailure[] | number> {
  if (service.facts.unsupportedOperations.has('queryCalls')) return concurrentReads;
  try {
    const columns = columnsFor(['exception', ...paths]);
    const expand_columns = expandColumns(paths);
    const query = {
      project_id,
      filter: { call_ids: ids },
      limit: ids.length,
      ...(columns && { columns }),
      ...(expand_columns.length > 0 && { expand_columns }),
    };
    const found = await service.call('queryCalls', { body: query });
    const calls = new Map(found.map((call) => [call.id, call]));
    return ids.map((id) => calls.get(id) ?? missingCall);
  } catch (error) {
    const failure = asServiceFailure(error, service);
    if (failure.code === 'unsupported') service.facts.unsupportedOperations.add('queryCalls');
    if (!batchFailures.has(failure.code)) return ids.map(() => failure);
    return failure.code === 'too_large' ? concurrentLargeReads : concurrentReads;
  }
}

function readOne(id: string, project_id: string, service: ServiceClient): Promise<CallOrFailure> {
  return service.call('readCall', { body: { project_id, id } }).then(
    ({ call }) => call ?? missingCall,
    (error) => asServiceFailure(error, service),
  );
}

/** Returns the columns that values at paths need; undefined (all columns) when one is not a known member of a call. */
export function columnsFor(paths: readonly string[]): string[] | undefined {
  const columns = [...new Set(['id', ...paths.map((path) => path.split('[', 1)[0]!)])];
  return columns.every((path) => callColumns.includes(path.split('.', 1)[0]!)) ? columns : undefined;
}
