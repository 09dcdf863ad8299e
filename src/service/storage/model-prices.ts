import { groupBy } from '../../core/append-to.ts';
import type { Transaction } from './database.ts';
import type { Tables } from './database-tables.ts';
import { inChunks, selectInProject } from './in-chunks.ts';

/** The price of one token of a model, in USD. */
export interface TokenPrice {
  prompt: number;
  completion: number;
}

/** Returns prices by model, in the order of their dates, the latest first. */
export function latestFirst(prices: readonly Tables['costs'][]): Map<string, Tables['costs'][]> {
  const byModel = groupBy(prices, ({ llm_id }) => llm_id);
  for (const ofModel of byModel.values()) ofModel.sort((a, b) => compareTexts(b.effective_date, a.effective_date));
  return byModel;
}

function compareTexts(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** Returns the price of a model that applied last at a time, in milliseconds since 1970; if none did, the latest. */
export function priceAt(latestFirstOfModel: readonly Tables['costs'][], timeMs: number): Tables['costs'] {
  return (
    latestFirstOfModel.find(({ effective_date }) => Date.parse(effective_date) <= timeMs) ?? latestFirstOfModel[0]!
  );
}

/** Reads the prices of models at a time, in milliseconds since 1970, by model; those without a price are missing. */
export async function readPricesAt(
  transaction: Transaction,
  project_id: string,
  models: readonly string[],
  timeMs: number,
): Promise<Map<string, TokenPrice>> {
  const prices = await inChunks(models, (chunk) =>
    selectInProject(transaction, 'costs', project_id).selectAll().where('llm_id', 'in', chunk).execute(),
  );
  return new Map(
    [...latestFirst(prices)].map(([model, ofModel]) => {
      const { prompt_token_cost, completion_token_cost } = priceAt(ofModel, timeMs);
      return [model, { prompt: prompt_token_cost, completion: completion_token_cost }];
    }),
  );
}
