import type { RecordedCall } from '../../contract/calls.ts';
import type { StoredCost } from '../../contract/costs.ts';
import type { Members } from '../../core/json/json-object.ts';
import { ownMember } from '../../core/json/member-at.ts';
import { normalizeTimestamp } from '../../core/timestamps.ts';
import { compileCondition, idsIn } from '../query/condition.ts';
import { sortRecords } from '../query/sort-records.ts';
import type { Transaction } from '../storage/database.ts';
import type { Tables } from '../storage/database-tables.ts';
import { newIds } from '../storage/ids.ts';
import { deleteByIds } from '../storage/in-chunks.ts';
import { inTransaction } from './operation.ts';
import { pickMembers } from './pick-members.ts';

/** Stores prices of models, in a write transaction. */
export const createCosts = inTransaction('createCosts', async (transaction, { body, account }) => {
  const now = new Date().toISOString();
  const models = Object.entries(body.costs);
  const ids = newIds(models.length);
  for (const [index, [llm_id, price]] of models.entries()) {
    await transaction
      .insertInto('costs')
      .values({
        project_id: body.project_id,
        id: ids[index]!,
        llm_id,
        provider_id: price.provider_id ?? 'default',
        prompt_token_cost: price.prompt_token_cost,
        completion_token_cost: price.completion_token_cost,
        prompt_token_cost_unit: price.prompt_token_cost_unit ?? 'USD',
        completion_token_cost_unit: price.completion_token_cost_unit ?? 'USD',
        effective_date: price.effective_date == null ? now : normalizeTimestamp(price.effective_date)!,
        created_at: now,
        created_by: account,
      })
      .execute();
  }
  return { ids: models.map(([llm_id], index) => [ids[index]!, llm_id]) };
});

/**
 * Reads prices, by default in the order of their creation.
 * @throws Refusal 422 for a query that cannot be evaluated.
 */
export const queryCosts = inTransaction('queryCosts', async (transaction, { body }) => {
  const { project_id, query, sort_by, fields } = body;
  const rows = await readPrices(transaction, project_id);
  const costs: StoredCost[] = rows.map(({ project_id: _, created_at: _time, created_by: _account, ...cost }) => cost);
  const found = sortRecords(
    query ? costs.filter(compileCondition(query.$expr).accepts) : costs,
    sort_by ?? [],
    (cost) => cost,
  );
  const offset = body.offset ?? 0;
  const page = found.slice(offset, offset + (body.limit ?? found.length));
  return { results: page.map((cost) => pickMembers(cost, fields)) };
});

/** Deletes prices by their ids, in a write transaction. @throws Refusal 400 for any other query. */
export const purgeCosts = inTransaction('purgeCosts', async (transaction, { body: { project_id, query } }) => {
  await deleteByIds(transaction, 'costs', project_id, idsIn(query.$expr));
  return {};
});

function readPrices(transaction: Transaction, project_id: string): Promise<Tables['costs'][]> {
  return transaction.selectFrom('costs').selectAll().where('project_id', '=', project_id).orderBy('id').execute();
}

/** Adds to the summaries of calls what the models in `summary.usage` cost, as far as their prices are stored. */
export async function addCosts(
  transaction: Transaction,
  project_id: string,
  calls: readonly RecordedCall[],
): Promise<void> {
  const prices = await readPrices(transaction, project_id);
  if (prices.length === 0) return;
  for (const call of calls) {
    const summary = Object(call.summary) as Members;
    const costs = Object.entries(Object(summary.usage) as Members).flatMap(([llm_id, usage]) => {
      const price = priceAt(prices, llm_id, call.started_at ?? '');
      return price ? [[llm_id, costOf(price, Object(usage) as Members)] as const] : [];
    });
    if (costs.length === 0) continue;
    call.summary = { ...summary, weave: { ...Object(summary.weave), costs: Object.fromEntries(costs) } };
  }
}

/** Returns the price of a model that applied last when a call started; if none did, the latest. */
function priceAt(prices: readonly Tables['costs'][], model: string, startedAt: string): Tables['costs'] | undefined {
  const ofModel = sortRecords(
    prices.filter(({ llm_id }) => llm_id === model),
    [{ field: 'effective_date', direction: 'desc' }],
    (price) => price,
  );
  return ofModel.find(({ effective_date }) => effective_date <= startedAt) ?? ofModel[0];
}

function costOf({ project_id, id: _, llm_id: _llm, ...price }: Tables['costs'], usage: Members): Members {
  const count = (...names: string[]): number =>
    Number(names.map((name) => ownMember(usage, name)).find((value) => typeof value === 'number') ?? 0);
  const prompt_tokens = count('prompt_tokens', 'input_tokens');
  const completion_tokens = count('completion_tokens', 'output_tokens');
  return {
    prompt_tokens,
    completion_tokens,
    requests: count('requests'),
    total_tokens: count('total_tokens'),
    prompt_tokens_total_cost: prompt_tokens * price.prompt_token_cost,
    completion_tokens_total_cost: completion_tokens * price.completion_token_cost,
    ...price,
    pricing_level: 'project',
    pricing_level_id: project_id,
  };
}
