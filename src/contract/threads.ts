import * as z from 'zod';
import { timestamp } from './calls.ts';
import { endpoint, projectInBody } from './endpoint.ts';
import { projectId } from './identifiers.ts';
import { sortKey } from './sort-keys.ts';

/** The fields that threads can be sorted by. */
export const threadSortFields = [
  'thread_id',
  'turn_count',
  'start_time',
  'last_updated',
  'p50_turn_duration_ms',
  'p99_turn_duration_ms',
] as const;

/** A thread: the turns of a conversation, which are the calls whose id is their `turn_id`. */
const thread = z.looseObject({
  thread_id: z.string(),
  turn_count: z.int(),
  start_time: z.string(),
  last_updated: z.string().nullish(),
  first_turn_id: z.string(),
  last_turn_id: z.string(),
  p50_turn_duration_ms: z.number().nullish(),
  p99_turn_duration_ms: z.number().nullish(),
});
export type Thread = z.infer<typeof thread>;

export const threadEndpoints = {
  queryThreads: endpoint({
    summary: 'Query threads of recorded calls',
    description: 'By default the thread that was updated last comes first.',
    path: '/threads/stream_query',
    projects: projectInBody,
    request: z.object({
      project_id: projectId,
      filter: z
        .object({
          thread_ids: z.array(z.string()).max(1000).nullish(),
          after_datetime: timestamp.nullish().describe('Count only turns that started after this time.'),
          before_datetime: timestamp.nullish().describe('Count only turns that started before this time.'),
        })
        .nullish(),
      sort_by: z
        .array(sortKey)
        .max(20)
        .nullish()
        .describe(`By ${threadSortFields.join(', ')}.`),
      limit: z.int().min(0).nullish().describe('Maximum number of threads to return.'),
      offset: z.int().min(0).nullish().describe('Number of threads to skip.'),
    }),
    response: thread,
    lines: true,
  }),
};
