import { normalizeTimestamp } from '../../../../core/timestamps.ts';
import { type ProjectCopy, sendInHalves } from './project-copy.ts';

/** The members of a price, except the time at which it begins to apply. */
const members = [
  'llm_id',
  'provider_id',
  'prompt_token_cost',
  'completion_token_cost',
  'prompt_token_cost_unit',
  'completion_token_cost_unit',
] as const;

type Price = Partial<Record<(typeof members)[number] | 'effective_date', unknown>>;

/** Copies the prices of models. A price with the same members at the target is the same, because prices have no ids to choose. */
export async function copyPrices({ reader, target, names, tally, isDryRun }: ProjectCopy): Promise<void> {
  const prices = await reader.prices();
  if (prices.length === 0) return;
  const project_id = names.target_id;
  const { results } = await target.call('queryCosts', { body: { project_id } });
  const known = new Set(results.map(keyOf));
  for (const price of prices) {
    if (known.has(keyOf(price))) {
      tally.count('prices', { there: 1 });
      continue;
    }
    if (isDryRun) continue;
    const { llm_id, provider_id, prompt_token_cost, completion_token_cost, effective_date } = price;
    const { prompt_token_cost_unit, completion_token_cost_unit } = price;
    const units = { prompt_token_cost_unit, completion_token_cost_unit };
    const cost = { provider_id, prompt_token_cost, completion_token_cost, effective_date, ...units };
    const store = async (): Promise<void> => {
      await target.call('createCosts', { body: { project_id, costs: { [llm_id]: cost } } });
      tally.count('prices', { copied: 1 });
    };
    await sendInHalves([price], store, (_, { message }) => tally.leave('prices', message, llm_id));
  }
}

function keyOf(price: Price): string {
  const time = normalizeTimestamp(String(price.effective_date)) ?? price.effective_date;
  return JSON.stringify([...members.map((name) => price[name]), time]);
}
