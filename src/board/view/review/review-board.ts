import { type ComponentChild, render } from 'preact';
import type { GivenFeedback } from '../../../queues/judgements.ts';
import type { QueuePage } from '../../../tools/list-queues.ts';
import type { CallResult } from '../../../tools/read-call.ts';
import type { Review, ReviewedItem } from '../../../tools/review-queue.ts';
import type { UpdateResult } from '../../../tools/update-queue-items.ts';
import { pageSize, queuePageSize } from '../../page-sizes.ts';
import { describeFailure } from '../shared/describe-error.ts';
import { type Arguments, dataOf, type ToolResult } from '../shared/host.ts';
import { countOf } from '../shared/labels.ts';
import { connecting, View } from '../shared/view.ts';
import { plainText } from '../shared/visible-text.ts';
import { draftedChange, emptyDraft } from './draft.ts';
import { type FilterKind, filterOf } from './filters.ts';
import { listenToKeys } from './keyboard.ts';
import {
  acceptSuggestions,
  batchesOf,
  type Card,
  chooseActive,
  chooseState,
  emptyBoard,
  isSettled,
  messageToModel,
  nextOffset,
  type ReviewState,
  selectAll,
  stagedCards,
  type Whole,
  withCard,
  withFirstItems,
  withMoreItems,
  withReread,
  withResult,
} from './review-state.ts';

/** More items than this are written only when the person asks twice. */
const maxUnasked = 20;
/** Time after a refusal during which a new `as_of` may still be too early, in milliseconds. */
const tooEarlyMs = 3000;
/** Characters of a value that the person asked to see whole. */
const maxWholeChars = 30_000;

/** The review board: a page of a queue as cards, and what the person decided about them. */
export class Board extends View<ReviewState> {
  /** @param draw returns the page for the state of the board. */
  constructor(root: HTMLElement, draw: (board: Board) => ComponentChild[]) {
    super('heddle board', { ...connecting, ...emptyBoard }, () => render(draw(this), root));
    listenToKeys({
      hasSingleKeys: () => this.state.hasSingleKeys,
      move: (by) => this.#move(by),
      moveActive: (by) => this.#moveActive(by),
      choose: (index) => this.#chooseByKey(index),
      write: () => this.writeOrAsk(),
      act: (key) => this.#act(key),
    });
    this.announce(connecting.message);
  }

  /** Opens the board of a queue, or lets the person choose one. */
  open(args: Arguments): void {
    this.arguments = args;
    void this.load(() => (args.queue_id === undefined ? this.#chooseQueue() : this.#loadPage()));
  }

  receive(result: ToolResult): void {
    if (!this.state.page) this.#show(dataOf<Review>(result));
  }

  /** Loads the first page, with a filter that the person chose or else the same one. */
  reload(kind?: FilterKind): void {
    const { page, asked } = this.state;
    if (kind) this.update((state) => ({ ...state, kind }));
    const filter = kind && filterOf(kind, page?.filter ?? {}, asked);
    void this.load(() => this.#loadPage(filter && { filter }));
  }

  /** Loads the next page, and moves the focus to its first item. */
  loadMore(): void {
    const { page, cards } = this.state;
    if (page?.next_offset === undefined) return;
    void this.loadFurther(async () => {
      this.update(withMoreItems, await this.#review({ offset: nextOffset(this.state) }));
      this.#focusAt(cards.size);
    });
  }

  /** Judges by a field that the person named, for a queue whose judgements may have any name. */
  judgeBy(name: string, type: string): void {
    const field = { name, type, ...(type === 'integer' && { min: 1, max: 5 }) };
    this.update((state) => ({ ...state, fields: [field], cards: new Map([...state.cards].map(withoutDraft)) }));
    this.#focusAt(0);
  }

  /** Makes a card the one on which keys act. */
  setCurrent(current: string): void {
    if (current !== this.state.current) this.update((state) => ({ ...state, current }));
  }

  /** Makes a field of a card the one that number keys judge. */
  activate(id: string, active: number): void {
    if (active !== this.state.cards.get(id)?.active) this.#set(id, { active });
  }

  /** Drops what was decided about an item and not written. */
  clear(id: string): void {
    this.#set(id, { draft: emptyDraft, problem: undefined });
  }

  /** Selects an item, so that what is judged for one selected item counts for all, or no longer. */
  toggleSelection(id: string): void {
    this.#set(id, { isSelected: !this.state.cards.get(id)?.isSelected });
  }

  /** Loads a value whole, where only its beginning was sent. */
  async loadWhole({ id, call_id }: ReviewedItem, path: string): Promise<void> {
    const set = (whole: Whole): void =>
      this.update(withCard, id, (card) => ({ ...card, wholes: new Map([...card.wholes, [path, whole]]) }));
    const { project_id } = this.state.page!.queue;
    set('loading');
    try {
      const args = { call_id, project_id, paths: [path], max_value_chars: maxWholeChars };
      const { values } = await this.call<CallResult>('read_call', args);
      set({ value: new Map(Object.entries(values ?? {})).get(path) });
    } catch {
      set('failed');
    }
  }

  /** Loads the judgements of all annotators. */
  async loadGiven(id: string): Promise<void> {
    const { id: queue_id, project_id } = this.state.page!.queue;
    const query = { filter: { id }, include_judgements: true, fields: ['id'], limit: 1 };
    this.#set(id, { given: 'Loading …' });
    try {
      const { items } = await this.call<{ items: { judgements?: GivenFeedback[] }[] }>('query_queue_items', {
        queue_id,
        project_id,
        ...query,
      });
      const given = items[0]?.judgements ?? [];
      this.#set(id, { given: given.length > 0 ? given : 'No one has judged this item yet.' });
    } catch {
      this.#set(id, { given: 'This could not be read. Close and open it to try again.' });
    }
  }

  /** Reads an item again that was refused; what the person decided stays on its card. */
  async reread(id: string): Promise<void> {
    const { refusedAtMs = 0 } = this.state.cards.get(id) ?? {};
    this.#set(id, { isRereading: true });
    await new Promise((resolve) => setTimeout(resolve, refusedAtMs + tooEarlyMs - performance.now()));
    try {
      const page = await this.#review({ filter: { id }, limit: 1 });
      this.update(withReread, page);
      if (page.items.length > 0) cardElement(this.state, id)?.focus();
    } catch (error) {
      this.announceFailure(error);
    }
    this.#set(id, { isRereading: false });
  }

  /** Writes what is decided; if that is much, only when the person asks again. */
  writeOrAsk(): void {
    const staged = stagedCards(this.state);
    const { isWriting, isAsking } = this.state;
    if (isWriting) return;
    if (staged.length === 0) this.announce('There is nothing to write yet.');
    else if (staged.length <= maxUnasked || isAsking) void this.#write(staged);
    else {
      const message = `This writes ${countOf(staged.length, 'item')}, and finished states are final. Press Enter or the button again to write.`;
      this.update((state) => ({ ...state, isAsking: true, message }));
    }
  }

  #set(id: string, change: Partial<Card>): void {
    this.update(withCard, id, (card) => ({ ...card, ...change }));
  }

  async #chooseQueue(): Promise<void> {
    const { queues } = await this.call<QueuePage>('list_queues', { limit: queuePageSize });
    const [only, second] = queues;
    if (only && !second) return this.open({ queue_id: only.id });
    const message = queues.length === 0 ? 'There are no queues.' : 'Choose a queue.';
    this.update((state) => ({ ...state, queues, message }));
  }

  async #loadPage(more: Arguments = {}): Promise<void> {
    this.#show(await this.#review(more));
  }

  #review(more: Arguments): Promise<Review> {
    const { queue_id, project_id, filter } = this.arguments ?? {};
    const { page } = this.state;
    const project = page?.queue.project_id ?? project_id;
    const given = page?.filter ?? filter;
    return this.call<Review>('review_queue', {
      queue_id,
      ...(project !== undefined && { project_id: project }),
      ...(given !== undefined && { filter: given }),
      limit: pageSize,
      ...more,
    });
  }

  #show(page: Review): void {
    const isNew = !this.state.page;
    const { isChat } = this.host;
    const { id, project_id, name } = page.queue;
    this.arguments ??= { queue_id: id, project_id };
    this.update(withFirstItems, page);
    if (!isNew || isChat) return;
    document.title = `${plainText(name)} – heddle board`;
    // With the focus on a card, keys work at once. In a chat it is left alone: the person may be typing a message.
    this.#focusCurrent();
  }

  #focusAt(position: number): void {
    const id = [...this.state.cards.keys()][position];
    if (id === undefined) return;
    this.setCurrent(id);
    const card = cardElement(this.state, id);
    card?.focus();
    card?.scrollIntoView({ block: 'nearest' });
  }

  /** Gives the focus to the current card, unless something else on the page has it. */
  #focusCurrent(): void {
    const { activeElement, body } = document;
    if (activeElement === null || activeElement === body || activeElement.closest('footer'))
      cardElement(this.state)?.focus();
  }

  #move(by: number): void {
    const { cards, current } = this.state;
    const next = current === undefined ? 0 : [...cards.keys()].indexOf(current) + by;
    if (next === cards.size) this.loadMore();
    else this.#focusAt(next);
  }

  #moveActive(by: number): void {
    const { current = '', cards, fields } = this.state;
    const { active = 0 } = cards.get(current) ?? {};
    const next = Math.min(Math.max(active + by, 0), fields.length - 1);
    this.activate(current, next);
    this.announce(plainText(fields[next]?.name ?? ''));
  }

  #chooseByKey(index: number): void {
    const { current, page } = this.state;
    if (current === undefined || !page?.can_write) return;
    const before = this.state;
    this.update(chooseActive, current, index);
    if (this.state !== before && isSettled(this.state, current)) this.#move(1);
  }

  #act(key: string): void {
    const { current: id, page, cards } = this.state;
    const element = cardElement(this.state);
    const card = cards.get(id ?? '');
    if (id === undefined || !card || !element) return;
    const focusOn = (selector: string): void => element.querySelector<HTMLElement>(selector)?.focus();
    if (key === 'o') element.querySelector('.others')?.toggleAttribute('open');
    if (!page?.can_write) return;
    if (key === 'a') this.update(selectAll);
    if (key === 'c') this.update(acceptSuggestions, id);
    if (key === 'e') focusOn(`fieldset:nth-of-type(${card.active + 1}) .box`);
    if (key === 'f') this.update(chooseState, id, 'completed');
    if (key === 'n') {
      element.querySelector('.note')?.setAttribute('open', '');
      focusOn('.note textarea');
    }
    if (key === 's') {
      this.update(chooseState, id, 'skipped');
      if (!card.isSelected) this.#move(1);
    }
    if (key === 'u') this.clear(id);
    if (key === 'x') this.toggleSelection(id);
  }

  async #write(staged: readonly Card[]): Promise<void> {
    this.update((state) => ({ ...state, isAsking: false, isWriting: true }));
    let written = 0;
    let failure = '';
    let hint = '';
    try {
      for (const cards of batchesOf(staged)) {
        const result = await this.#writeBatch(cards);
        written += cards.length - result.items.filter(({ error }) => error).length;
        hint = result.hint === undefined ? '' : ` ${plainText(result.hint)}`;
      }
    } catch (error) {
      const { sentence, detail } = describeFailure(error);
      failure = ` ${sentence}${detail === undefined ? '' : ` ${detail}`}`;
    }
    this.update((state) => ({ ...state, isWriting: false }));
    const ids = [...this.state.cards.keys()];
    const refused = staged.filter(({ item }) => this.state.cards.get(item.id)?.problem);
    const reason = ` ${countOf(refused.length, 'item')} refused; the reason is on the card.`;
    this.announce(`${countOf(written, 'item')} written.${refused.length === 0 ? '' : reason}${failure}${hint}`);
    if (refused[0]) this.#focusAt(ids.indexOf(refused[0].item.id));
    // The button that was pressed is gone.
    else if (stagedCards(this.state).length === 0) this.#focusCurrent();
    if (written > 0) await this.host.tellModel(messageToModel(this.state, refused.length));
  }

  async #writeBatch(cards: readonly Card[]): Promise<UpdateResult> {
    const { page, fields } = this.state;
    const [first] = cards;
    const result = await this.call<UpdateResult>('update_queue_items', {
      queue_id: page?.queue.id,
      project_id: page?.queue.project_id,
      items: cards.map(({ item, draft }) => draftedChange(item, draft, fields)),
      as_of: first?.asOf,
      ...(first?.isReread && { expected_state: first.item.annotation_state }),
      by_user: true,
      // The person has pressed a button that names the number.
      ...(cards.length > maxUnasked && { confirm: true }),
    });
    const { items, annotation_state } = result;
    const results = new Map(items.map((each) => [each.item_id, each]));
    const ofAll = annotation_state === undefined ? {} : { annotation_state };
    this.update((state) =>
      cards.reduce((settled, card) => withResult(settled, card, { ...ofAll, ...results.get(card.item.id) }), state),
    );
    return result;
  }
}

function withoutDraft([id, card]: [string, Card]): [string, Card] {
  return [id, { ...card, draft: emptyDraft, active: 0 }];
}

/** Returns the element of a card, by default the current one. */
function cardElement({ cards, current = '' }: ReviewState, id = current): HTMLElement | null {
  const position = [...cards.keys()].indexOf(id) + 1;
  return document.getElementById(`card-${position}`);
}
