import * as z from 'zod';
import { endpoint, projectInPath } from './endpoint.ts';
import { rowOfTable } from './tables.ts';

export const datasetEndpoints = {
  createDataset: endpoint({
    summary: 'Store a dataset',
    description: 'The same content under the same name is the same version. The rows are stored as a table.',
    path: '/v2/{entity}/{project}/datasets',
    projects: projectInPath,
    request: z.object({
      name: z
        .string()
        .min(1)
        .nullish()
        .describe('Datasets with the same name are versions of one; Dataset by default.'),
      description: z.string().nullish(),
      rows: z.array(rowOfTable).describe('The rows: objects, whose members are the columns.'),
    }),
    response: z.looseObject({
      digest: z.string(),
      object_id: z.string().describe('Identifier that the versions share.'),
      version_index: z.int().describe('0-based index of this version.'),
    }),
    writes: true,
    repeatable: true,
  }),
};
