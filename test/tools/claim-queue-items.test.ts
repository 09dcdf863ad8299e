import { describe, expect, it } from 'vitest';
import { createQueue, startBothServices } from '../support/both-services.ts';
import { connectClient } from '../support/client.ts';
import { emptyHome, temporaryFolder } from '../support/heddle.ts';

const services = await startBothServices();
const [embedded, recorded] = services as [(typeof services)[0], (typeof services)[0]];
const calls = ['call-0', 'call-1', 'call-2', 'call-3'];
const filterHint =
  'Only items that match the filter were considered. query_queue_items lists them; they can be judged without a claim.';

// biome-ignore lint/suspicious/noExplicitAny: results of every shape
const callsOf = ({ items, common = {}, error }: any): string[] => {
  expect(error).toBeUndefined();
  return items.map((item: Record<string, unknown>) => ({ ...common, ...item }).call_id);
};

describe('claim_queue_items', () => {
  it('returns the items with their values, until when they are held, and an as_of for changes', async () => {
    const { queue_id } = await createQueue(embedded, calls);
    await embedded.ada.call('update_queue', { queue_id, add_fields: [{ name: 'tone', type: 'string' }] });
    const claimed = await embedded.ada.call('claim_queue_items', { queue_id, n: 2, minutes: 5 });
    expect(callsOf(claimed)).toEqual(['call-0', 'call-1']);
    expect(claimed).toMatchObject({
      held_until: expect.stringMatching(/^\d{4}-.*Z$/),
      as_of: expect.stringMatching(/Z$/),
    });
    expect(claimed.text).toContain(`2 items held until ${claimed.held_until}. as_of ${claimed.as_of}.`);
    const items = [{ item_id: claimed.items[0].id, judgements: { helpful: true }, annotation_state: 'completed' }];
    const { counts } = await embedded.ada.call('update_queue_items', { queue_id, items, as_of: claimed.as_of });
    expect(counts).toEqual({ done: 1 });
  });

  it('takes an opinion after that of someone else with as_of only where an item wants several', async () => {
    for (const [reviewers_per_item, counts] of [
      [2, { done: 1 }],
      [1, { refused: 1 }],
    ] as const) {
      const fields = [{ name: 'helpful', type: 'boolean' }];
      const settings = { name: `Wants ${reviewers_per_item}`, fields, reviewers_per_item };
      const { queue_id } = await embedded.ada.call('create_queue', settings);
      await embedded.ada.call('add_queue_items', { queue_id, call_ids: calls });
      const { items: claimed, as_of } = await embedded.ada.call('claim_queue_items', { queue_id, n: 1 });
      const items = [{ item_id: claimed[0].id, judgements: { helpful: true }, annotation_state: 'completed' }];
      expect((await embedded.bob.call('update_queue_items', { queue_id, items })).counts).toEqual({ done: 1 });
      expect((await embedded.ada.call('update_queue_items', { queue_id, items, as_of })).counts).toEqual(counts);
      const settled = [{ item_id: claimed[0].id, gold: { helpful: true } }];
      await embedded.bob.call('update_queue_items', { queue_id, items: settled });
      const other = [{ item_id: claimed[0].id, gold: { helpful: false } }];
      const gold = await embedded.ada.call('update_queue_items', { queue_id, items: other, as_of });
      expect(gold.counts).toEqual({ refused: 1 });
    }
  });

  it('shows an agent the values of the calls', async () => {
    const { call } = await connectClient(emptyHome(temporaryFolder()));
    const claimed = await call('claim_queue_items', { queue_id: 'support-triage', n: 1 });
    expect(claimed.items[0].call_values['inputs.question']).toBe('The export button does nothing in Firefox.');
    expect(claimed.text).toContain('The export button does nothing in Firefox.');
  });

  it('gives a person and an agent different items, and says when the next one is free', async () => {
    const { queue_id } = await createQueue(embedded, calls);
    const byPerson = await embedded.ada.call('claim_queue_items', { queue_id, n: 3, by_user: true });
    expect(callsOf(byPerson)).toEqual(['call-0', 'call-1', 'call-2']);
    const byAgent = await embedded.bob.call('claim_queue_items', { queue_id, n: 3 });
    expect(callsOf(byAgent)).toEqual(['call-3']);
    expect(byAgent.free_at).toBe(byPerson.held_until);
    expect(byAgent.text).toContain(
      `No other item is free now; the next claim of someone else ends at ${byAgent.free_at}.`,
    );
    const nothing = await embedded.bob.call('claim_queue_items', { queue_id });
    expect(nothing.items).toEqual([]);
    expect(nothing.text).toContain('No item wants your opinion now.');
    const filtered = await embedded.bob.call('claim_queue_items', { queue_id, filter: { text: 'zebra' } });
    expect(filtered).toMatchObject({ items: [], hint: filterHint });
    expect(filtered).not.toHaveProperty('held_until');
  });

  it('releases and prolongs', async () => {
    const { queue_id, ids } = await createQueue(embedded, calls);
    await embedded.ada.call('claim_queue_items', { queue_id, n: 3 });
    const kept = await embedded.ada.call('claim_queue_items', { queue_id, n: 0, prolong: true, release: [ids[1]] });
    expect(callsOf(kept)).toEqual(['call-0', 'call-2']);
    expect(callsOf(await embedded.bob.call('claim_queue_items', { queue_id }))).toEqual(['call-1', 'call-3']);
  });

  it('only releases without n, and refuses to release what the queue does not have', async () => {
    const { queue_id, ids } = await createQueue(embedded, calls);
    await embedded.ada.call('claim_queue_items', { queue_id, n: 3 });
    const released = await embedded.ada.call('claim_queue_items', { queue_id, release: [ids[0], 'call-1', 'call-3'] });
    expect(released).toMatchObject({ items: [], released: 2 });
    expect(released.text).toContain('Released 2 items that you held.\nNo item was claimed.');
    const { error } = await embedded.ada.call('claim_queue_items', { queue_id, release: ['call-2', 'call-22'] });
    expect(error).toMatchObject({
      code: 'invalid_arguments',
      message: `Nothing was released or claimed: queue ${queue_id} has no item or call "call-22".`,
      hint: 'The nearest items are call-2, call-0, call-1.',
    });
    expect(callsOf(await embedded.bob.call('claim_queue_items', { queue_id }))).toEqual(['call-0', 'call-1', 'call-3']);
  });

  it('refuses to claim no item, which releases and prolongs none either', async () => {
    const { queue_id } = await createQueue(embedded, calls);
    const { error } = await embedded.ada.call('claim_queue_items', { queue_id, n: 0 });
    expect(error).toMatchObject({
      code: 'invalid_arguments',
      message: 'Invalid arguments for claim_queue_items: n: must be at least 1, unless release or prolong is passed.',
    });
  });

  it('gives items that are assigned only to their assignees', async () => {
    const { queue_id, ids } = await createQueue(embedded, calls);
    const change = (items: object[], more: object = {}) =>
      embedded.ada.call('update_queue_items', { queue_id, items, ...more });
    const preview = await change([{ item_id: ids[0], assignees: ['bob'] }], { dry_run: true });
    expect(preview.counts).toEqual({ would_send: 1 });
    const assigned = await change([
      { item_id: ids[0], assignees: ['bob'] },
      { call_id: 'call-1', assignees: ['ada'] },
      { item_id: ids[2], assignees: ['bob'] },
      { item_id: 'nowhere', assignees: ['bob'] },
    ]);
    expect(assigned.counts).toEqual({ done: 3, refused: 1 });
    await change([{ item_id: ids[2], assignees: [] }]);
    const { items } = await embedded.ada.call('query_queue_items', { queue_id });
    expect(items.map(({ assignees }: { assignees?: string[] }) => assignees)).toEqual([
      ['bob'],
      ['ada'],
      undefined,
      undefined,
    ]);
    expect(callsOf(await embedded.ada.call('claim_queue_items', { queue_id }))).toEqual(['call-1', 'call-2', 'call-3']);
    expect(callsOf(await embedded.bob.call('claim_queue_items', { queue_id }))).toEqual(['call-0']);
  });

  it('refuses, also in a dry run, to assign items to somebody who cannot claim them', async () => {
    const { queue_id, ids } = await createQueue(embedded, calls);
    const items = [
      { item_id: ids[0], assignees: ['bbo'] },
      { item_id: ids[1], assignees: ['bob'] },
    ];
    const preview = await embedded.ada.call('update_queue_items', { queue_id, items, dry_run: true });
    expect(preview.counts).toEqual({ refused: 1, would_send: 1 });
    expect(preview.text).toContain('that could claim items; its accounts are ada, bob');
    const written = await embedded.ada.call('update_queue_items', { queue_id, items });
    expect(written.counts).toEqual({ refused: 1, done: 1 });
  });

  it('claims items by their judgements', async () => {
    const { queue_id, ids } = await createQueue(embedded, calls);
    const items = [{ item_id: ids[2], judgements: { score: 5 } }];
    await embedded.ada.call('update_queue_items', { queue_id, items });
    const high = await embedded.bob.call('claim_queue_items', { queue_id, filter: { field: 'score', value: 5 } });
    expect(callsOf(high)).toEqual(['call-2']);
    const low = await embedded.bob.call('claim_queue_items', { queue_id, filter: { field: 'score', value: 1 } });
    expect(callsOf(low)).toEqual([]);
  });

  it('keeps the ids of all items in a result that is cut', async () => {
    const many = Array.from({ length: 100 }, (_, n) => `bulk-${n}`);
    const { queue_id, ids } = await createQueue(embedded, many);
    const { call } = await connectClient({ ...embedded.environmentOf('ada'), HEDDLE_MAX_RESULT_CHARS: '5000' });
    const claimed = await call('claim_queue_items', { queue_id, n: 100 });
    expect(claimed.items.map(({ id }: { id: string }) => id)).toEqual(ids);
    expect(claimed.text).toContain(`Of the last ${claimed.ids_only} only the id is shown, because of the size limit.`);
  });

  it('is refused with the nearest queues for an unknown one, and with the reason for another annotator', async () => {
    const { error } = await embedded.ada.call('claim_queue_items', { queue_id: 'nowhere' });
    expect(error).toMatchObject({ code: 'not_found', hint: expect.stringContaining('list_queues') });
    const { queue_id } = await createQueue(embedded, calls);
    const refused = await embedded.ada.call('claim_queue_items', { queue_id, annotator: 'bob' });
    expect(refused.error.message).toContain('The project has accounts, so ada claims for itself only');
  });
});

describe('claim_queue_items at a service without claims', () => {
  it('marks items as in progress, leaves out those of others, and says what that promises', async () => {
    const { queue_id, ids } = await createQueue(recorded, calls);
    const [done] = ids;
    const items = [{ item_id: done, judgements: { helpful: true }, annotation_state: 'completed' }];
    await recorded.bob.call('update_queue_items', { queue_id, items });
    const claimed = await recorded.ada.call('claim_queue_items', { queue_id, n: 2 });
    expect(callsOf(claimed)).toEqual(['call-1', 'call-2']);
    expect(claimed).not.toHaveProperty('held_until');
    expect(claimed.hint).toContain('An annotator who asks at the same moment may get the same items');
    expect(claimed.text).toContain(claimed.hint);
    const { items: shown } = await recorded.bob.call('query_queue_items', { queue_id });
    const states = shown.map(({ annotation_state }: { annotation_state: string }) => annotation_state);
    expect(states).toEqual(['completed', 'in_progress', 'in_progress', 'unstarted']);
    expect(callsOf(await recorded.bob.call('claim_queue_items', { queue_id }))).toEqual(['call-3']);
    expect(callsOf(await recorded.ada.call('claim_queue_items', { queue_id }))).toEqual([]);
  });

  it('says that only items of the filter were considered where it leaves nothing to mark, and nothing of marks', async () => {
    const { queue_id } = await createQueue(recorded, calls);
    const none = await recorded.ada.call('claim_queue_items', { queue_id, filter: { text: 'zebra' } });
    expect(none).toMatchObject({ items: [], hint: filterHint });
  });

  it('says of items that they cannot be assigned there, and changes nothing of them', async () => {
    const { queue_id, ids } = await createQueue(recorded, calls);
    const items = [{ item_id: ids[0], assignees: ['bob'], judgements: { helpful: true } }];
    for (const dry_run of [true, false]) {
      const { error } = await recorded.ada.call('update_queue_items', { queue_id, items, dry_run });
      expect(error).toMatchObject({ code: 'unsupported' });
    }
    const { items: shown } = await recorded.ada.call('query_queue_items', { queue_id, include_judgements: true });
    expect(shown.some((item: object) => 'judgements' in item)).toBe(false);
  });

  it('offers an item to as many as reviewers_per_item says', async () => {
    const { queue_id } = await createQueue(recorded, ['call-0']);
    const claim = { queue_id, reviewers_per_item: 2 };
    expect(callsOf(await recorded.ada.call('claim_queue_items', claim))).toEqual(['call-0']);
    expect(callsOf(await recorded.bob.call('claim_queue_items', claim))).toEqual(['call-0']);
    expect(callsOf(await recorded.bob.call('claim_queue_items', claim))).toEqual([]);
  });

  it('refuses what it cannot do', async () => {
    const { queue_id, ids } = await createQueue(recorded, ['call-0']);
    for (const more of [{ prolong: true }, { release: ids }, { annotator: 'eve' }]) {
      const { error } = await recorded.ada.call('claim_queue_items', { queue_id, ...more });
      expect(error).toMatchObject({ code: 'unsupported', message: expect.stringContaining('has no claims') });
    }
    expect((await recorded.ada.call('claim_queue_items', { queue_id: 'nowhere' })).error.code).toBe('not_found');
  });
});
