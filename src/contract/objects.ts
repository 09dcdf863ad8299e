import * as z from 'zod';

/** A number in a query string. Number() alone would read an empty string as 0, and accept more than digits. */
const count = z.preprocess(
  (text) => (/^-?\d+([.]\d+)?$/.test(String(text)) ? Number(text) : Number.NaN),
  z.number().int().min(0),
);

/** Query parameters of the lists of objects. */
export const listObjectsQuery = z.strictObject({ limit: count.optional(), offset: count.optional() });
export type ListObjectsQuery = z.infer<typeof listObjectsQuery>;

/** The latest version of a stored evaluation, dataset or scorer. */
export const storedObject = z.looseObject({
  object_id: z.string(),
  digest: z.string(),
  version_index: z.int().nullish(),
  created_at: z.string().nullish(),
  name: z.string().nullish(),
  description: z.string().nullish(),
});
export type StoredObject = z.infer<typeof storedObject>;
