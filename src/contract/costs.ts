import * as z from 'zod';
import { emptyResponse, expressionQuery, timestamp } from './calls.ts';
import { endpoint, projectInBody } from './endpoint.ts';
import { projectId } from './identifiers.ts';
import { sortKey } from './sort-keys.ts';

/** The price of the tokens of a model. */
const price = z.object({
  prompt_token_cost: z.number().describe('Price of one token of the prompt.'),
  completion_token_cost: z.number().describe('Price of one token of the reply.'),
  prompt_token_cost_unit: z.string().nullish().describe('USD by default.'),
  completion_token_cost_unit: z.string().nullish().describe('USD by default.'),
  effective_date: timestamp.nullish().describe('When the price begins to apply; now by default.'),
  provider_id: z.string().nullish(),
});

export const storedCost = z.looseObject({
  id: z.string().optional(),
  llm_id: z.string().optional().describe('Name of the model.'),
  prompt_token_cost: z.number().optional(),
  completion_token_cost: z.number().optional(),
  prompt_token_cost_unit: z.string().optional(),
  completion_token_cost_unit: z.string().optional(),
  effective_date: z.string().optional(),
  provider_id: z.string().optional(),
});
export type StoredCost = z.infer<typeof storedCost>;

export const costEndpoints = {
  createCosts: endpoint({
    summary: 'Store prices of models',
    path: '/cost/create',
    projects: projectInBody,
    request: z.object({
      project_id: projectId,
      costs: z.record(z.string(), price).describe('Prices by the names of the models.'),
    }),
    // The id of each price with the name of its model.
    response: z.looseObject({ ids: z.array(z.array(z.string())) }),
    writes: true,
    repeatable: false,
  }),
  queryCosts: endpoint({
    summary: 'Query prices of models',
    path: '/cost/query',
    projects: projectInBody,
    request: z.object({
      project_id: projectId,
      fields: z.array(z.string()).max(1000).nullish().describe('Members of a price to return; all of them by default.'),
      query: expressionQuery.nullish(),
      sort_by: z
        .array(sortKey)
        .max(20)
        .nullish()
        .describe('By members of a price; in the order of creation by default.'),
      limit: z.int().min(0).nullish().describe('Maximum number of prices to return.'),
      offset: z.int().min(0).nullish().describe('Number of prices to skip.'),
    }),
    response: z.looseObject({ results: z.array(storedCost) }),
  }),
  purgeCosts: endpoint({
    summary: 'Delete prices of models',
    path: '/cost/purge',
    projects: projectInBody,
    // The query names ids: `$eq` of `id` and a literal, or `$or` of several.
    request: z.object({ project_id: projectId, query: expressionQuery }),
    response: emptyResponse,
    writes: true,
    repeatable: true,
  }),
};
