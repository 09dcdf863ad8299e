import * as z from 'zod';
import { rowOfTable } from './tables.ts';

/** Request to store a dataset; entity and project are in the path. */
export const createDatasetRequest = z.object({
  name: z.string().min(1).nullish().describe('Datasets with the same name are versions of one; Dataset by default.'),
  description: z.string().nullish(),
  rows: z.array(rowOfTable).describe('The rows: objects, whose members are the columns.'),
});
export type CreateDatasetRequest = z.infer<typeof createDatasetRequest>;

/** The stored version, or the existing one with the same content. */
export const createDatasetResponse = z.looseObject({
  digest: z.string(),
  object_id: z.string().describe('Identifier that the versions share.'),
  version_index: z.int().describe('0-based index of this version.'),
});
export type CreateDatasetResponse = z.infer<typeof createDatasetResponse>;
