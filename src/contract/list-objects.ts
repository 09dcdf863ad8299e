import * as z from 'zod';

/** Query parameters of the object lists; numbers arrive as text. */
export const listObjectsQuery = z.strictObject({
  limit: z.coerce.number().int().min(0).optional(),
  offset: z.coerce.number().int().min(0).optional(),
});

export type ListObjectsQuery = z.infer<typeof listObjectsQuery>;

/** One stored evaluation, dataset or scorer: a line of the answer. */
export const storedObject = z.looseObject({
  object_id: z.string(),
  digest: z.string(),
  version_index: z.int().nullish(),
  created_at: z.string().nullish(),
  name: z.string().nullish(),
  description: z.string().nullish(),
});

export type StoredObject = z.infer<typeof storedObject>;
