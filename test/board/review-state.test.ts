import { describe, expect, it } from 'vitest';
import { draftedChange, draftText, emptyDraft, parseDraft, withRetraction } from '../../src/board/view/review/draft.ts';
import { choicesOf, readTyped, textOf } from '../../src/board/view/review/field-values.ts';
import { titlesOfCard } from '../../src/board/view/review/item-values.ts';
import {
  acceptSuggestions,
  agentsOf,
  batchesOf,
  type Card,
  chooseActive,
  chooseState,
  emptyBoard,
  give,
  giveTyped,
  isLeft,
  isSettled,
  messageToModel,
  missingClause,
  nextOffset,
  placeOf,
  placesOf,
  type ReviewState,
  selectAll,
  skippedTogether,
  stagedCards,
  takeBack,
  withCard,
  withDraft,
  withFirstItems,
  withLacking,
  withMoreItems,
  withoutDecision,
  withRefreshed,
  withReread,
  withRestored,
  withResult,
} from '../../src/board/view/review/review-state.ts';
import { connecting } from '../../src/board/view/shared/view.ts';
import type { Review, ReviewedItem } from '../../src/tools/review-queue.ts';

const connected: ReviewState = { ...connecting, ...emptyBoard };

function item(id: string, more: Partial<ReviewedItem> = {}): ReviewedItem {
  const call = { call_id: `call-${id}`, call_op_name: 'answer', call_started_at: '2026-01-12T09:00:00Z' };
  return { id, annotation_state: 'unstarted', ...call, ...more };
}

function page(items: ReviewedItem[], more: Partial<Review> = {}): Review {
  return {
    queue: { id: 'queue', project_id: 'demo/support', name: 'Queue', remaining: 3, total: 5 },
    fields: [
      { name: 'helpful', type: 'boolean' },
      { name: 'score', type: 'number', min: 0, max: 1 },
    ],
    can_write: true,
    filter: { unfinished_by_me: true },
    items,
    offset: 0,
    as_of: '2026-01-12T10:00:00Z',
    hint: '',
    ...more,
  };
}

const opened = withFirstItems(connected, page([item('a'), item('b')]));
const changeOf = ({ cards, fields }: ReviewState, id: string) =>
  draftedChange(cards.get(id)!.item, cards.get(id)!.draft, fields);

describe('titlesOfCard', () => {
  it('tells an item by its first input of several words, or else by its first, and by its output', () => {
    const titlesOf = (call_values: Record<string, unknown>): string[] =>
      titlesOfCard({ item: item('a', { call_values }), wholes: new Map() } as unknown as Card);
    const output = 'Please see your confirmation.';
    expect(titlesOf({ 'inputs.booking': 'TR-1', 'inputs.question': 'Where is my bag?', output })).toEqual([
      'Where is my bag?',
      output,
    ]);
    expect(titlesOf({ 'inputs.booking': 'TR-1', 'inputs.city': 'Oslo', output })).toEqual(['TR-1', output]);
    expect(titlesOf({ output })).toEqual([output]);
  });
});

describe('the state of the review board', () => {
  it('keeps cards with decisions when the first page is read again, and drops others', () => {
    const judged = give(opened, 'a', 'helpful', true);
    const again = withFirstItems(judged, page([item('c')]));
    expect([...again.cards.keys()]).toEqual(['a', 'c']);
    expect(again.current).toBe('a');
    expect(again.message).toBe('2 items to judge.');
  });

  it('shows items in the order of the page that is read again', () => {
    const written = withResult(opened, opened.cards.get('b')!, { annotation_state: 'completed' });
    const judged = give(written, 'b', 'helpful', true);
    expect([...withFirstItems(judged, page([item('c'), item('a'), item('b')])).cards.keys()]).toEqual(['c', 'a', 'b']);
  });

  it('says that nothing changes when the stored value is taken away and given', () => {
    const stored = withFirstItems(opened, page([{ ...item('a'), judgements: { helpful: true } }]));
    expect(give(stored, 'a', 'helpful', undefined).message).toBe('Item 1: nothing changed');
    expect(give(stored, 'a', 'helpful', false).message).toBe('Item 1: helpful No');
  });

  it('does not change an earlier state', () => {
    give(opened, 'a', 'helpful', true);
    expect(stagedCards(opened)).toEqual([]);
  });

  it('continues after the items that still match the filter', () => {
    const written = withResult(opened, opened.cards.get('a')!, { annotation_state: 'completed' });
    expect(nextOffset(written)).toBe(1);
    expect(nextOffset(opened)).toBe(2);
    const more = withMoreItems(written, page([item('c')], { next_offset: 50, filter: {} }));
    expect([...more.cards.keys()]).toEqual(['a', 'b', 'c']);
    expect(more.page?.filter).toEqual({ unfinished_by_me: true });
    expect(more.message).toBe('3 items to judge; more follow.');
  });

  it('says what finished items lack, in the status line as in the progress', () => {
    const queue = { id: 'queue', project_id: 'demo/support', name: 'Queue', remaining: 0, total: 20 };
    const done = withFirstItems(connected, page([], { queue }));
    expect(done.message).toBe('Nothing is left to do: 20 items finished.');
    const counted = withLacking(done, { lacking: { tone: 20 } });
    expect([counted.message, missingClause(counted)]).toEqual([
      '20 items finished, but 20 without tone.',
      ', but 20 without tone',
    ]);
    const all = withFirstItems(counted, page([item('a', { annotation_state: 'completed' })], { queue, filter: {} }));
    expect([missingClause(all), withLacking(all, {}).message]).toEqual([', but 20 without tone', '1 item found.']);
  });

  it('judges all selected items if one of them is judged, and only the item otherwise', () => {
    const all = give(selectAll(opened), 'a', 'helpful', false);
    expect(all.message).toBe('helpful No, for 2 items. u takes that back.');
    expect(stagedCards(all)).toHaveLength(2);
    expect(stagedCards(give(opened, 'a', 'helpful', false))).toHaveLength(1);
    expect(selectAll(selectAll(opened)).message).toBe('Nothing is selected.');
  });

  it('counts the items that are skipped together, until that is taken back', () => {
    const apart = chooseState(chooseState(opened, 'a', 'skipped'), 'b', 'skipped');
    expect(skippedTogether(apart)).toBe(0);
    const together = chooseState(selectAll(opened), 'a', 'skipped');
    expect([skippedTogether(together), together.message]).toEqual([2, 'skipped, for 2 items. u takes that back.']);
    expect(skippedTogether(takeBack(together))).toBe(0);
    expect(skippedTogether(give(selectAll(opened), 'a', 'helpful', true))).toBe(0);
  });

  it('begins at the field that lacks a value of anyone, and is settled once it has one', () => {
    const given = { judgements: { 'root (cody)': { helpful: true } } };
    const completed = item('a', { annotation_state: 'completed', given });
    const fields = [
      { name: 'helpful', type: 'boolean' },
      { name: 'tone', type: 'boolean' },
    ];
    const lacking = withFirstItems(connected, page([completed], { fields, filter: { lacks_value: true } }));
    expect([lacking.kind, lacking.cards.get('a')?.active, isSettled(lacking, 'a')]).toEqual(['lacking', 1, false]);
    const judged = chooseActive(lacking, 'a', '2');
    expect([changeOf(judged, 'a'), isSettled(judged, 'a')]).toEqual([
      { item_id: 'a', judgements: { tone: false } },
      true,
    ]);
    const all = withFirstItems(connected, page([completed], { fields, filter: {} }));
    expect([all.cards.get('a')?.active, isSettled(give(all, 'a', 'tone', false), 'a')]).toEqual([0, false]);
  });

  it('tells the agents of the account from other annotators', () => {
    const judged = new Map([
      ['root', 1],
      ['root (cody)', 2],
      ['rooted (cody)', 3],
    ]);
    const counted = { ...withFirstItems(connected, page([], { account: 'root' })), judged };
    expect(agentsOf(counted)).toEqual([['root (cody)', 2]]);
    expect(agentsOf(connected)).toEqual([]);
  });

  it('says which item was judged, also once the next one is shown', () => {
    expect(chooseActive(opened, 'b', '2').message).toBe('Item 2: helpful No');
    expect(chooseState(opened, 'a', 'skipped').message).toBe('Item 1: skipped');
    const both = give(give(opened, 'b', 'helpful', false), 'b', 'score', 0.5);
    expect(both.message).toBe('Item 2 decided: helpful No, score 0.5');
    const noted = withDraft(both, 'a', 'note', (draft) => ({ ...draft, note: 'Too long.' }));
    expect(noted.message).toBe('Item 1: note');
    const emptied = withDraft(noted, 'a', 'note', (draft) => ({ ...draft, note: '' }));
    expect(emptied.message).toBe('Item 1: nothing changed');
  });

  it.each(['completed', 'skipped'])('does not skip or finish an item that is %s', (annotation_state) => {
    const finished = withFirstItems(connected, page([item('a', { annotation_state }), item('b')]));
    expect(chooseState(finished, 'a', 'skipped')).toBe(finished);
    const skipped = chooseState(selectAll(finished), 'b', 'skipped');
    expect(stagedCards(skipped).map(({ item: { id } }) => id)).toEqual(['b']);
  });

  it('counts the places among the items that are shown', () => {
    const queue = { id: 'queue', project_id: 'demo/support', name: 'Queue', to_do: 28, total: 40 };
    const toDo = withFirstItems(connected, page([item('a'), item('b')], { queue, next_offset: 20 }));
    expect(placesOf(toDo)).toBe(28);
    const written = withResult(toDo, toDo.cards.get('a')!, { annotation_state: 'completed' });
    expect([placesOf(written), placeOf(written, 'b')]).toEqual([28, 2]);
    expect(placesOf(withFirstItems(connected, page([item('a')], { queue, filter: {}, next_offset: 1 })))).toBe(40);
    const filter = { has_error: true };
    expect(placesOf(withFirstItems(connected, page([item('a')], { queue, filter, next_offset: 1 })))).toBeUndefined();
    expect(placesOf(withFirstItems(connected, page([item('a')], { queue, filter })))).toBe(1);
  });

  it('moves on to the next field without a value, and is settled when every field has one', () => {
    const first = chooseActive(opened, 'a', '2');
    expect(changeOf(first, 'a')).toEqual({
      item_id: 'a',
      judgements: { helpful: false },
      annotation_state: 'in_progress',
    });
    expect(first.cards.get('a')?.active).toBe(1);
    expect(isSettled(first, 'a')).toBe(false);
    const second = give(first, 'a', 'score', 0.5);
    expect(isSettled(second, 'a')).toBe(true);
    expect(changeOf(second, 'a').annotation_state).toBe('completed');
    // A field that takes a number has no choice with a position.
    expect(chooseActive(first, 'a', '1')).toBe(first);
  });

  it('leaves the state of an item that the person has finished before', () => {
    const skipped = withFirstItems(connected, page([item('a', { annotation_state: 'skipped' })]));
    expect(changeOf(give(give(skipped, 'a', 'helpful', true), 'a', 'score', 1), 'a')).toEqual({
      item_id: 'a',
      judgements: { helpful: true, score: 1 },
    });
  });

  it('decides nothing when the stored value is given again or a state is chosen twice', () => {
    const stored = withFirstItems(connected, page([item('a', { judgements: { helpful: true } })]));
    expect(stagedCards(give(stored, 'a', 'helpful', true))).toEqual([]);
    expect(stagedCards(chooseState(chooseState(opened, 'a', 'skipped'), 'a', 'skipped'))).toEqual([]);
  });

  it('keeps typed text that is no value in its box, without deciding anything', () => {
    const [, score] = opened.fields;
    const typed = giveTyped(opened, 'a', 'score', readTyped(score!, '1.50'));
    expect(stagedCards(typed)).toEqual([]);
    expect(typed.cards.get('a')?.draft.typed.get('score')).toEqual({
      text: '1.50',
      problem: 'It must be from 0 to 1.',
    });
    const valid = giveTyped(typed, 'a', 'score', readTyped(score!, '0.50'));
    expect(changeOf(valid, 'a').judgements).toEqual({ score: 0.5 });
    expect(valid.cards.get('a')?.draft.typed.get('score')).toEqual({ text: '0.50' });
  });

  it('accepts suggestions only for fields without a value', () => {
    const suggestions = [
      { field: 'helpful', value: true, by: 'judge' },
      { field: 'score', value: 0.5, by: 'judge' },
    ];
    const suggested = withFirstItems(connected, page([item('a', { suggestions })]));
    const accepted = acceptSuggestions(give(suggested, 'a', 'helpful', false), 'a');
    expect(changeOf(accepted, 'a').judgements).toEqual({ helpful: false, score: 0.5 });
  });

  it.each(['constructor', '__proto__'])('has no value of a field with the name %s that is not judged', (name) => {
    const free = withFirstItems(
      connected,
      page([item('a', { judgements: {} })], { fields: [{ name, type: 'boolean' }] }),
    );
    expect(isSettled(free, 'a')).toBe(false);
  });
});

describe('writing of the review board', () => {
  it('writes cards that were read at the same time together, at most 100', () => {
    const { cards } = withFirstItems(connected, page(Array.from({ length: 101 }, (_, n) => item(String(n)))));
    expect(batchesOf([...cards.values()]).map(({ length }) => length)).toEqual([100, 1]);
    const [first, second] = [...opened.cards.values()];
    expect(batchesOf([first!, { ...second!, asOf: '2026-01-12T10:01:00Z' }]).map(({ length }) => length)).toEqual([
      1, 1,
    ]);
  });

  it('makes what was written the stored state, and counts finished items', () => {
    const judged = give(opened, 'a', 'helpful', true);
    const written = withResult(judged, judged.cards.get('a')!, { annotation_state: 'completed' });
    expect(written.cards.get('a')).toMatchObject({
      item: { annotation_state: 'completed', judgements: { helpful: true } },
      draft: emptyDraft,
      isWritten: true,
    });
    expect(written.page?.queue.remaining).toBe(2);
    expect(messageToModel(written, 0)).toBe(
      'The user judged 1 item of queue queue on the review board. All of this is stored already: do not write it again.\n{"item_id":"a","judgements":{"helpful":true},"annotation_state":"in_progress"}',
    );
  });

  it('shows what others have finished meanwhile once it has written, and keeps what is decided and shown', () => {
    const items = ['a', 'b', 'c'].map((id) => item(id));
    const cards = withFirstItems(connected, page(items, { next_offset: 20 }));
    const loaded = withCard({ ...cards, current: 'c' }, 'c', (card) => ({ ...card, given: 'Loading …' }));
    const decided = give(give(loaded, 'a', 'helpful', true), 'b', 'helpful', false);
    const written = withResult(decided, decided.cards.get('a')!, { annotation_state: 'completed' });
    const completed = item('b', { annotation_state: 'completed', judgements: { score: 1 } });
    const queue = { id: 'queue', project_id: 'demo/support', name: 'Queue', remaining: 1, total: 5 };
    const more = { queue, as_of: 'later', next_offset: 1, filter: { ids: ['b', 'c'] } };
    const refreshed = withRefreshed(written, page([completed, item('c'), item('d')], more));
    expect(refreshed.page).toMatchObject({
      queue: { remaining: 1 },
      next_offset: 20,
      filter: { unfinished_by_me: true },
    });
    expect([...refreshed.cards.values()].map(({ item: { annotation_state } }) => annotation_state)).toEqual([
      'completed',
      'completed',
      'unstarted',
    ]);
    expect(refreshed.cards.get('b')).toMatchObject({ asOf: 'later', item: { judgements: { score: 1 } } });
    expect(changeOf(refreshed, 'b').judgements).toEqual({ helpful: false });
    expect([refreshed.current, refreshed.cards.get('c')?.given]).toEqual(['c', 'Loading …']);
    // Both have left the list of what is to do, so the next page begins two places earlier.
    expect([nextOffset(written), nextOffset(refreshed)]).toEqual([2, 1]);
  });

  it('keeps what others judged on a card that is written, with the new judgements and the note of the account', () => {
    const given = { judgements: { cody: { helpful: true }, root: { helpful: true, score: 1 } } };
    const shown = withFirstItems(
      connected,
      page([item('a', { given, judgements: given.judgements.root })], { account: 'root' }),
    );
    const loaded = withCard(shown, 'a', (card) => ({ ...card, given }));
    const judged = withDraft(give(loaded, 'a', 'helpful', false), 'a', 'note', (draft) => {
      return { ...withRetraction(draft, 'score'), note: 'Too long. ' };
    });
    const { item: stored, given: read } = withResult(judged, judged.cards.get('a')!, {}).cards.get('a')!;
    const after = {
      judgements: { cody: { helpful: true }, root: { helpful: false } },
      notes: { root: ['Too long.'] },
    };
    expect([stored.given, read]).toEqual([after, after]);
    const retracting = withDraft(loaded, 'a', 'all', (draft) =>
      withRetraction(withRetraction(draft, 'score'), 'helpful'),
    );
    expect(withResult(retracting, retracting.cards.get('a')!, {}).cards.get('a')?.given).toEqual({
      judgements: { cody: { helpful: true } },
      notes: {},
    });
  });

  it('leaves an item once it has a value of everyone where values are missing, and once it is finished otherwise', () => {
    const given = { judgements: { 'root (cody)': { helpful: true } } };
    const completed = item('a', { annotation_state: 'completed', given });
    const lacking = withFirstItems(connected, page([completed], { account: 'root', filter: { lacks_value: true } }));
    expect(isLeft(lacking, lacking.cards.get('a')!)).toBe(true);
    const judged = give(lacking, 'a', 'score', 0.5);
    const written = withResult(judged, judged.cards.get('a')!, {});
    expect(isLeft(written, written.cards.get('a')!)).toBe(false);
    expect(isLeft(opened, opened.cards.get('a')!)).toBe(true);
  });

  it('keeps what the person decided while the item was written', () => {
    const judged = give(opened, 'a', 'helpful', true);
    const changed = give(judged, 'a', 'score', 1);
    const written = withResult(changed, judged.cards.get('a')!, { annotation_state: 'in_progress' });
    expect(changeOf(written, 'a').judgements).toEqual({ helpful: true, score: 1 });
  });

  it('says on the card why an item was refused, and keeps its draft when it is read again', () => {
    const judged = give(opened, 'a', 'helpful', true);
    const error = { code: 'invalid_request', message: 'It is skipped.' } as never;
    const refused = withResult(judged, judged.cards.get('a')!, { error });
    expect(refused.cards.get('a')?.problem).toEqual({
      sentence: 'You have finished or skipped this item before. Look at it again, then write.',
      detail: 'It is skipped.',
    });
    const reread = withReread(refused, page([item('a', { annotation_state: 'completed' })], { as_of: 'later' }));
    expect(reread.cards.get('a')).toMatchObject({
      asOf: 'later',
      item: { annotation_state: 'completed' },
    });
    expect(reread.cards.get('a')?.problem).toBeUndefined();
    expect(changeOf(reread, 'a').judgements).toEqual({ helpful: true });
    const skipped = chooseState(judged, 'a', 'skipped');
    const skippedAgain = withReread(skipped, page([item('a', { annotation_state: 'completed' })]));
    expect(changeOf(skippedAgain, 'a')).toEqual({ item_id: 'a', judgements: { helpful: true } });
    expect(withReread(refused, page([])).message).toBe('The item is no longer among these.');
  });

  it('asks again for many items after any change', () => {
    const asking = { ...opened, isAsking: true };
    expect(withCard(asking, 'a', (card) => card).isAsking).toBe(false);
    expect(give(asking, 'a', 'helpful', true).isAsking).toBe(false);
  });
});

describe('taking back', () => {
  it('goes from decision to decision, back to the item and the field of each', () => {
    const typed = ['0', '0.', '0.5'].reduce(
      (state, text) => giveTyped(state, 'b', 'score', readTyped(opened.fields[1]!, text)),
      chooseActive({ ...opened, current: 'a' }, 'a', '1'),
    );
    // Typing in one box is one decision.
    const untyped = takeBack(typed);
    expect(untyped).toMatchObject({ current: 'b', message: 'Taken back: score typed.' });
    expect(untyped.cards.get('b')?.draft).toEqual(emptyDraft);
    const none = takeBack(untyped);
    expect(none).toMatchObject({ current: 'a', message: 'Taken back: helpful Yes.' });
    expect(none.cards.get('a')).toMatchObject({ active: 0, draft: emptyDraft });
    expect(takeBack(none).message).toBe('There is nothing to take back.');
  });

  it('takes a decision back for all items that it was made for, and what a card dropped too', () => {
    const all = give(selectAll(opened), 'a', 'helpful', false);
    expect(stagedCards(takeBack(all))).toEqual([]);
    const cleared = withoutDecision(give(opened, 'a', 'helpful', true), 'a');
    expect(stagedCards(cleared)).toEqual([]);
    expect(cleared.message).toBe('Item 1: taken back');
    expect(changeOf(takeBack(cleared), 'a').judgements).toEqual({ helpful: true });
  });

  it('does not count the same value again as a decision, nor what is written', () => {
    const twice = chooseActive(chooseActive(opened, 'a', '1'), 'a', '1');
    const judged = give(give(opened, 'a', 'helpful', true), 'a', 'helpful', true);
    expect(judged.history).toHaveLength(1);
    expect(twice.history).toHaveLength(1);
    const written = withResult(judged, judged.cards.get('a')!, { annotation_state: 'in_progress' });
    expect(takeBack(written).message).toBe('Everything you decided is written.');
  });

  it('begins anew with the drafts that were kept, the last one first', () => {
    const kept = new Map(
      ['b', 'a'].map((id) => [id, parseDraft(draftText(give(opened, id, 'helpful', true).cards.get(id)!.draft))]),
    );
    const restored = withRestored(opened, kept);
    expect(stagedCards(restored)).toHaveLength(2);
    expect(takeBack(restored).current).toBe('a');
    expect(takeBack(takeBack(restored))).toMatchObject({ current: 'b' });
    // What the person has decided meanwhile stays.
    const other = give(opened, 'a', 'helpful', false);
    expect(changeOf(withRestored(other, kept), 'a').judgements).toEqual({ helpful: false });
  });
});

describe('the key of a choice', () => {
  it.each([
    [{ type: 'boolean' }, ['1', '2']],
    [{ choices: ['kind', 'rude'] }, ['1', '2']],
    [{ type: 'integer', min: 0, max: 3 }, ['0', '1', '2', '3']],
    [{ type: 'integer', min: 8, max: 11 }, ['8', '9', undefined, undefined]],
  ])('of %j is %j: its place, or the number itself on a scale', (field, keys) => {
    expect(choicesOf({ name: 'field', ...field })?.map(({ key }) => key)).toEqual(keys);
  });

  it('is missing where a person writes a number, whose box is empty until they do', () => {
    const field = { name: 'field', type: 'number', min: 1, max: 100 };
    expect(choicesOf(field)).toBeUndefined();
    expect(textOf(field, undefined)).toBe('');
  });

  it('goes back to a field before that has no value', () => {
    const second = { ...opened, cards: new Map([...opened.cards].map(([id, card]) => [id, { ...card, active: 1 }])) };
    const fields = [...opened.fields].reverse();
    expect(chooseActive({ ...second, fields }, 'a', '1').cards.get('a')?.active).toBe(0);
  });
});

describe('text in the box of a field', () => {
  it.each([
    [{ type: 'integer' }, '2', { value: 2 }],
    [{ type: 'integer' }, '2.5', { problem: 'Write a whole number.' }],
    [{ type: 'number', min: 1 }, '0', { problem: 'It must be at least 1.' }],
    [{ type: 'number', max: 1 }, '2', { problem: 'It must be at most 1.' }],
    [{ type: 'number' }, ' ', {}],
    [{ type: 'text' }, ' a ', { value: ' a ' }],
    [{ schema: {} }, '{"a":[1]}', { value: { a: [1] } }],
    [{ schema: {} }, 'a', { problem: 'Write a value as JSON, with texts in double quotes.' }],
  ])('of %j with %j gives %j', (field, text, expected) => {
    expect(readTyped({ name: 'field', ...field }, text)).toEqual({ text, ...expected });
  });

  it('is no number if the browser cannot read it', () => {
    expect(readTyped({ name: 'field', type: 'number' }, '', true)).toEqual({ text: '', problem: 'Write a number.' });
  });
});

describe('disputes', () => {
  const disputes = { helpful: { ana: true, ben: false } };
  const disputed = withFirstItems(
    connected,
    page([item('a', { disputes }), item('b', { disputes: { score: { ana: 0.2, ben: 0.7 } } })], {
      filter: { disagreement: true },
    }),
  );

  it('are settled by one key with gold, without a state, and with the note as the reason', () => {
    const chosen = chooseActive(disputed, 'a', '2');
    expect(isSettled(chosen, 'a')).toBe(true);
    expect(changeOf(chosen, 'a')).toEqual({ item_id: 'a', gold: { helpful: false } });
    const explained = withDraft(chosen, 'a', 'note', (draft) => ({ ...draft, note: ' It misses the question. ' }));
    expect(changeOf(explained, 'a')).toEqual({
      item_id: 'a',
      gold: { helpful: false },
      reason: 'It misses the question.',
    });
  });

  it('about a field that has no keys are settled with the keys of the values that were given', () => {
    expect(changeOf(chooseActive(disputed, 'b', '2'), 'b')).toEqual({ item_id: 'b', gold: { score: 0.7 } });
    expect(stagedCards(chooseActive(disputed, 'b', '3'))).toEqual([]);
  });

  it('are shown in their own order, without the cards of the list before', () => {
    const reversed = page([item('b', { disputes }), item('a', { disputes })], { filter: { disagreement: true } });
    const shown = withFirstItems(opened, reversed);
    expect([[...shown.cards.keys()], shown.current, shown.kind]).toEqual([['b', 'a'], 'b', 'disputes']);
  });

  it('cannot be skipped or finished, and gold that was written can be taken back', () => {
    expect(stagedCards(chooseState(disputed, 'a', 'skipped'))).toEqual([]);
    const chosen = chooseActive(disputed, 'a', '1');
    const written = withResult(chosen, chosen.cards.get('a')!, {});
    const undone = withDraft(written, 'a', 'taking back', (draft) => withRetraction(draft, 'helpful'));
    expect(changeOf(undone, 'a')).toEqual({ item_id: 'a', gold: { helpful: null } });
  });
});
