import { beforeAll, describe, expect, it } from 'vitest';
import { createQueue, judge, startBothServices } from '../support/both-services.ts';

const services = await startBothServices();

describe.each(services)('on $name', (service) => {
  const { ada, bob } = service;
  const [nameOfAda, nameOfBob] = [service.nameOf('ada'), service.nameOf('bob')];

  describe('a queue that two annotators have judged', () => {
    let queue_id: string;
    let ids: string[];

    beforeAll(async () => {
      ({ queue_id, ids } = await createQueue(
        service,
        [0, 1, 2, 3, 4, 5].map((n) => `call-${n}`),
      ));
      await judge(ada, queue_id, ids, [false, false, true, true]);
      // Only the latest judgement counts.
      await judge(ada, queue_id, ids, [true]);
      await judge(bob, queue_id, ids, [true, false, false]);
      const change = { item_id: ids[0], judgements: { score: 4 }, annotation_state: 'completed' };
      const skip = { item_id: ids[1], annotation_state: 'skipped' };
      await ada.call('update_queue_items', { queue_id, items: [change, skip] });
    });

    it.each([
      [
        ['state'],
        [
          {
            columns: ['state', 'items'],
            rows: [
              ['unstarted', 4],
              ['completed', 1],
              ['skipped', 1],
            ],
          },
        ],
      ],
      [
        ['operation'],
        [
          {
            columns: ['operation', 'items'],
            rows: [
              ['chat', 3],
              ['plan', 3],
            ],
          },
        ],
      ],
      [
        ['annotator'],
        [
          {
            columns: ['annotator', 'judgements', 'items', 'today', 'shared', 'disputed', 'seconds per item'],
            rows: [
              [nameOfAda, 5, 4, expect.any(Number), 3, 1, expect.anything()],
              [nameOfBob, 3, 3, expect.any(Number), 3, 1, expect.anything()],
            ],
          },
        ],
      ],
      [
        ['field'],
        [
          {
            field: 'helpful',
            columns: ['value', 'judgements'],
            rows: [
              [true, 4],
              [false, 3],
            ],
          },
          { field: 'score', columns: ['judgements', 'mean', 'min', 'max'], rows: [[1, 4, 4, 4]] },
          { field: 'score', columns: ['value', 'judgements'], rows: [[4, 1]] },
        ],
      ],
      [
        ['operation', 'state'],
        [
          {
            columns: ['operation', 'items', 'unstarted', 'completed', 'skipped'],
            rows: [
              ['chat', 3, 2, 0, 1],
              ['plan', 3, 2, 1, 0],
            ],
            total: [6, 4, 1, 1],
          },
        ],
      ],
      [
        ['state', 'annotator'],
        [
          {
            columns: ['annotator', 'items', 'unstarted', 'completed', 'skipped'],
            rows: [
              [nameOfAda, 4, 2, 1, 1],
              [nameOfBob, 3, 1, 1, 1],
            ],
            total: [4, 2, 1, 1],
          },
        ],
      ],
      [
        ['operation', 'annotator'],
        [
          {
            columns: ['operation', 'items', nameOfAda, nameOfBob],
            rows: [
              ['chat', 2, 2, 1],
              ['plan', 2, 2, 2],
            ],
            total: [4, 4, 3],
          },
        ],
      ],
      [
        ['field', 'state'],
        [
          {
            field: 'helpful',
            columns: ['state', 'judgements', true, false],
            rows: [
              ['unstarted', 3, 2, 1],
              ['completed', 2, 2, 0],
              ['skipped', 2, 0, 2],
            ],
            total: [7, 4, 3],
          },
          { field: 'score', columns: ['state', 'judgements', 'mean', 4], rows: [['completed', 1, 4, 1]] },
        ],
      ],
      [
        ['field', 'operation'],
        [
          {
            field: 'helpful',
            columns: ['operation', 'judgements', true, false],
            rows: [
              ['plan', 4, 3, 1],
              ['chat', 3, 1, 2],
            ],
            total: [7, 4, 3],
          },
          { field: 'score', columns: ['operation', 'judgements', 'mean', 4], rows: [['plan', 1, 4, 1]] },
        ],
      ],
      [
        ['annotator', 'field'],
        [
          {
            field: 'helpful',
            columns: ['annotator', 'judgements', true, false],
            rows: [
              [nameOfAda, 4, 3, 1],
              [nameOfBob, 3, 1, 2],
            ],
            total: [7, 4, 3],
          },
          { field: 'score', columns: ['annotator', 'judgements', 'mean', 4], rows: [[nameOfAda, 1, 4, 1]] },
        ],
      ],
    ])('summarize_queue counts by %j', async (by, tables) => {
      expect((await ada.call('summarize_queue', { queue_id, by })).tables).toEqual(tables);
    });

    it('summarize_queue counts the judgements with the value of the filter', async () => {
      const filter = { field: 'helpful', value: true };
      const summary = await ada.call('summarize_queue', { queue_id, by: ['annotator'], filter });
      const { tables } = summary;
      // Items that nobody has judged do not match the filter.
      expect(summary).toMatchObject({ total_judgements: 4, unjudged_items: 0 });
      expect(tables[0].rows).toEqual([
        [nameOfAda, 3, 3, expect.any(Number), 2, 1, expect.anything()],
        [nameOfBob, 1, 1, expect.any(Number), 1, 0, expect.anything()],
      ]);
      // A comparison needs the other values, too.
      const { agreement } = await ada.call('summarize_queue', { queue_id, by: ['field'], filter });
      expect(agreement).toMatchObject([{ items: 2, disagreement_ids: [ids[2]] }]);
    });

    it('summarize_queue names the items on which annotators disagree', async () => {
      const { agreement } = await bob.call('summarize_queue', { queue_id, by: ['field'] });
      expect(agreement).toEqual([
        {
          field: 'helpful',
          annotators: [nameOfAda, nameOfBob],
          items: 3,
          percent: 66.7,
          kappa: 0.4,
          kappa_interval: [-0.368, 1],
          classes: [false, true],
          confusion: [
            [1, 0],
            [1, 1],
          ],
          disagreements: 1,
          disagreement_ids: [ids[2]],
        },
      ]);
    });

    it.each([
      [{ judged_by: nameOfBob }, [0, 1, 2]],
      [{ field: 'score', judged_by: nameOfBob }, []],
      [{ field: 'score' }, [0]],
      [{ field: 'helpful', value: false }, [1, 2]],
      [{ field: 'helpful', value: true, judged_by: nameOfBob }, [0]],
      [{ unjudged_by_me: true }, [3, 4, 5]],
      [{ field: 'helpful', unjudged_by_me: true, annotation_states: ['unstarted'] }, [3]],
    ])('query_queue_items and summarize_queue find the items with %j', async (filter, expected) => {
      const { items } = await bob.call('query_queue_items', { queue_id, filter });
      expect(new Set(items.map(({ id }: { id: string }) => id))).toEqual(new Set(expected.map((n) => ids[n])));
      expect(await bob.call('summarize_queue', { queue_id, filter })).toMatchObject({ total_items: expected.length });
    });

    it('a filter that matches nothing returns a hint where annotators are listed, and a filter by value needs a field', async () => {
      const page = await ada.call('query_queue_items', { queue_id, filter: { field: 'score', value: 1 } });
      const hint = 'Call summarize_queue by annotator and field to see who judged what.';
      expect(page).toMatchObject({ items: [], hint, text: `No item matches all conditions. ${hint}` });
      const { error } = await ada.call('query_queue_items', { queue_id, filter: { value: true } });
      expect(error).toMatchObject({ code: 'invalid_arguments', message: 'filter.value needs filter.field.' });
    });
  });
});
