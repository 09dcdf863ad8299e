import { describe, expect, it } from 'vitest';
import { findDisagreements } from '../../src/queues/disagreements.ts';
import type { Judgement } from '../../src/queues/judgements.ts';

const judge = (annotator: string, call: string, field: string, value: unknown): Judgement => ({
  field,
  value,
  annotator,
  user: annotator,
  creator: undefined,
  call_id: call,
  at: '2026-01-01T00:00:00Z',
  id: `${annotator} ${call} ${field}`,
});
const judgedItemsOf = (judgements: Judgement[]) =>
  judgements.map((judgement) => ({
    judgement,
    item: {
      id: `item of ${judgement.call_id}`,
      call_id: judgement.call_id,
      place: 0,
      call_op_name: 'op',
      annotation_state: 'completed',
    },
  }));

describe('findDisagreements', () => {
  it('lists numbers by their distance in the range of the field, and other values by the pairs that differ', () => {
    const judgements = [
      ...[1, 5].map((value, place) => judge(`a${place}`, 'wide', 'severity', value)),
      ...[2, 3].map((value, place) => judge(`a${place}`, 'near', 'severity', value)),
      ...[1, 3, 4].map((value, place) => judge(`a${place}`, 'middle', 'severity', value)),
      ...[true, false, false].map((value, place) => judge(`a${place}`, 'flag', 'correct', value)),
      ...[true, true].map((value, place) => judge(`a${place}`, 'same', 'correct', value)),
    ];
    expect(findDisagreements(judgedItemsOf(judgements), [], [])).toEqual({
      open: [
        {
          item_id: 'item of wide',
          call_id: 'wide',
          field: 'severity',
          values: { a0: 1, a1: 5 },
          distance: 4,
          share: 1,
        },
        {
          item_id: 'item of middle',
          call_id: 'middle',
          field: 'severity',
          values: { a0: 1, a1: 3, a2: 4 },
          distance: 3,
          share: 0.75,
        },
        {
          item_id: 'item of flag',
          call_id: 'flag',
          field: 'correct',
          values: { a0: true, a1: false, a2: false },
          distance: 1,
          share: 0.667,
        },
        {
          item_id: 'item of near',
          call_id: 'near',
          field: 'severity',
          values: { a0: 2, a1: 3 },
          distance: 1,
          share: 0.25,
        },
      ],
      settled: 0,
      inTexts: 0,
    });
  });

  it('only counts what gold settles, and fields for any text', () => {
    const judgements = [
      ...['x', 'y'].map((value, place) => judge(`a${place}`, 'one', 'comment', value)),
      ...['x', 'y'].map((value, place) => judge(`a${place}`, 'one', 'topic', value)),
      ...['x', 'y'].map((value, place) => judge(`a${place}`, 'two', 'topic', value)),
    ];
    const fields = [
      { name: 'comment', reference: '', schema: { type: 'string' } },
      { name: 'topic', reference: '', schema: { type: 'string', enum: ['x', 'y'] } },
    ];
    const { open, ...counts } = findDisagreements(judgedItemsOf(judgements), [judge('', 'two', 'topic', 'x')], fields);
    expect(open.map(({ item_id, field }) => [item_id, field])).toEqual([['item of one', 'topic']]);
    expect(counts).toEqual({ settled: 1, inTexts: 1 });
  });
});
