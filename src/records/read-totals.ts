import * as z from 'zod';
import type { ServiceClient } from '../client/service-client.ts';
import { withFallback } from '../client/with-fallback.ts';
import type { ResultOf } from '../contract/endpoints.ts';
import { maxTotalledCalls } from '../contract/usage.ts';
import { CallTotals, type OperationTotals, totalledColumns } from '../core/statistics/call-totals.ts';
import { sumOf } from '../core/statistics/score-lists.ts';
import { type PagePosition, pagePosition, pluralize } from '../text/page.ts';
import type { SelectedCalls } from './calls-query.ts';
import { operationName } from './unknown-operation.ts';

/** Calls that one request reads where the service does not add them up. */
const callsPerRequest = 2500;
/** Operations that a result shows at most; the others are added up together. */
const maxOperations = 100;

/** The time that is left for the result when reading ends, in milliseconds. */
const reserveMs = 10_000;

const sums = {
  calls: z.int(),
  errors: z.int().optional(),
  tokens: z.number().optional(),
  cost: z.number().optional().describe('USD.'),
};

/** The totals of recorded calls, in all and by operation. */
export const shownTotals = z.object({
  ...sums,
  partial: z.string().optional().describe('The calls that the totals are of, if not of all that match.'),
  unpriced_models: z.array(z.string()).optional(),
  operations: z.array(
    z.object({
      operation: z.string(),
      ...sums,
      latency_seconds: z.number().optional(),
      p95_latency_seconds: z.number().optional(),
    }),
  ),
});
export type ShownTotals = z.output<typeof shownTotals>;

type Totals = Pick<ResultOf<'callTotals'>, 'count' | 'has_more' | 'operations' | 'unpriced_models'>;

/**
 * Adds up the recorded calls of a selection by operation: at the service, or else by reading the newest calls. Operations outside of the page
 * are added up together.
 */
export async function readTotals(
  matching: SelectedCalls['matching'],
  project_id: string,
  { limit, offset }: { limit: number; offset: number },
  service: ServiceClient,
): Promise<PagePosition & { totals: ShownTotals }> {
  const { count, has_more, operations, unpriced_models } = await withFallback<Totals>(
    () => service.call('callTotals', { body: { project_id, ...matching } }),
    () => addUpNewest(matching, project_id, service),
  );
  const shown = operations.slice(offset, offset + Math.min(limit, maxOperations));
  const end = offset + shown.length;
  const others = [...operations.slice(0, offset), ...operations.slice(end)];
  const totals = {
    ...sumsOf(operations),
    calls: count,
    ...(has_more && { partial: `the newest ${count} calls; more match` }),
    ...(unpriced_models.length > 0 && { unpriced_models }),
    operations: [
      ...shown,
      ...(others.length > 0 ? [{ operation: pluralize(others.length, 'other'), ...sumsOf(others) }] : []),
    ],
  };
  return { totals, ...pagePosition(offset, shown.length, end < operations.length) };
}

async function addUpNewest(
  matching: SelectedCalls['matching'],
  project_id: string,
  service: ServiceClient,
): Promise<Totals> {
  const totals = new CallTotals();
  let has_more = true;
  for (let offset = 0; has_more && offset < maxTotalledCalls; offset += callsPerRequest) {
    if (offset > 0 && service.remainingMs < reserveMs) break;
    const calls = await service.call('queryCalls', {
      body: {
        project_id,
        ...matching,
        sort_by: [{ field: 'started_at', direction: 'desc' }],
        columns: totalledColumns,
        include_costs: true,
        // Asking for one call more than needed tells whether there are more.
        limit: callsPerRequest + 1,
        offset,
      },
    });
    has_more = calls.length > callsPerRequest;
    for (const call of calls.slice(0, callsPerRequest)) totals.add(operationName(call.op_name ?? ''), call);
    await service.pause();
  }
  return { ...totals.report(), has_more };
}

function sumsOf(operations: readonly OperationTotals[]): Omit<ShownTotals, 'operations'> {
  const sum = (member: 'calls' | 'errors' | 'tokens' | 'cost'): number | undefined =>
    sumOf(operations.flatMap((totals) => totals[member] ?? []));
  const [errors, tokens, cost] = [sum('errors'), sum('tokens'), sum('cost')];
  return {
    calls: sum('calls') ?? 0,
    ...(errors !== undefined && { errors }),
    ...(tokens !== undefined && { tokens }),
    ...(cost !== undefined && { cost: Number(cost.toPrecision(6)) }),
  };
}
