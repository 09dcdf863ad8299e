import * as z from 'zod';
import { projectId } from './identifiers.ts';
import { sortKey } from './sort-keys.ts';

/** One row: an object, whose members are the columns. Not copied, so that members of any name are kept. */
export const rowOfTable = z
  .unknown()
  .refine((value) => typeof value === 'object' && value !== null && !Array.isArray(value), 'must be an object')
  .meta({ type: 'object' }) as z.ZodType<Record<string, unknown>>;

/** Request to store a list of rows. */
export const createTableRequest = z.object({ table: z.object({ project_id: projectId, rows: z.array(rowOfTable) }) });
export type CreateTableRequest = z.infer<typeof createTableRequest>;

export const createTableResponse = z.looseObject({
  digest: z.string().describe('Digest of the list: 64 hexadecimal digits.'),
  row_digests: z.array(z.string()).nullish().describe('Digests of the rows, in their order.'),
});
export type CreateTableResponse = z.infer<typeof createTableResponse>;

/** One change of a list of rows; indices are 0-based and count the rows as the changes before it left them. */
const tableUpdate = z.union([
  z.object({ append: z.object({ row: rowOfTable }) }),
  z.object({ pop: z.object({ index: z.int() }) }),
  z.object({ insert: z.object({ index: z.int(), row: rowOfTable }) }),
]);

/** Request to store a list of rows that differs from a stored one. */
export const updateTableRequest = z.object({
  project_id: projectId,
  base_digest: z.string(),
  updates: z.array(tableUpdate),
});
export type UpdateTableRequest = z.infer<typeof updateTableRequest>;

export const updateTableResponse = z.looseObject({
  digest: z.string().describe('Digest of the new list.'),
  updated_row_digests: z.array(z.string()).nullish().describe('Digests of the rows added and removed, in their order.'),
});
export type UpdateTableResponse = z.infer<typeof updateTableResponse>;

/** Request for rows of a list. */
export const queryTableRequest = z.object({
  project_id: projectId,
  digest: z.string(),
  filter: z
    .object({ row_digests: z.array(z.string()).max(10_000).nullish().describe('Digests of the rows to return.') })
    .nullish(),
  sort_by: z.array(sortKey).max(20).nullish().describe('By members of a row, such as input.text; else in order.'),
  limit: z.int().min(0).nullish().describe('Maximum number of rows to return.'),
  offset: z.int().min(0).nullish().describe('Number of rows to skip.'),
});
export type QueryTableRequest = z.infer<typeof queryTableRequest>;

/** One row of a list. */
export const tableRow = z.looseObject({
  digest: z.string(),
  val: z.unknown(),
  original_index: z.int().nullish().describe('Place of the row in the list, from 0.'),
});
export type TableRow = z.infer<typeof tableRow>;

/** The rows; a list that does not exist has none. */
export const queryTableResponse = z.looseObject({ rows: z.array(tableRow) });
export type QueryTableResponse = z.infer<typeof queryTableResponse>;

/** Request for the number of rows of a list. */
export const countTableRowsRequest = queryTableRequest.pick({ project_id: true, digest: true });
export type CountTableRowsRequest = z.infer<typeof countTableRowsRequest>;

export const countTableRowsResponse = z.looseObject({ count: z.int() });
export type CountTableRowsResponse = z.infer<typeof countTableRowsResponse>;

/** Request for the numbers of rows of several lists. */
export const countRowsOfTablesRequest = z.object({
  project_id: projectId,
  digests: z.array(z.string()).max(1000).nullish().describe('Digests of the lists.'),
});
export type CountRowsOfTablesRequest = z.infer<typeof countRowsOfTablesRequest>;

/** One entry for each list that exists. */
export const countRowsOfTablesResponse = z.looseObject({
  tables: z.array(
    z.looseObject({ digest: z.string(), count: z.int(), storage_size_bytes: z.int().nullish().describe('Not known.') }),
  ),
});
export type CountRowsOfTablesResponse = z.infer<typeof countRowsOfTablesResponse>;

/** Request to store a list of rows that are stored already. */
export const createTableFromDigestsRequest = z.object({
  project_id: projectId,
  row_digests: z.array(z.string()).describe('Digests of the rows, in their order.'),
  expected_digest: z.string().nullish().describe('Digest that the list must have.'),
});
export type CreateTableFromDigestsRequest = z.infer<typeof createTableFromDigestsRequest>;

export const createTableFromDigestsResponse = z.looseObject({ digest: z.string() });
export type CreateTableFromDigestsResponse = z.infer<typeof createTableFromDigestsResponse>;
