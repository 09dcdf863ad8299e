import { describe, expect, it } from 'vitest';
import { bodyOf, invalidAt, refusal, startServiceWithCalls } from '../../support/service-with-calls.ts';

const service = await startServiceWithCalls();
const price = { prompt_token_cost: 0.5, completion_token_cost: 2 };
const { ids } = bodyOf(
  await service.post('/cost/create', {
    costs: {
      small: price,
      large: { ...price, prompt_token_cost_unit: 'EUR', effective_date: '2026-01-01T02:00:00+02:00' },
    },
  }),
);
const find = async (query: object) => bodyOf(await service.post('/cost/query', query)).results;

describe('prices of models', () => {
  it('are returned with what was stored, and with USD from now on by default', async () => {
    const now = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}$/);
    const units = { prompt_token_cost_unit: 'USD', completion_token_cost_unit: 'USD' };
    const stored = { ...price, ...units, provider_id: 'default' };
    expect(await find({})).toEqual([
      { ...stored, id: ids[0][0], llm_id: 'small', effective_date: now },
      {
        ...stored,
        id: ids[1][0],
        llm_id: 'large',
        prompt_token_cost_unit: 'EUR',
        effective_date: '2026-01-01T00:00:00.000',
      },
    ]);
  });

  it('are sorted and paged, with the members that were asked for', async () => {
    const sort_by = [{ field: 'llm_id', direction: 'asc' }];
    expect(await find({ sort_by, fields: ['llm_id'] })).toEqual([{ llm_id: 'large' }, { llm_id: 'small' }]);
    expect(await find({ sort_by, fields: ['llm_id'], offset: 1, limit: 1 })).toEqual([{ llm_id: 'small' }]);
    expect(await find({ limit: 0 })).toEqual([]);
    for (const member of ['limit', 'offset']) {
      expect(await service.post('/cost/query', { [member]: -1 })).toMatchObject(invalidAt('body', member));
    }
  });

  it('are deleted by their ids, and by nothing else', async () => {
    const equals = (field: string, value: string) => ({ $expr: { $eq: [{ $getField: field }, { $literal: value }] } });
    expect(await service.post('/cost/purge', { query: equals('llm_id', 'small') })).toMatchObject(refusal(400));
    expect(await find({ fields: ['llm_id'] })).toHaveLength(2);
    bodyOf(await service.post('/cost/purge', { query: equals('id', ids[0][0]) }));
    expect(await find({ fields: ['llm_id'] })).toEqual([{ llm_id: 'large' }]);
  });
});
