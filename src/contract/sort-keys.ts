import * as z from 'zod';

/** One sort key. Services ignore a key whose field they do not know. */
export const sortKey = z.object({
  field: z.string().describe('Field to sort by.'),
  direction: z.enum(['asc', 'desc']).describe('asc or desc.'),
});
export type SortKey = z.infer<typeof sortKey>;
