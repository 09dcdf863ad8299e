import * as z from 'zod';

export const sortDirections = ['asc', 'desc'] as const;

/** One sort key. Services ignore a key whose field they do not know. */
export const sortKey = z.object({
  field: z.string().describe('Field to sort by.'),
  direction: z.enum(sortDirections).describe('asc or desc.'),
});
export type SortKey = z.infer<typeof sortKey>;
