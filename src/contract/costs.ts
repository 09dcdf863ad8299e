import * as z from 'zod';
import { normalizeTimestamp } from '../core/timestamps.ts';
import { expressionQuery } from './calls.ts';
import { projectId } from './identifiers.ts';
import { sortKey } from './sort-keys.ts';

/** The price of the tokens of a model. */
const price = z.object({
  prompt_token_cost: z.number().describe('Price of one token of the prompt.'),
  completion_token_cost: z.number().describe('Price of one token of the reply.'),
  prompt_token_cost_unit: z.string().nullish().describe('USD by default.'),
  completion_token_cost_unit: z.string().nullish().describe('USD by default.'),
  effective_date: z
    .string()
    .refine((text) => normalizeTimestamp(text) !== undefined, 'must be an ISO 8601 date and time')
    .nullish()
    .describe('When the price begins to apply; now by default.'),
  provider_id: z.string().nullish(),
});

/** Request to store prices of models. */
export const createCostsRequest = z.object({
  project_id: projectId,
  costs: z.record(z.string(), price).describe('Prices by the names of the models.'),
});
export type CreateCostsRequest = z.infer<typeof createCostsRequest>;

/** The id of each price with the name of its model. */
export const createCostsResponse = z.looseObject({ ids: z.array(z.array(z.string())) });
export type CreateCostsResponse = z.infer<typeof createCostsResponse>;

/** Request for stored prices. */
export const queryCostsRequest = z.object({
  project_id: projectId,
  fields: z.array(z.string()).max(1000).nullish().describe('Members of a price to return; all of them by default.'),
  query: expressionQuery.nullish(),
  sort_by: z.array(sortKey).max(20).nullish().describe('By members of a price; in the order of creation by default.'),
  limit: z.int().min(0).nullish().describe('Maximum number of prices to return.'),
  offset: z.int().min(0).nullish().describe('Number of prices to skip.'),
});
export type QueryCostsRequest = z.infer<typeof queryCostsRequest>;

/** A stored price. */
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

export const queryCostsResponse = z.looseObject({ results: z.array(storedCost) });
export type QueryCostsResponse = z.infer<typeof queryCostsResponse>;

/** Request to delete prices. The query names ids: `$eq` of `id` and a literal, or `$or` of several. */
export const purgeCostsRequest = z.object({ project_id: projectId, query: expressionQuery });
export type PurgeCostsRequest = z.infer<typeof purgeCostsRequest>;
