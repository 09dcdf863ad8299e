import type { RecordedCall } from '../../contract/calls.ts';
import type { StoredCost } from '../../contract/costs.ts';
import { floatNumber } from '../../core/json/exact-number.ts';
import type { Members } from '../../core/json/json-object.ts';
import { firstNumber } from '../../core/statistics/call-totals.ts';
import { normalizeTimestamp, shortTimestamp, withoutZone } from '../../core/timestamps.ts';
import { allOf, ComparedRecord, compileCondition, idsIn } from '../query/condition.ts';
import { sortRecords } from '../query/sort-records.ts';
import type { RequestBudget } from '../request-budget.ts';
import type { Database } from '../storage/database.ts';
import type { Tables } from '../storage/database-tables.ts';
import { newIds } from '../storage/ids.ts';
import { deleteByIds, selectInProject } from '../storage/in-chunks.ts';
import { latestFirst, priceAt } from '../storage/model-prices.ts';
import { inTransaction, type OperationHandler } from './operation.ts';
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
        effective_date: price.effective_date == null ? now : shortTimestamp(normalizeTimestamp(price.effective_date)!),
        created_at: now,
        created_by: account,
      })
      .execute();
  }
  return { ids: models.map(([llm_id], index) => [ids[index]!, llm_id]) };
});

/**
 * Reads prices, by default in the order of their creation.
 * @throws Refusal 422 for a query that cannot be evaluated, 413 for one that takes too much work.
 */
export const queryCosts: OperationHandler<'queryCosts'> = async ({ body, budget }, { database }) => {
  const { project_id, query, sort_by, fields } = body;
  const rows = await readPrices(database, project_id, budget);
  const costs: StoredCost[] = rows.map(({ project_id: _, created_at: _time, created_by: _account, ...cost }) => ({
    ...cost,
    ...asFloats(cost),
    effective_date: withoutZone(cost.effective_date),
  }));
  const condition = query ? compileCondition(query.$expr) : allOf([]);
  const accepted: StoredCost[] = [];
  for (const cost of costs) {
    await budget.scan(bytesPerPrice, condition.scans);
    if (condition.accepts(new ComparedRecord(cost))) accepted.push(cost);
  }
  const found = await sortRecords(accepted, sort_by ?? [], (cost) => cost, budget);
  const offset = body.offset ?? 0;
  const page = found.slice(offset, offset + (body.limit ?? found.length));
  return { results: page.map((cost) => pickMembers(cost, fields)) };
};

/** Deletes prices by their ids, in a write transaction. @throws Refusal 400 for any other query. */
export const purgeCosts = inTransaction('purgeCosts', async (transaction, { body: { project_id, query } }) => {
  await deleteByIds(transaction, 'costs', project_id, idsIn(query.$expr));
  return {};
});

const bytesPerPrice = 1000;

async function readPrices(database: Database, project_id: string, budget: RequestBudget): Promise<Tables['costs'][]> {
  const prices = await database.read((transaction) =>
    selectInProject(transaction, 'costs', project_id).selectAll().orderBy('id').execute(),
  );
  budget.hold(prices.length * bytesPerPrice, 'delete prices that no longer apply');
  return prices;
}

/**
 * Returns the function that adds to the summaries of calls of a project what the models in `summary.usage` cost, as far as their
 * prices are stored.
 */
export function createCostAdder(
  database: Database,
  project_id: string,
  budget: RequestBudget,
): (calls: readonly RecordedCall[]) => Promise<void> {
  let read: Promise<Map<string, Tables['costs'][]>> | undefined;
  return async (calls) => {
    read ??= readPrices(database, project_id, budget).then(latestFirst);
    const prices = await read;
    for (const call of calls) {
      const summary = Object(call.summary) as Members;
      const costs: [string, Members][] = [];
      for (const [llm_id, usage] of Object.entries(Object(summary.usage) as Members)) {
        const ofModel = prices.get(llm_id);
        if (!ofModel) continue;
        await budget.scan(ofModel.length, 1);
        const startedAt = Date.parse(call.started_at ?? '');
        costs.push([llm_id, costOf(priceAt(ofModel, startedAt), Object(usage) as Members)]);
      }
      if (costs.length === 0) continue;
      call.summary = { ...summary, weave: { ...Object(summary.weave), costs: Object.fromEntries(costs) } };
    }
  };
}

function asFloats({
  prompt_token_cost,
  completion_token_cost,
}: Pick<Tables['costs'], 'prompt_token_cost' | 'completion_token_cost'>) {
  return {
    prompt_token_cost: floatNumber(prompt_token_cost),
    completion_token_cost: floatNumber(completion_token_cost),
  };
}

function costOf({ project_id, id: _, llm_id: _llm, ...price }: Tables['costs'], usage: Members): Members {
  const prompt_tokens = firstNumber(usage, 'prompt_tokens', 'input_tokens') ?? 0;
  const completion_tokens = firstNumber(usage, 'completion_tokens', 'output_tokens') ?? 0;
  return {
    prompt_tokens,
    completion_tokens,
    requests: firstNumber(usage, 'requests') ?? 0,
    total_tokens: firstNumber(usage, 'total_tokens') ?? 0,
    prompt_tokens_total_cost: floatNumber(prompt_tokens * price.prompt_token_cost),
    completion_tokens_total_cost: floatNumber(completion_tokens * price.completion_token_cost),
    ...price,
    ...asFloats(price),
    effective_date: withoutZone(price.effective_date).replace('T', ' '),
    created_at: withoutZone(price.created_at).replace('T', ' '),
    pricing_level: 'project',
    pricing_level_id: project_id,
  };
}
