import * as z from 'zod';
import { type QueueItem, queueItemsFilter } from '../../contract/queue-items.ts';
import { HeddleError } from '../../core/errors.ts';
import { isOwn, learnAccount } from './authorship.ts';
import { type Judgement, judgementsOf, latestJudgements, readFeedback } from './judgements.ts';
import { shapeWithoutNull, type ToolContext } from './tool.ts';

/** The filter of queue items, with conditions on their judgements. */
export const itemsFilter = z.strictObject({
  ...shapeWithoutNull(queueItemsFilter.shape),
  judged_by: z.string().optional().describe('Judged by this annotator: the name, or a part of it.'),
  field: z.string().optional().describe('Judged in this field.'),
  value: z.unknown().optional().describe('With this value in the field.'),
  unjudged_by_me: z.boolean().optional().describe('Not judged by you.'),
});
export type ItemsFilter = z.output<typeof itemsFilter>;

/** Items that one request asks for. */
const itemsPerRequest = 1000;

type ItemQuery = Omit<Parameters<ToolContext['service']['queryQueueItems']>[1], 'project_id' | 'filter'>;

/** Returns whether a filter has conditions that need the judgements of the queue. */
export function hasJudgementConditions({ judged_by, field, value, unjudged_by_me }: ItemsFilter): boolean {
  return judged_by !== undefined || field !== undefined || value !== undefined || unjudged_by_me === true;
}

/** Returns the conditions that the service applies. */
export function serviceFilter({ judged_by, field, value, unjudged_by_me, ...filter }: ItemsFilter) {
  return filter;
}

/**
 * Reads every item of a queue that matches a filter, in the order of the query. Conditions on judgements are applied
 * here: services do not know them.
 */
export async function matchingItems(
  queueId: string,
  project_id: string,
  filter: ItemsFilter,
  access: Pick<ToolContext, 'service' | 'signal' | 'clientName'>,
  query: ItemQuery = {},
): Promise<QueueItem[]> {
  const { service, signal } = access;
  const found: QueueItem[] = [];
  for (;;) {
    const page = { ...query, filter: serviceFilter(filter), limit: itemsPerRequest, offset: found.length };
    const { items } = await service.queryQueueItems(queueId, { ...page, project_id }, { signal });
    found.push(...items);
    if (items.length < itemsPerRequest) break;
  }
  if (!hasJudgementConditions(filter)) return found;
  const judgements = judgementsOf(await readFeedback(queueId, project_id, access));
  if (filter.unjudged_by_me) {
    learnAccount(judgements, await service.accountTag(), { id: queueId, service, clientName: access.clientName });
  }
  const fits = judgementCondition(filter, judgements, access);
  return found.filter(({ call_id }) => fits(call_id));
}

function judgementCondition(
  { judged_by, field, value, unjudged_by_me }: ItemsFilter,
  judgements: readonly Judgement[],
  access: Pick<ToolContext, 'service' | 'clientName'>,
): (callId: string) => boolean {
  if (value !== undefined && field === undefined) {
    throw new HeddleError({
      code: 'invalid_arguments',
      message: 'filter.value needs filter.field.',
      hint: 'Pass the field whose value you mean.',
    });
  }
  const wanted = judged_by?.toLowerCase();
  const text = JSON.stringify(value);
  const needsJudgement = wanted !== undefined || field !== undefined;
  const matching = latestJudgements(judgements).filter(
    (judgement) =>
      (wanted === undefined || judgement.annotator.toLowerCase().includes(wanted)) &&
      (field === undefined || judgement.field === field) &&
      (value === undefined || JSON.stringify(judgement.value) === text),
  );
  const judged = new Set(matching.map(({ call_id }) => call_id));
  const own = new Set(judgements.filter((judgement) => isOwn(judgement, access)).map(({ call_id }) => call_id));
  return (callId) => (!needsJudgement || judged.has(callId)) && !(unjudged_by_me && own.has(callId));
}
