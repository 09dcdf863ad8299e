import * as z from 'zod';
import { projectId } from './identifiers.ts';

/** Returns the feedback type of human annotations with this name. */
export const annotationFeedbackType = (name: string): string => `wandb.annotation.${name}`;

/** Request to create feedback on a recorded call. It is safe to repeat only with an `id` that the client chose. */
export const createFeedbackRequest = z.strictObject({
  project_id: projectId,
  weave_ref: z.string().describe('Reference to the call.'),
  feedback_type: z.string().min(1),
  payload: z.record(z.string(), z.unknown()),
  annotation_ref: z.string().nullish(),
  queue_id: z.string().nullish(),
  id: z.string().nullish(),
});
export type CreateFeedbackRequest = z.infer<typeof createFeedbackRequest>;

/** The stored feedback. */
export const createFeedbackResponse = z.looseObject({
  id: z.string(),
  created_at: z.string(),
  wb_user_id: z.string().nullish(),
  payload: z.record(z.string(), z.unknown()).nullish(),
});
export type CreateFeedbackResponse = z.infer<typeof createFeedbackResponse>;
