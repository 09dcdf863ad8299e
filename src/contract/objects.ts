import * as z from 'zod';

/** A number that arrives as text. Number() alone takes no text at all for 0, and other notations than digits. */
const count = z.preprocess(
  (text) => (/^-?\d+([.]\d+)?$/.test(String(text)) ? Number(text) : Number.NaN),
  z.number().int().min(0),
);

/** Query parameters of the object lists. */
export const listObjectsQuery = z.strictObject({ limit: count.optional(), offset: count.optional() });

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
