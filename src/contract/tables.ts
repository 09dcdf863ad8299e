import * as z from 'zod';
import { isJsonObject } from '../core/json/json-object.ts';
import { endpoint, projectInBody } from './endpoint.ts';
import { projectId } from './identifiers.ts';
import { sortKey } from './sort-keys.ts';

/** One row: an object, whose members are the columns. Not copied, so that members of any name are kept. */
export const rowOfTable = z.unknown().refine(isJsonObject, 'must be an object').meta({ type: 'object' }) as z.ZodType<
  Record<string, unknown>,
  Record<string, unknown>
>;

/** One change of a list of rows; indices are 0-based and count the rows as the changes before it left them. */
const tableUpdate = z.union([
  z.object({ append: z.object({ row: rowOfTable }) }),
  z.object({ pop: z.object({ index: z.int() }) }),
  z.object({ insert: z.object({ index: z.int(), row: rowOfTable }) }),
]);

/** One row of a list. */
export const tableRow = z.looseObject({
  digest: z.string(),
  val: z.unknown(),
  original_index: z.int().nullish().describe('Place of the row in the list, from 0.'),
});
export type TableRow = z.infer<typeof tableRow>;

const queryTableRequest = z.object({
  project_id: projectId,
  digest: z.string(),
  filter: z
    .object({ row_digests: z.array(z.string()).max(10_000).nullish().describe('Digests of the rows to return.') })
    .nullish(),
  sort_by: z.array(sortKey).max(20).nullish().describe('By members of a row, such as input.text; else in order.'),
  limit: z.int().min(0).nullish().describe('Maximum number of rows to return.'),
  offset: z.int().min(0).nullish().describe('Number of rows to skip.'),
});

/** The operations on lists of rows, such as the rows of a dataset. */
export const tableEndpoints = {
  createTable: endpoint({
    summary: 'Store a list of rows',
    description:
      'The rows of a dataset, for example; the same rows again are the same list. An object refers to it as weave:///entity/project/table/digest.',
    path: '/table/create',
    projects: ({ body }) => [body.table.project_id],
    request: z.object({ table: z.object({ project_id: projectId, rows: z.array(rowOfTable) }) }),
    response: z.looseObject({
      digest: z.string().describe('Digest of the list: 64 hexadecimal digits.'),
      row_digests: z.array(z.string()).nullish().describe('Digests of the rows, in their order.'),
    }),
    writes: true,
    repeatable: true,
  }),
  updateTable: endpoint({
    summary: 'Store a changed list of rows',
    description: 'The list that is changed stays as it is.',
    path: '/table/update',
    projects: projectInBody,
    request: z.object({ project_id: projectId, base_digest: z.string(), updates: z.array(tableUpdate) }),
    response: z.looseObject({
      digest: z.string().describe('Digest of the new list.'),
      updated_row_digests: z
        .array(z.string())
        .nullish()
        .describe('Digests of the rows added and removed, in their order.'),
    }),
    writes: true,
    repeatable: true,
  }),
  queryTable: endpoint({
    summary: 'Read rows of a list',
    path: '/table/query',
    projects: projectInBody,
    request: queryTableRequest,
    // A list that does not exist has no rows.
    response: z.looseObject({ rows: z.array(tableRow) }),
  }),
  createTableFromDigests: endpoint({
    summary: 'Store a list of stored rows',
    path: '/table/create_from_digests',
    projects: projectInBody,
    request: z.object({
      project_id: projectId,
      row_digests: z.array(z.string()).describe('Digests of the rows, in their order.'),
      expected_digest: z.string().nullish().describe('Digest that the list must have.'),
    }),
    response: z.looseObject({ digest: z.string() }),
    writes: true,
    repeatable: true,
  }),
  countRowsOfTables: endpoint({
    summary: 'Count the rows of several lists',
    path: '/table/query_stats_batch',
    projects: projectInBody,
    request: z.object({
      project_id: projectId,
      digests: z.array(z.string()).max(1000).nullish().describe('Digests of the lists.'),
    }),
    // One entry for each list that exists.
    response: z.looseObject({
      tables: z.array(
        z.looseObject({
          digest: z.string(),
          count: z.int(),
          storage_size_bytes: z.int().nullish().describe('Not known.'),
        }),
      ),
    }),
  }),
  countTableRows: endpoint({
    summary: 'Count the rows of a list',
    path: '/table/query_stats',
    projects: projectInBody,
    request: queryTableRequest.pick({ project_id: true, digest: true }),
    response: z.looseObject({ count: z.int() }),
  }),
};
