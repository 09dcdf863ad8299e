import { describe, expect, it } from 'vitest';
import type { Judgement } from '../../src/queues/judgements.ts';
import {
  compareAnnotators as compareJudged,
  type Dimension,
  judgedItems,
  otherFields,
  type SummarizedItem,
  type SummaryPart,
  summaryTables as tablesOfJudged,
} from '../../src/queues/queue-summary.ts';

const itemsOf = (count: number, members: (index: number) => Partial<SummarizedItem> = () => ({})): SummarizedItem[] =>
  Array.from({ length: count }, (_, index) => ({
    id: `i${index}`,
    call_id: `c${index}`,
    place: index,
    call_op_name: 'op',
    annotation_state: 'unstarted',
    ...members(index),
  }));

const judge = (annotator: string, call: number, value: unknown, field = 'f'): Judgement => ({
  field,
  value,
  annotator,
  user: annotator,
  creator: undefined,
  call_id: `c${call}`,
  at: '2026-01-01T00:00:00Z',
  id: `${annotator} ${call} ${field}`,
});

const firstPart = { limit: 20, offset: 0 };
/** Of the annotators a and b, b has judged one item only. */
const progress = { today: '2026-01-01', seconds: new Map([['a', 40]]) };

const summaryTables = (
  by: Dimension[],
  items: SummarizedItem[],
  judgements: Judgement[],
  part: SummaryPart = firstPart,
) => {
  const all = judgedItems(items, judgements);
  return tablesOfJudged(by, items, all, part, { ...progress, all });
};

const compareAnnotators = (items: SummarizedItem[], judgements: Judgement[], part: SummaryPart = firstPart) =>
  compareJudged(judgedItems(items, judgements), part, true);

describe('items that are alike', () => {
  it('count as often as there are in every table, and in the agreement of two and of three annotators', () => {
    const counts = [3, 1, 2];
    const states = ['completed', 'completed', 'unstarted'];
    const alike = itemsOf(3, (index) => ({ count: counts[index]!, annotation_state: states[index]! }));
    const given = (place: (call: number) => number[]) => [
      ...[0, 1].flatMap((call) => place(call).flatMap((at) => [judge('a', at, call), judge('b', at, 2 * call)])),
      ...place(0).map((at) => judge('c', at, 5)),
    ];
    const single = itemsOf(6, (index) => ({ annotation_state: index < 4 ? 'completed' : 'unstarted' }));
    const [ofAlike, ofSingle] = [given((call) => [call]), given((call) => (call === 0 ? [0, 1, 2] : [3]))];
    const pairs: Dimension[][] = [
      ['state'],
      ['operation', 'state'],
      ['annotator'],
      ['field'],
      ['field', 'annotator'],
      ['day'],
    ];
    for (const by of pairs) expect(summaryTables(by, alike, ofAlike)).toEqual(summaryTables(by, single, ofSingle));
    expect(summaryTables(['state'], alike, [])).toEqual([
      {
        columns: ['state', 'items'],
        rows: [
          ['unstarted', 2],
          ['completed', 4],
        ],
      },
    ]);
    const compared = compareJudged(judgedItems(alike, ofAlike), firstPart, false);
    expect(compared).toEqual(compareJudged(judgedItems(single, ofSingle), firstPart, false));
    expect(compared.agreement.map(({ items }) => items)).toEqual([4, 3, 3]);
    expect(compared.alpha.map(({ items }) => items)).toEqual([4]);
  });
});

describe('summaryTables', () => {
  it('shows of each annotator today, the judgements that another one shares, those in dispute, and the seconds per item', () => {
    const judgements = [
      ...[0, 1, 2, 3].map((call) => judge('a', call, true)),
      { ...judge('a', 4, true), at: '2025-12-31T23:59:59Z' },
      judge('b', 0, false),
    ];
    expect(summaryTables(['annotator'], itemsOf(5), judgements)).toEqual([
      {
        columns: ['annotator', 'judgements', 'items', 'today', 'shared', 'disputed', 'seconds per item'],
        rows: [
          ['a', 5, 5, 4, 1, 1, 40],
          ['b', 1, 1, 1, 1, 1, '-'],
        ],
      },
    ]);
  });

  it('counts by day, the newest first, an item once each day', () => {
    const judgements = [
      judge('a', 0, true),
      judge('b', 0, false),
      { ...judge('a', 1, true), at: '2025-12-31T23:59:59Z' },
    ];
    expect(summaryTables(['day'], itemsOf(2), judgements)).toEqual([
      {
        columns: ['day', 'items'],
        rows: [
          ['2026-01-01', 1],
          ['2025-12-31', 1],
        ],
      },
    ]);
    expect(summaryTables(['annotator', 'day'], itemsOf(2), judgements)).toEqual([
      {
        columns: ['day', 'items', 'a', 'b'],
        rows: [
          ['2026-01-01', 1, 1, 1],
          ['2025-12-31', 1, 1, 0],
        ],
        total: [2, 2, 1],
      },
    ]);
  });

  it('shows the 20 most frequent rows and counts the others together', () => {
    // Operation 0 has one item, operation 1 has two, …, operation 24 has 25.
    const items = itemsOf(325, (index) => ({ call_op_name: `op-${Math.floor((Math.sqrt(8 * index + 1) - 1) / 2)}` }));
    const [table] = summaryTables(['operation'], items, []);
    expect(table!.rows).toHaveLength(20);
    expect(table!.rows.slice(0, 2)).toEqual([
      ['op-24', 25],
      ['op-23', 24],
    ]);
    expect(table!.others).toEqual({ rows: 5, cells: [15], next_offset: 20 });
  });

  it('shows the rows from an offset, and counts those before and after it together', () => {
    const items = itemsOf(10, (index) => ({ call_op_name: `op-${Math.floor((Math.sqrt(8 * index + 1) - 1) / 2)}` }));
    const page = (offset: number) => summaryTables(['operation'], items, [], { limit: 2, offset })[0];
    expect(page(1)).toEqual({
      columns: ['operation', 'items'],
      rows: [
        ['op-2', 3],
        ['op-1', 2],
      ],
      others: { rows: 2, cells: [5], next_offset: 3 },
    });
    expect(page(3)).toMatchObject({ rows: [['op-0', 1]], others: { rows: 3, cells: [9] } });
    expect(page(3)!.others).not.toHaveProperty('next_offset');
    expect(page(4)).toMatchObject({ rows: [], others: { rows: 4, cells: [10] } });
  });

  it('shows fewer rows when their labels are long', () => {
    const items = itemsOf(20, (index) => ({ call_op_name: `${index}`.padStart(2, '0') + 'x'.repeat(98) }));
    const [table] = summaryTables(['operation'], items, []);
    expect(table!.rows).toHaveLength(8);
    expect(table!.others).toEqual({ rows: 12, cells: [12], next_offset: 8 });
  });

  it('keeps the order of states, with unknown states last', () => {
    const states = ['paused', 'skipped', 'unstarted', 'skipped'];
    const items = itemsOf(4, (index) => ({ annotation_state: states[index]! }));
    expect(summaryTables(['state'], items, [])[0]!.rows).toEqual([
      ['unstarted', 1],
      ['skipped', 2],
      ['paused', 1],
    ]);
  });

  it('counts an item once in each cell, however many of its fields were judged', () => {
    const items = itemsOf(2, (index) => ({ annotation_state: index === 0 ? 'completed' : 'unstarted' }));
    const judgements = [judge('a', 0, 1), judge('a', 0, 1, 'g'), judge('b', 0, 1), judge('b', 1, 1)];
    expect(summaryTables(['annotator', 'state'], items, judgements)).toEqual([
      {
        columns: ['annotator', 'items', 'unstarted', 'completed'],
        rows: [
          ['b', 2, 1, 1],
          ['a', 1, 0, 1],
        ],
        total: [2, 1, 1],
      },
    ]);
  });

  it('shows up to 10 columns of counts, and adds up the others in one', () => {
    const judgements = Array.from({ length: 12 }, (_, index) => judge('a', index, `v${index}`.padEnd(3, ' ')));
    const [table] = summaryTables(['annotator', 'field'], itemsOf(12), judgements);
    expect(table!.columns).toHaveLength(13);
    expect(table!.columns.at(-1)).toBe('2 others');
    expect(table!.rows).toEqual([['a', 12, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2]]);
  });

  it.each([
    [
      10,
      [
        ['judgements', 'mean', 'min', 'max'],
        ['value', 'judgements'],
      ],
    ],
    [11, [['judgements', 'mean', 'min', 'max']]],
  ])('describes %i different numbers, and counts them by value only if there are at most 10', (count, columns) => {
    const judgements = Array.from({ length: count }, (_, index) => judge('a', index, index / 4));
    const tables = summaryTables(['field'], itemsOf(count), judgements);
    expect(tables.map((table) => table.columns)).toEqual(columns);
    expect(tables[0]!.rows).toEqual([[count, count === 10 ? 1.125 : 1.25, 0, (count - 1) / 4]]);
  });

  it('adds the mean of numbers to a table of two dimensions', () => {
    const judgements = [judge('a', 0, 1), judge('a', 1, 2), judge('b', 0, 5)];
    expect(summaryTables(['field', 'annotator'], itemsOf(2), judgements)).toEqual([
      {
        field: 'f',
        columns: ['annotator', 'judgements', 'mean', 1, 2, 5],
        rows: [
          ['a', 2, 1.5, 1, 1, 0],
          ['b', 1, 5, 0, 0, 1],
        ],
        total: [3, 2.667, 1, 1, 1],
      },
    ]);
    const many = Array.from({ length: 11 }, (_, index) => judge('a', index, index));
    expect(summaryTables(['field', 'operation'], itemsOf(11), many)).toEqual([
      { field: 'f', columns: ['operation', 'judgements', 'mean', 'min', 'max'], rows: [['op', 11, 5, 0, 10]] },
    ]);
  });

  it('distinguishes values by type and content, and cuts long ones', () => {
    const values = [true, 'true', { b: 1, a: 2 }, { a: 2, b: 1 }, null, `${'x'.repeat(100)}1`, `${'x'.repeat(100)}2`];
    const judgements = values.map((value, index) => judge('a', index, value));
    expect(summaryTables(['field'], itemsOf(7), judgements)[0]!.rows).toEqual([
      ['{"a":2,"b":1}', 2],
      ['true', 1],
      [`${'x'.repeat(80)}…[+21 characters]`, 1],
      [`${'x'.repeat(80)}…[+21 characters]`, 1],
      ['null', 1],
      [true, 1],
    ]);
  });

  it('shows the 20 most judged fields, and names the others', () => {
    const judgements = Array.from({ length: 23 }, (_, index) => judge('a', 0, 'x', `f${index}`));
    expect(summaryTables(['field'], itemsOf(1), judgements)).toHaveLength(20);
    expect(otherFields(judgedItems(itemsOf(1), judgements))).toEqual(['f7', 'f8', 'f9']);
  });
});

describe('compareAnnotators', () => {
  it('shares its limit among the fields that two have judged', () => {
    const all = ['a', 'b', 'c'].map((annotator) => judge(annotator, 0, true));
    const { agreement, others } = compareAnnotators(itemsOf(1), [...all, judge('a', 0, 1, 'alone')], {
      limit: 4,
      offset: 0,
    });
    expect(agreement.map(({ field, annotators }) => [field, ...annotators])).toEqual([
      ['f', 'a', 'b'],
      ['f', 'a', 'c'],
    ]);
    expect(others).toBe(1);
  });

  it('compares each pair, those with most items in common first', () => {
    const judgements = [
      ...[0, 1, 2].map((call) => judge('a', call, call === 0)),
      ...[0, 1].map((call) => judge('b', call, true)),
      ...[1, 2, 3].map((call) => judge('c', call, false)),
      judge('d', 3, true),
    ];
    const { agreement, others } = compareAnnotators(itemsOf(4), judgements);
    expect(agreement.map(({ annotators, items }) => [...annotators, items])).toEqual([
      ['a', 'c', 2],
      ['a', 'b', 2],
      ['c', 'b', 1],
      ['c', 'd', 1],
    ]);
    expect(others).toBe(0);
    expect(agreement[0]).toEqual({
      field: 'f',
      annotators: ['a', 'c'],
      items: 2,
      percent: 100,
      no_kappa: 'both used one and the same value only',
      classes: [false],
      confusion: [[2]],
      disagreements: 0,
    });
    expect(agreement[1]).toEqual({
      field: 'f',
      annotators: ['a', 'b'],
      items: 2,
      percent: 50,
      kappa: 0,
      classes: [true, false],
      confusion: [
        [1, 0],
        [1, 0],
      ],
      disagreements: 1,
      disagreement_ids: ['i1'],
    });
  });

  it('leaves out a pair without a common item, unless its annotators were named', () => {
    const judged = judgedItems(itemsOf(2), [judge('a', 0, true), judge('b', 1, true)]);
    expect(compareJudged(judged, firstPart, true)).toMatchObject({ agreement: [], others: 0 });
    expect(compareJudged(judged, firstPart, true, true).agreement).toEqual([
      { field: 'f', annotators: ['a', 'b'], items: 0, no_kappa: 'no item was judged by both' },
    ]);
  });

  it('weighs the disagreements of numbers, and gives one coefficient for more than two annotators', () => {
    const scores = { a: [1, 2, 3, 4, 5], b: [1, 2, 3, 5, 5], c: [5, 2, 3, 4, 1] };
    const judgements = Object.entries(scores).flatMap(([name, values]) =>
      values.map((value, call) => judge(name, call, value)),
    );
    const { agreement, alpha } = compareAnnotators(itemsOf(5), judgements);
    const [first] = agreement;
    // cohens_kappa of statsmodels 0.15.0: 0.75 and, with wt='quadratic', 0.9565217. Alpha was calculated by its definition, pair by pair.
    expect(first).toMatchObject({ annotators: ['a', 'b'], percent: 80, kappa: 0.75, quadratic_weighted_kappa: 0.957 });
    expect(first!.kappa_interval).toEqual([0.339, 1]);
    expect(alpha).toEqual([{ field: 'f', annotators: 3, items: 5, alpha: 0.065, distance: 'interval' }]);
  });

  it('lists up to 20 disagreements of a pair, with their number', () => {
    const judgements = Array.from({ length: 30 }, (_, call) => [judge('a', call, 'x'), judge('b', call, 'y')]).flat();
    const [pair] = compareAnnotators(itemsOf(30), judgements).agreement;
    expect(pair).toMatchObject({ items: 30, percent: 0, kappa: 0, disagreements: 30 });
    expect(pair!.disagreement_ids).toEqual(Array.from({ length: 20 }, (_, index) => `i${index}`));
  });

  it('compares 10 pairs and lists fewer disagreements when there are many annotators', () => {
    const judgements = Array.from({ length: 30 }, (_, call) =>
      ['a', 'b', 'c', 'd', 'e', 'f'].map((annotator) => judge(annotator, call, annotator)),
    ).flat();
    const first = compareAnnotators(itemsOf(30), judgements);
    expect(first.agreement).toHaveLength(10);
    expect(first).toMatchObject({ others: 5, next_offset: 10, notCompared: 0 });
    for (const pair of first.agreement) expect(pair.disagreement_ids).toHaveLength(6);
    const next = compareAnnotators(itemsOf(30), judgements, { limit: 20, offset: 10 });
    const names = [...first.agreement, ...next.agreement].map(({ annotators }) => annotators.join(''));
    expect(names.sort().join(' ')).toBe('ab ac ad ae af bc bd be bf cd ce cf de df ef');
    expect(next).toMatchObject({ others: 10, notCompared: 0 });
    expect(next).not.toHaveProperty('next_offset');
  });

  it('says how many annotators are not compared, because 20 have judged more', () => {
    const judgements = Array.from({ length: 23 }, (_, index) => judge(`a${index}`, 0, true));
    expect(compareAnnotators(itemsOf(1), judgements)).toMatchObject({ others: 180, notCompared: 3 });
  });

  it('does not compare a field that one annotator has judged', () => {
    expect(compareAnnotators(itemsOf(1), [judge('a', 0, 1), judge('b', 0, 1, 'g')])).toEqual({
      agreement: [],
      alpha: [],
      others: 0,
      notCompared: 0,
    });
  });
});
