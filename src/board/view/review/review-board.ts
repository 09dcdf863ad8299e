import { type ComponentChild, render } from 'preact';
import type { GivenFeedback } from '../../../queues/given-feedback.ts';
import type { FieldDefinition } from '../../../queues/queue-fields.ts';
import type { SummaryTable } from '../../../queues/queue-summary.ts';
import type { Claim } from '../../../tools/claim-queue-items.ts';
import type { CallResult } from '../../../tools/read-call.ts';
import type { Review, ReviewedItem, ReviewFilter } from '../../../tools/review-queue.ts';
import type { ChangedQueue } from '../../../tools/update-queue.ts';
import type { UpdateResult } from '../../../tools/update-queue-items.ts';
import { claimedAtOnce, claimMinutes, pageSize } from '../../page-sizes.ts';
import { describeFailure } from '../shared/describe-error.ts';
import {
  type Arguments,
  dataOf,
  type Host,
  type HostEvents,
  keepValue,
  lastingStorage,
  ToolFailure,
  type ToolResult,
} from '../shared/host.ts';
import { countOf } from '../shared/labels.ts';
import { connecting, View } from '../shared/view.ts';
import { plainText } from '../shared/visible-text.ts';
import { isCut } from '../values/value-view.ts';
import { draftedChange, emptyDraft, fieldsOf, isEmpty, isUntouched, isWritable } from './draft.ts';
import { DraftStore } from './draft-store.ts';
import { type FilterKind, filterOf, kindOf, toDo } from './filters.ts';
import { listenToKeys } from './keyboard.ts';
import {
  acceptSuggestions,
  agentsOf,
  batchesOf,
  type Card,
  chooseActive,
  chooseState,
  emptyBoard,
  hasChoiceOfState,
  isLeft,
  isSettled,
  messageToModel,
  nextOffset,
  placeOf,
  type ReviewState,
  selectAll,
  skippedTogether,
  stagedCards,
  takeBack,
  toDoOf,
  type Whole,
  withCard,
  withFirstItems,
  withForeignDraft,
  withHeld,
  withLacking,
  withMoreItems,
  withRefreshed,
  withReread,
  withRestored,
  withResult,
} from './review-state.ts';

/** More items than this are written only when the person asks twice. */
const maxUnasked = 20;
/** Pages that are loaded at most to find the items of restored drafts. */
const maxRestoredPages = 20;
/** Items that review_queue returns at most. */
const maxShownAtOnce = 100;
/** Characters of a value that is shown whole: in a chat, which limits results, and in a browser. */
const maxWholeChars = 30_000;
const maxWholeCharsInBrowser = 1_000_000;

/** The review board: a page of a queue as cards, and what the person decided about them. */
export class Board extends View<ReviewState> {
  readonly #store = new DraftStore();
  /** The page that is being loaded, and the keys that wait for its first card. */
  #loading: Promise<void> | undefined;
  #waiting: (() => void)[] | undefined;
  /** When the claims on the items are prolonged with the next change; never if there are none. */
  #prolongAtMs = Infinity;

  /**
   * @param draw returns the page for the state of the board.
   * @param connect see {@link View}.
   */
  constructor(root: HTMLElement, draw: (board: Board) => ComponentChild[], connect: (events: HostEvents) => Host) {
    super('heddle board', { ...connecting, ...emptyBoard }, () => render(draw(this), root), connect);
    root.className = this.host.isChat ? 'in-chat' : 'in-browser';
    listenToKeys({
      hasSingleKeys: () => this.state.hasSingleKeys,
      move: (by) => this.#whenCardStands(() => this.#move(by)),
      moveActive: (by) => this.#whenCardStands(() => this.#moveActive(by)),
      choose: (key) => this.#whenCardStands(() => this.#chooseByKey(key)),
      enter: () => this.#whenCardStands(() => this.#enter()),
      takeBack: () => this.#whenCardStands(() => this.#takeBack()),
      act: (key) => this.#whenCardStands(() => this.#act(key)),
      refuse: () => this.announce('Nothing was done: you clicked something else. Press Esc, then the letter.'),
    });
    this.#store.onChange((id, draft) => this.update(withForeignDraft, id, draft));
    window.addEventListener('beforeunload', (event) => {
      // In a chat, a page whose drafts are kept may go.
      if (stagedCards(this.state).length > 0 && !(this.host.isChat && this.#store.isKeeping)) event.preventDefault();
    });
    this.announce(connecting.message);
  }

  override update<Args extends unknown[]>(
    change: (state: ReviewState, ...args: Args) => ReviewState,
    ...args: Args
  ): void {
    const { cards } = this.state;
    super.update(change, ...args);
    if (this.state.cards !== cards) this.#keepDrafts(cards);
    if (Date.now() > this.#prolongAtMs) void this.#prolong();
  }

  override get keptSentence(): string {
    const { length } = stagedCards(this.state);
    return length > 0 && this.#store.isKeeping ? 'What you decided is kept in this browser. ' : '';
  }

  /** Leaves the queue for another one, where the person can choose. */
  leave?(): void;

  /** Opens the board of a queue. */
  open(args: Arguments): void {
    this.arguments = args;
    void this.load(() => this.#loadPage());
  }

  receive(result: ToolResult): void {
    if (this.state.page) return;
    const review = dataOf<Review>(result);
    const { queue, filter } = review;
    if (review.items.length > 0) this.#show(review);
    // What the model reads has no items; the page asks for them with the arguments, which chats send first.
    else if (!this.arguments) this.open({ queue_id: queue.id, project_id: queue.project_id, filter });
  }

  /** Forgets the queue, so that nothing of it shows with the next one; what the person set for the page stays. */
  protected forgetQueue(): void {
    this.arguments = {};
    this.#loading = undefined;
    this.#waiting = undefined;
    this.#prolongAtMs = Infinity;
    document.title = 'heddle board';
    this.update(({ formats, notice, hasSingleKeys, isRaw }) => {
      return { ...connecting, ...emptyBoard, message: '', formats, notice, hasSingleKeys, isRaw };
    });
  }

  /** Calls a tool, and never returns once the person has left the queue that was open. */
  override async call<Data>(name: string, args: Arguments): Promise<Data> {
    const queueId = this.arguments?.queue_id;
    const result = super.call<Data>(name, args);
    await result.catch(() => {});
    return this.arguments?.queue_id === queueId ? result : new Promise(() => {});
  }

  /** Loads the first page, with a filter that the person chose or else the same one. */
  reload(kind?: FilterKind): void {
    const { page, asked } = this.state;
    // A draft of the one is a judgement, of the other gold.
    const isOther = kind && (kind === 'disputes') !== (this.state.kind === 'disputes');
    if (isOther && stagedCards(this.state).length > 0) {
      this.announce('Write your decisions first.');
      return;
    }
    if (kind) this.setMembers({ kind });
    const filter = kind && filterOf(kind, page?.filter ?? {}, asked);
    void this.load(() => this.#loadPage(filter && { filter }));
  }

  /** Lists all items with what was judged. */
  check(): void {
    this.setMembers({ isList: true });
    this.reload('all');
  }

  /** Loads the next page, and moves the focus to its first item. */
  loadMore(): void {
    const { size } = this.state.cards;
    void this.#loadNextPage().then(() => this.#focusAt(size));
  }

  /** Gives a queue without fields its first one. */
  async addField(field: FieldDefinition): Promise<void> {
    const { id: queue_id, project_id } = this.state.page!.queue;
    try {
      const args = { queue_id, project_id, add_fields: [field], confirm: true };
      const { fields = [] } = await this.call<ChangedQueue>('update_queue', args);
      this.setMembers({ fields, message: `You judge ${plainText(field.name)}.` });
      this.#focusAt(0);
    } catch (error) {
      this.announceFailure(error);
    }
  }

  /** Makes a card the one on which keys act. */
  setCurrent(current: string): void {
    if (current !== this.state.current) this.setMembers({ current });
  }

  /** Makes a field of a card the one that number keys judge. */
  activate(id: string, active: number): void {
    if (active !== this.state.cards.get(id)?.active) this.#set(id, { active });
  }

  /** Goes to another item, or to the end. */
  step(by: number): void {
    this.#whenCardStands(() => this.#move(by));
  }

  /** Shows the guidelines or hides them, and remembers that for the queue. */
  toggleGuidelines(): void {
    const isGuided = !this.state.isGuided;
    this.setMembers({ isGuided });
    keepValue(this.#guideKey, isGuided ? 'open' : 'closed');
    document.querySelector(isGuided ? '.rules' : 'article')?.scrollIntoView({ block: 'nearest' });
  }

  get #guideKey(): string {
    const { id, project_id } = this.state.page!.queue;
    return `heddle-guidelines ${JSON.stringify([project_id, id])}`;
  }

  /** Selects an item, so that what is judged for one selected item counts for all, or no longer. */
  toggleSelection(id: string): void {
    this.#set(id, { isSelected: !this.state.cards.get(id)?.isSelected });
  }

  /** Loads values of an item whole, where only their beginning was sent. */
  async loadWholes({ id, call_id }: ReviewedItem, paths: readonly string[]): Promise<void> {
    const set = (wholeAt: (path: string) => Whole): void =>
      this.update(withCard, id, (card) => {
        const read = paths.map((path) => [path, wholeAt(path)] as const);
        return { ...card, wholes: new Map([...card.wholes, ...read]) };
      });
    const { project_id } = this.state.page!.queue;
    set(() => 'loading');
    try {
      const max_value_chars = this.host.isChat ? maxWholeChars : maxWholeCharsInBrowser;
      const { values } = await this.call<CallResult>('read_call', { call_id, project_id, paths, max_value_chars });
      const read = new Map(Object.entries(values ?? {}));
      set((path) => ({ value: read.get(path) }));
    } catch {
      set(() => 'failed');
    }
  }

  /** Loads the values of the current item that were cut, where it is read alone. */
  #loadCutValues(): void {
    const { cards, current, isList } = this.state;
    const { item, wholes } = cards.get(current ?? '') ?? {};
    if (isList || !item || !wholes) return;
    const values = Object.entries(item.call_values ?? {});
    const paths = values.flatMap(([path, value]) => (isCut(value) && !wholes.has(path) ? [path] : []));
    if (paths.length > 0) void this.loadWholes(item, paths);
  }

  /** Loads the judgements of all annotators. */
  async loadGiven(id: string): Promise<void> {
    const { id: queue_id, project_id } = this.state.page!.queue;
    const query = { filter: { id }, include_judgements: true, fields: ['notes', 'gold_reasons', 'gold_by'], limit: 1 };
    this.#set(id, { given: 'Loading …' });
    try {
      const { items } = await this.call<{ items: Partial<GivenFeedback>[] }>('query_queue_items', {
        queue_id,
        project_id,
        ...query,
      });
      const { judgements = {}, ...rest } = items[0] ?? {};
      this.#set(id, { given: { judgements, ...rest } });
    } catch {
      this.#set(id, { given: 'This could not be read. Close and open it to try again.' });
    }
  }

  /** Reads an item again that was refused; what the person decided stays on its card. */
  async reread(id: string): Promise<void> {
    this.#set(id, { isRereading: true });
    try {
      const page = await this.#readAgain([id]);
      this.update(withReread, page);
      if (page.items.length > 0) cardElement(this.state, id)?.focus();
    } catch (error) {
      this.announceFailure(error);
    }
    this.#set(id, { isRereading: false });
  }

  /** Reads items again, and the counts of the queue; without items, these alone. */
  #readAgain(ids: readonly string[]): Promise<Review> {
    const { disagreement } = this.state.page!.filter;
    const filter = ids.length > 0 && { filter: { ids, ...(disagreement && { disagreement }) } };
    return this.#review({ ...filter, limit: ids.length || 1 });
  }

  /** Shows what others have finished meanwhile, like an agent of the account. The page can do without it. */
  async #refresh(): Promise<void> {
    const left = [...this.state.cards].filter(([, card]) => isLeft(this.state, card) && !card.problem);
    const ids = left.map(([id]) => id).slice(0, maxShownAtOnce);
    const page = await this.#readAgain(ids).catch(() => undefined);
    if (page) this.update(withRefreshed, page);
  }

  /** Writes what is decided; if that is much, only when the person asks again. */
  writeOrAsk(): void {
    const staged = stagedCards(this.state);
    const { isWriting, isAsking } = this.state;
    const skipped = skippedTogether(this.state);
    if (isWriting) return;
    if (staged.length === 0) this.announce('There is nothing to write yet.');
    else if ((staged.length <= maxUnasked && skipped === 0) || isAsking) void this.#write(staged);
    else {
      const after =
        skipped === 0
          ? 'You can still correct them afterwards.'
          : `${skipped} of them go to someone else, and you cannot take that back.`;
      const message = `Nothing is written yet. Press Enter or the button once more to write all ${staged.length} items. ${after}`;
      this.setMembers({ isAsking: true, message });
    }
  }

  /** Keeps the drafts that have changed, and says so once if the browser has no room for them. */
  #keepDrafts(before: ReviewState['cards']): void {
    const wasKeeping = this.#store.isKeeping;
    for (const [id, { draft }] of this.state.cards) {
      if (draft !== (before.get(id)?.draft ?? emptyDraft)) this.#store.write(id, draft);
    }
    if (wasKeeping && !this.#store.isKeeping)
      this.announce('This browser has no room left to keep what is not written. Write now.');
  }

  /** Shows the drafts that were kept, loads the pages with their items, and goes to the first item that still lacks a decision or a value. */
  async #restore(): Promise<void> {
    const drafts = this.#store.read();
    const { current, kind } = this.state;
    const disputes = kind === 'disputes' ? 0 : this.#store.countGold();
    if (drafts.size + disputes === 0) return;
    this.update(withRestored, drafts);
    const countMissing = (): number => [...drafts.keys()].filter((id) => !this.state.cards.has(id)).length;
    // What the person had claimed is on the first page.
    const pages = this.#prolongAtMs === Infinity ? maxRestoredPages : 1;
    for (let page = 1; page < pages && countMissing() > 0; page += 1) {
      const { size } = this.state.cards;
      await this.#loadNextPage();
      if (this.state.cards.size === size) break;
    }
    const missing = countMissing();
    const restored = drafts.size - missing;
    this.announce(
      [
        restored > 0 && `Restored what you decided about ${countOf(restored, 'item')} and did not write.`,
        missing > 0 && notWritten(`${countOf(missing, 'item')} of another list`, 'All items'),
        disputes > 0 && notWritten(countOf(disputes, 'dispute'), 'Disputes'),
      ]
        .filter(Boolean)
        .join(' '),
    );
    // The person may have gone on meanwhile.
    if (this.state.current !== current) return;
    const next = [...this.state.cards].findIndex(
      ([id, { draft }]) => isEmpty(draft) || (!draft.state && !isSettled(this.state, id)),
    );
    if (next === -1) this.#moveToEnd();
    else if (this.host.isChat) this.setCurrent([...this.state.cards.keys()][next]!);
    else this.#focusAt(next);
  }

  /** Loads the next page, if there is one; does not load it twice. */
  #loadNextPage(): Promise<void> {
    if (this.state.page?.next_offset === undefined) return Promise.resolve();
    this.#loading ??= this.loadFurther(async () => {
      this.update(withMoreItems, await this.#loadItems({ offset: nextOffset(this.state) }));
      this.update(withRestored, this.#store.read());
    }).finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  /** Acts at once, or when the next card stands, in the order of the keys: a key must not meet the card before. */
  #whenCardStands(action: () => void): void {
    if (this.#waiting) this.#waiting.push(action);
    else action();
  }

  /** Loads the next page and goes to its first card; keys wait until then, and are dropped if it cannot be loaded. */
  async #moveToNextPage(): Promise<void> {
    const { size } = this.state.cards;
    this.#waiting = [];
    await this.#loadNextPage();
    if (this.state.cards.size > size) {
      this.#focusAt(size);
      return this.#actOnWaiting();
    }
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (this.state.page?.next_offset === undefined) {
      this.#moveToEnd();
      // Without a current card they decide nothing, but Enter writes.
      if (this.state.current === undefined) for (const action of waiting) action();
    }
    // It could not be loaded; a further key must not change the last card.
    else this.setMembers({ current: undefined });
  }

  /** Does what keys that waited are for, with a pause after each, in which the page is drawn. */
  async #actOnWaiting(): Promise<void> {
    const waiting = this.#waiting!;
    for (let action = waiting.shift(); action; action = waiting.shift()) {
      action();
      // The next page is needed already: the rest waits for it.
      if (this.#waiting !== waiting) return void this.#waiting?.push(...waiting);
      await new Promise((resolve) => setTimeout(resolve));
    }
    this.#waiting = undefined;
  }

  #takeBack(): void {
    this.update(takeBack);
    this.#showCurrent();
  }

  #set(id: string, change: Partial<Card>): void {
    this.update(withCard, id, (card) => ({ ...card, ...change }));
  }

  /** Switches between one item that fills the page and the list of all. */
  toggleList(): void {
    this.setMembers({ isList: !this.state.isList });
    this.#showCurrent();
  }

  async #loadPage(more: Arguments = {}): Promise<void> {
    this.#show(await this.#loadItems(more));
  }

  /** Loads items that are not shown yet. Those to do are claimed first, so that no one else judges them meanwhile. */
  async #loadItems(more: Arguments): Promise<Review> {
    const filter = (more.filter ?? this.state.page?.filter ?? this.arguments?.filter ?? toDo) as ReviewFilter;
    const { offset = 0 } = more as { offset?: number };
    const n = offset + claimedAtOnce;
    const held = kindOf(filter) === 'todo' ? await this.#claim(filter, n) : undefined;
    if (!held) return this.#review(more);
    const ids = held.filter((id) => offset === 0 || !this.state.cards.has(id)).slice(0, maxShownAtOnce);
    // Without items, the page still says what queue this is.
    const page = await this.#review(ids.length > 0 ? { filter: { ids }, limit: maxShownAtOnce } : { limit: 1 });
    const items = ids.length > 0 ? page.items : [];
    const mayFollow = held.length >= n && toDoOf(page.queue) > held.length;
    return { ...page, filter, items, next_offset: mayFollow ? n : undefined };
  }

  /** Claims items for the person, who then has up to `n` of them, and prolongs the claims. Returns the ids; undefined if nothing can be claimed. */
  async #claim({ unfinished_by_me: _, ...filter }: ReviewFilter, n: number): Promise<string[] | undefined> {
    this.#prolongAtMs = Date.now() + claimMinutes * 20_000;
    try {
      const { items } = await this.call<Claim>('claim_queue_items', {
        ...this.#queue,
        filter,
        n,
        minutes: claimMinutes,
        prolong: true,
        by_user: true,
      });
      return items.map(({ id }) => id as string);
    } catch (error) {
      // The service has no claims, or the tool is not offered.
      if (!(error instanceof ToolFailure) || !/^(unsupported|host)$/.test(error.code)) throw error;
      this.#prolongAtMs = Infinity;
      return undefined;
    }
  }

  async #prolong(): Promise<void> {
    const held = await this.#claim({}, 0).catch(() => undefined);
    if (held && this.state.kind === 'todo') this.update(withHeld, held);
  }

  /** The arguments that name the queue. */
  get #queue(): Arguments {
    const { queue_id, project_id = this.state.page?.queue.project_id } = this.arguments ?? {};
    return { queue_id, ...(project_id !== undefined && { project_id }) };
  }

  #review(more: Arguments): Promise<Review> {
    const given = this.state.page?.filter ?? this.arguments?.filter;
    return this.call<Review>('review_queue', {
      ...this.#queue,
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
    this.#store.open(page);
    this.#loadCutValues();
    const isBegun = page.queue.total !== toDoOf(page.queue);
    const guided = lastingStorage()?.getItem(this.#guideKey);
    // Whoever has judged nothing here yet reads them first, also where an agent of the account has judged.
    if (isNew) this.setMembers({ isGuided: guided == null ? !isBegun : guided === 'open' });
    if (isBegun || page.items.length === 0) void this.#countJudged(isNew && isBegun && guided == null);
    if (isNew) void this.#restore();
    else this.update(withRestored, this.#store.read());
    if (!isNew || isChat) return;
    document.title = `${plainText(name)} – heddle board`;
    // With the focus on a card, keys work at once. In a chat it is left alone: the person may be typing a message.
    this.#focusCurrent();
  }

  /** Counts who has judged how many items, and at the end what is missing; if asked, opens the guidelines for someone who has judged none. */
  async #countJudged(mayGuide = false): Promise<void> {
    const args = { ...this.#queue, by: ['annotator'], limit: maxShownAtOnce };
    const { current, page, lacking: before } = this.state;
    const isEnd = current === undefined || toDoOf(page!.queue) === 0 || before !== undefined;
    // The page can do without them.
    const [summary, lacking] = await Promise.all([
      this.call<{ tables: SummaryTable[] }>('summarize_queue', args).catch(() => undefined),
      isEnd ? this.#review({ filter: { lacks_value: true }, limit: 1 }).catch(() => undefined) : undefined,
    ]);
    if (isEnd) this.update(withLacking, lacking);
    if (!summary) return;
    const rows = summary.tables[0]?.rows ?? [];
    const judged = new Map(rows.map(([name, , items]) => [String(name), Number(items)]));
    this.update((state) => {
      const { account } = state.page!;
      const isNew = mayGuide && account !== undefined && !judged.has(account);
      return { ...state, judged, isGuided: state.isGuided || isNew };
    });
  }

  #focusAt(position: number): void {
    const id = [...this.state.cards.keys()][position];
    if (id === undefined) return;
    this.setCurrent(id);
    this.#showCurrent();
  }

  /** Gives the focus to the current card and shows it: in a list where it is, alone from its beginning; or to what Enter does at the end. */
  #showCurrent(): void {
    this.#loadCutValues();
    const card = cardElement(this.state) ?? document.querySelector<HTMLElement>('footer button');
    card?.focus({ preventScroll: true });
    card?.scrollIntoView({ block: this.state.isList || this.host.isChat ? 'nearest' : 'start' });
  }

  /** Gives the focus to the current card, unless something else on the page has it. */
  #focusCurrent(): void {
    const { activeElement, body } = document;
    if (activeElement === null || activeElement === body || activeElement.closest('footer'))
      cardElement(this.state)?.focus({ preventScroll: true });
  }

  #move(by: number): void {
    const { cards, current, page } = this.state;
    const position = current === undefined ? cards.size : [...cards.keys()].indexOf(current);
    const next = position + by;
    if (next < cards.size) this.#focusAt(next);
    else if (page?.next_offset !== undefined) void this.#moveToNextPage();
    else this.#moveToEnd();
  }

  /** Leaves the last card once there is something to write, so that a further key decides nothing. */
  #moveToEnd(): void {
    const count = stagedCards(this.state).length;
    if (count === 0) return;
    const message = `This was the last item. Press Enter to write ${countOf(count, 'item')}.`;
    this.setMembers({ current: undefined, message });
    document.querySelector<HTMLElement>('footer button')?.focus();
  }

  /** Leaves an item that is done for the next one to do or without a value, or for the end. */
  async #moveToUnfinished(): Promise<void> {
    const { cards, current, kind, message, page } = this.state;
    const isToDo = (card: Card): boolean => isLeft(this.state, card) && isEmpty(card.draft);
    const all = [...cards.values()];
    const position = all.findIndex(({ item }) => item.id === current);
    const shown = all[position];
    if (!/^(todo|lacking)$/.test(kind) || !shown || isLeft(this.state, shown) || !isUntouched(shown.draft)) return;
    const after = all.findIndex((card, at) => at > position && isToDo(card));
    const next = after === -1 ? all.findIndex(isToDo) : after;
    if (next !== -1) this.#focusAt(next);
    else if (page?.next_offset === undefined) this.setMembers({ current: undefined });
    else {
      await this.#moveToNextPage();
      this.announce(message);
    }
  }

  /** In a dispute, which waits for a reason too, goes to the next item; otherwise writes. */
  #enter(): void {
    const { cards, current = '' } = this.state;
    if (cards.get(current)?.item.disputes) this.#move(1);
    else this.writeOrAsk();
  }

  #moveActive(by: number): void {
    const { current = '', cards } = this.state;
    const card = cards.get(current);
    if (!card) return;
    const { active, item } = card;
    const fields = fieldsOf(this.state.fields, item);
    const next = Math.min(Math.max(active + by, 0), fields.length - 1);
    this.activate(current, next);
    this.announce(plainText(fields[next]?.name ?? ''));
  }

  #chooseByKey(key: string): void {
    const { current, page, cards } = this.state;
    if (current === undefined || !page?.can_write) return;
    const before = this.state;
    this.update(chooseActive, current, key);
    // A dispute may still get its reason.
    const mayGoOn = this.state !== before && !cards.get(current)?.item.disputes;
    if (mayGoOn && isSettled(this.state, current)) this.#move(1);
  }

  #act(key: string): void {
    if (key === 'l') this.toggleList();
    const { current: id, page, cards } = this.state;
    const element = cardElement(this.state);
    const card = cards.get(id ?? '');
    if (id === undefined || !card || !element) return;
    const focusOn = (selector: string): void => element.querySelector<HTMLElement>(selector)?.focus();
    if (key === 'o') element.querySelector('.others')?.toggleAttribute('open');
    if (!page?.can_write) return;
    // The selected item must be in view.
    if ((key === 'a' || key === 'x') && !this.state.isList) this.toggleList();
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
      if (!card.isSelected && hasChoiceOfState(card.item)) this.#move(1);
    }
    if (key === 'x') this.toggleSelection(id);
  }

  async #write(staged: readonly Card[]): Promise<void> {
    this.setMembers({ isAsking: false, isWriting: true });
    let written = 0;
    let failure = '';
    let hint = '';
    try {
      for (const cards of batchesOf(staged)) {
        const result = await this.#writeBatch(cards);
        written += cards.filter(({ item }) => !this.state.cards.get(item.id)?.problem).length;
        hint = result.hint === undefined ? '' : ` ${plainText(result.hint)}`;
      }
    } catch (error) {
      const { sentence, detail } = describeFailure(error);
      failure = ` ${sentence}${detail === undefined ? '' : ` ${detail}`}`;
    }
    const reckoned = toDoOf(this.state.page!.queue);
    if (failure === '') await this.#refresh();
    this.setMembers({ isWriting: false });
    const ids = [...this.state.cards.keys()];
    const refused = staged.filter(({ item }) => this.state.cards.get(item.id)?.problem);
    const numbersOf = (cards: readonly Card[]): string =>
      cards.map(({ item }) => placeOf(this.state, item.id)).join(', ');
    const reason = refused.length === 0 ? '' : ` Not written: item ${numbersOf(refused)}; the card says why.`;
    const lacking = [...this.state.cards.values()].filter(
      ({ item, draft }) => !isEmpty(draft) && !isWritable(item, draft),
    );
    const waiting = lacking.length === 0 ? '' : ` Choose a value for the reason of item ${numbersOf(lacking)}.`;
    this.announce(`${countOf(written, 'item')} written.${reason}${waiting}${failure}${hint}`);
    if (refused[0]) this.#focusAt(ids.indexOf(refused[0].item.id));
    else await this.#moveToUnfinished();
    // The button that was pressed is gone.
    if (stagedCards(this.state).length === 0) this.#focusCurrent();
    const { current, page, lacking: missing, judged } = this.state;
    const isOther = reckoned !== toDoOf(page!.queue) || agentsOf(this.state).length > 0;
    if (isOther || missing || current === undefined || !judged?.has(page!.account ?? '')) void this.#countJudged();
    if (written > 0) await this.host.tellModel(messageToModel(this.state, refused.length));
  }

  /** Writes cards together, or apart if one of them is not accepted: it must not hold back the others. */
  async #writeBatch(cards: readonly Card[]): Promise<Pick<UpdateResult, 'items' | 'hint'>> {
    try {
      return await this.#writeTogether(cards);
    } catch (error) {
      if (!(error instanceof ToolFailure) || error.code !== 'invalid_arguments') throw error;
      const { code, message } = error;
      const [card, ...others] = cards;
      if (others.length === 0) {
        this.update(withResult, card!, { error: { code, message } });
        return { items: [] };
      }
      const half = Math.ceil(cards.length / 2);
      await this.#writeBatch(cards.slice(0, half));
      return this.#writeBatch(cards.slice(half));
    }
  }

  async #writeTogether(cards: readonly Card[]): Promise<UpdateResult> {
    const { page, fields } = this.state;
    const [first] = cards;
    const result = await this.call<UpdateResult>('update_queue_items', {
      queue_id: page?.queue.id,
      project_id: page?.queue.project_id,
      items: cards.map(({ item, draft }) => draftedChange(item, draft, fields)),
      as_of: first?.asOf,
      by_user: true,
      // The person has pressed a button that names the number.
      ...(cards.length > maxUnasked && { confirm: true }),
    });
    const { items, refusals, annotation_state } = result;
    const resultOf = ({ item: { id } }: Card) => ({
      annotation_state,
      ...refusals?.find(({ item_ids }) => item_ids.includes(id)),
      ...items.find(({ item_id }) => item_id === id),
    });
    this.update((state) => cards.reduce((settled, card) => withResult(settled, card, resultOf(card)), state));
    return result;
  }
}

function notWritten(what: string, list: string): string {
  return `What you decided about ${what} is not written: choose ${list}.`;
}

/** Returns the element of a card, by default the current one. */
function cardElement({ cards, current = '' }: ReviewState, id = current): HTMLElement | null {
  const position = [...cards.keys()].indexOf(id) + 1;
  return document.getElementById(`card-${position}`);
}
