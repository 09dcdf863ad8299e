import * as z from 'zod';
import { projectId } from './path-segments.ts';
import { recordedCall } from './read-call.ts';

/** Members of a call that a query can ask for. */
export const callColumns: readonly string[] = Object.keys(recordedCall.shape);

/** Request of the call query; the answer has one call a line, the one that started first at the top. */
export const queryCallsRequest = z.strictObject({
  project_id: projectId,
  filter: z
    .strictObject({
      call_ids: z
        .array(z.string())
        .max(1000)
        .nullish()
        .describe(
          'Only these calls; those that the project does not have are left out. An empty list filters nothing.',
        ),
    })
    .nullish(),
  limit: z.int().min(0).nullish().describe('Most calls to return.'),
  offset: z.int().min(0).nullish().describe('Calls to pass over first.'),
  columns: z
    .array(z.string().regex(new RegExp(`^(${callColumns.join('|')})([.].*)?$`)))
    .nullish()
    .describe('Members of a call to fill, like inputs; of one like inputs.question only that, or the whole inputs.'),
});

export type QueryCallsRequest = z.infer<typeof queryCallsRequest>;
