// The tool as a tutorial describes it: zod schemas for arguments and result.
import * as z from 'zod';

export const description = 'Items of an annotation queue';

const filter = z.object({
  id: z.string().optional(),
  call_id: z.string().optional(),
  call_op_name: z.string().optional(),
  call_trace_id: z.string().optional(),
  added_by: z.string().optional(),
  annotation_states: z.array(z.enum(['unstarted', 'in_progress', 'completed', 'skipped'])).optional(),
});

export const input = {
  queue_id: z.string(),
  project_id: z.string(),
  filter: filter.optional(),
  sort_by: z.array(z.object({ field: z.string(), direction: z.enum(['asc', 'desc']) })).optional(),
  limit: z.number().int().optional(),
  offset: z.number().int().optional(),
  include_position: z.boolean().optional(),
};

const optionalText = z.string().nullish();

export const output = {
  items: z.array(
    z.object({
      id: z.string(),
      project_id: z.string(),
      queue_id: z.string(),
      call_id: z.string(),
      call_started_at: z.string(),
      call_op_name: z.string(),
      call_trace_id: z.string(),
      display_fields: z.array(z.string()),
      annotation_state: z.string(),
      created_at: z.string(),
      created_by: z.string(),
      updated_at: z.string(),
      call_ended_at: optionalText,
      added_by: optionalText,
      annotator_user_id: optionalText,
      deleted_at: optionalText,
      position_in_queue: z.number().int().nullish(),
    }),
  ),
};

/** Returns the data twice, as the specification recommends: as text for a model, structured for a program. */
export function resultOf(data) {
  return { content: [{ type: 'text', text: JSON.stringify(data) }], structuredContent: data };
}
