import { pageSize, queuePageSize } from '../../page-sizes.ts';
import { button, element, setAttribute, setText } from '../shared/element.ts';
import { type Arguments, dataOf, type ToolResult } from '../shared/host.ts';
import { countOf, labelOf } from '../shared/labels.ts';
import { problemOf, problemOfFailure } from '../shared/problem.ts';
import { ViewShell } from '../shared/view-shell.ts';
import { plainText, visibleText } from '../shared/visible-text.ts';
import { Card, type CardOwner } from './card.ts';
import { draftedChange, isSameValue } from './draft.ts';
import { type FilterKind, filterOf, kindOf } from './filters.ts';
import { listenToKeys, shortcuts } from './keyboard.ts';
import { type QueuePage, queueList } from './queue-list.ts';
import type { Field, Filter, GivenJudgement, ReviewPage, WrittenItems } from './review-data.ts';
import { itemSentences } from './words.ts';

/** Items that one call writes at most. */
const maxWritten = 100;
/** With more cards than this, those that are out of sight are not laid out. */
const manyCards = 100;
/** More items than this are written only when the person asks twice. */
const maxUnasked = 20;
/** Time after a refusal during which a new `as_of` may still be too early, in milliseconds. */
const clockDoubtMs = 3000;
/** Items that the message to the model lists. */
const maxTold = 50;

/** The review board: a page of a queue as cards, and what the person decided about them. */
export class Board {
  readonly #shell: ViewShell;
  #page: ReviewPage | undefined;
  #fields: readonly Field[] = [];
  #freeField: Field = { name: '', type: 'boolean' };
  readonly #cards = new Map<string, Card>();
  #current: Card | undefined;
  #isWriting = false;
  #awaitsSecondPress = false;
  /** Changes written since the page was opened, for the model. */
  readonly #told = new Map<string, string>();
  readonly #toolbar = element('div', { class: 'toolbar' });
  readonly #head = element('header', { class: 'head' });
  readonly #progress = element('progress', { 'aria-label': 'Finished items' });
  readonly #counts = element('span');
  readonly #feed = element('div', { class: 'feed', role: 'feed', 'aria-label': 'Items', 'aria-busy': 'true' });
  readonly #more = button('Show more items', () => this.#loadMore(), { class: 'wide', hidden: true });
  readonly #write = button('', () => this.#writeOrAsk(), { class: 'primary' });
  readonly #footer = element('footer', { hidden: true }, this.#write);
  readonly #singleKeys = element('input', { type: 'checkbox', checked: true });
  readonly #filter = element('select', { 'aria-label': 'Items to show', onchange: () => this.#changeFilter() });
  readonly #owner: CardOwner;

  constructor(root: HTMLElement) {
    this.#toolbar.hidden = true;
    this.#owner = {
      fields: () => this.#fields,
      canWrite: () => this.#page?.can_write === true,
      formats: () => this.#shell.formats,
      give: (card, field, value) => this.#give(card, field, value),
      setState: (card, state) =>
        this.#forAll(
          card,
          (each) => {
            each.draft.state = state;
          },
          state ?? 'not decided',
        ),
      changed: () => this.#draftsChanged(),
      loadValue: (card, path) => this.#loadValue(card, path),
      loadJudgements: (card) => this.#loadJudgements(card),
      reload: (card) => this.#reread(card),
      account: () => this.#page?.account,
    };
    listenToKeys(this.#feed, () => this.#singleKeys.checked, {
      move: (by) => this.#move(by),
      moveActive: (by) => this.#announce(plainText(this.#current?.moveActive(by) ?? '')),
      choose: (index) => this.#chooseByKey(index),
      write: () => this.#writeOrAsk(),
      act: (key) => this.#act(key),
    });
    this.#feed.addEventListener('focusin', ({ target }) => {
      const card = [...this.#cards.values()].find(({ node }) => node.contains(target as Node));
      if (card) this.#setCurrent(card);
    });
    this.#shell = new ViewShell({
      command: 'heddle board',
      list: this.#feed,
      open: (args) => this.#open(args),
      receive: (result) => this.#receive(result),
      retry: () => this.#open(this.#shell.arguments!),
    });
    this.#shell.status.append(this.#footer);
    root.append(this.#head, this.#toolbar, this.#feed, this.#more, this.#shell.status);
  }

  #open(args: Arguments): void {
    this.#shell.arguments = args;
    if (args.queue_id === undefined) void this.#chooseQueue();
    else void this.#reload();
  }

  #receive(result: ToolResult): void {
    if (!this.#page) this.#show(dataOf<ReviewPage>(result));
  }

  #announce(text: string): void {
    this.#shell.announce(text);
  }

  async #chooseQueue(): Promise<void> {
    await this.#shell.load(async () => {
      const page = await this.#shell.call<QueuePage>('list_queues', { limit: queuePageSize });
      const [only, second] = page.queues;
      if (only && !second) return this.#open({ queue_id: only.id });
      this.#announce(page.queues.length === 0 ? 'There are no queues.' : 'Choose a queue.');
      this.#feed.hidden = true;
      this.#head.replaceChildren(
        element('h1', {}, 'Queues'),
        queueList(page.queues, (queue_id) => this.#open({ queue_id })),
      );
    });
  }

  #request(more: Arguments): Arguments {
    const { queue_id, project_id, filter } = this.#shell.arguments ?? {};
    const given = this.#page?.filter ?? filter;
    const project = this.#page?.queue.project_id ?? project_id;
    return {
      queue_id,
      ...(project !== undefined && { project_id: project }),
      ...(given !== undefined && { filter: given }),
      limit: pageSize,
      ...more,
    };
  }

  async #reload(filter?: Filter): Promise<void> {
    await this.#shell.load(async () =>
      this.#show(await this.#shell.call<ReviewPage>('review_queue', this.#request(filter ? { filter } : {}))),
    );
  }

  /** Shows the first page. Cards with decisions stay; others that are not on the page go. */
  #show(page: ReviewPage): void {
    const isNew = this.#page === undefined;
    this.#page = page;
    this.#shell.arguments ??= { queue_id: page.queue.id, project_id: page.queue.project_id };
    if (isNew) this.#createHead(page);
    const ids = new Set(page.items.map(({ id }) => id));
    for (const [id, card] of this.#cards) {
      if (ids.has(id) || !card.draft.isEmpty) continue;
      card.node.remove();
      this.#cards.delete(id);
    }
    this.#add(page);
    // The person may have begun before this page arrived.
    const cards = [...this.#cards.values()];
    const current = cards.find((card) => card === this.#current) ?? cards[0];
    this.#current = undefined;
    if (current) this.#setCurrent(current);
    // With the focus on a card, keys work at once. In a chat it is left alone: the person may be typing a message.
    if (isNew && !this.#shell.host.isChat) this.#focusCurrent();
    this.#announce(page.items.length === 0 ? 'There is nothing to judge here.' : this.#loadedText());
    this.#draftsChanged();
  }

  #loadedText(): string {
    const more = this.#page?.next_offset === undefined ? '' : '; more follow';
    const readOnly = this.#page?.can_write ? '' : ' This board is read-only.';
    return `${countOf(this.#cards.size, 'item')} shown${more}.${readOnly}`;
  }

  #add(page: ReviewPage): void {
    for (const item of page.items) {
      const known = this.#cards.get(item.id);
      if (known) known.receive(item, page.as_of);
      else {
        const card = new Card(item, page.as_of, this.#owner);
        this.#cards.set(item.id, card);
        this.#feed.append(card.node);
      }
    }
    const size = page.next_offset === undefined ? this.#cards.size : -1;
    for (const [index, { node }] of [...this.#cards.values()].entries()) {
      setAttribute(node, 'aria-posinset', index + 1);
      setAttribute(node, 'aria-setsize', size);
    }
    this.#feed.classList.toggle('long', this.#cards.size > manyCards);
    this.#more.hidden = page.next_offset === undefined;
    this.#feed.hidden = this.#cards.size === 0;
    this.#updateCounts();
  }

  async #loadMore(): Promise<void> {
    const page = this.#page;
    if (!page || page.next_offset === undefined || this.#more.disabled) return;
    this.#more.disabled = true;
    // Items that were finished here no longer match the filter, so those after them have moved up.
    const gone =
      kindOf(page.filter) === 'all' ? 0 : [...this.#cards.values()].filter(({ isWritten }) => isWritten).length;
    const offset = Math.max(this.#cards.size - gone, 0);
    try {
      const next = await this.#shell.call<ReviewPage>('review_queue', this.#request({ offset }));
      const before = this.#cards.size;
      this.#page = { ...next, filter: page.filter };
      this.#add(next);
      this.#announce(this.#loadedText());
      const first = [...this.#cards.values()][before];
      if (first) this.#focusCard(first);
    } catch (error) {
      this.#announce(problemOfFailure(error).sentence);
    } finally {
      this.#more.disabled = false;
    }
  }

  #createHead({ queue, fields, can_write, filter }: ReviewPage): void {
    this.#fields = fields ?? [];
    if (!this.#shell.host.isChat) document.title = `${plainText(queue.name)} – heddle board`;
    const guidelines = queue.guidelines;
    this.#head.replaceChildren(
      element('h1', {}, visibleText(queue.name)),
      element('p', { class: 'progress' }, this.#progress, this.#counts),
      ...(guidelines ? [element('div', { class: 'guidelines' }, visibleText(guidelines))] : []),
    );
    const kinds: [FilterKind, string][] = [
      ['open', 'To do'],
      ['unjudged', 'Not judged by me'],
      ['all', 'All items'],
    ];
    const kind = kindOf(filter);
    const options = kind === 'given' ? [...kinds, ['given', 'As asked'] as [FilterKind, string]] : kinds;
    this.#filter.replaceChildren(...options.map(([value, label]) => element('option', { value }, label)));
    this.#filter.value = kind;
    const keys = element(
      'details',
      { class: 'keys' },
      element('summary', {}, 'Keyboard'),
      element('label', {}, this.#singleKeys, ' Single keys'),
      element(
        'dl',
        {},
        ...shortcuts.flatMap(([key, what]) => [element('dt', {}, element('kbd', {}, key)), element('dd', {}, what)]),
      ),
    );
    this.#toolbar.hidden = false;
    this.#toolbar.replaceChildren(
      this.#filter,
      button('Refresh', () => this.#reload()),
      ...(can_write ? [button('Select all', () => this.#selectAll(), { 'aria-keyshortcuts': 'a' })] : []),
      ...(can_write && this.#fields.length === 0 ? [this.#createFreeField()] : []),
      ...(can_write ? [keys] : []),
    );
  }

  /** Lets the person name a field, for a queue whose judgements may have any name. */
  #createFreeField(): HTMLElement {
    const name = element('input', {
      'aria-label': 'Name of your judgement',
      placeholder: 'name',
      maxlength: 128,
      pattern: '[\\p{L}\\p{N}_.\\-]+',
    });
    const type = element(
      'select',
      { 'aria-label': 'Kind of your judgement' },
      ...[
        ['boolean', 'Yes or no'],
        ['integer', '1 to 5'],
        ['string', 'Text'],
      ].map(([value, label]) => element('option', { value: value! }, label)),
    );
    const use = button('Judge by this', () => {
      if (name.value === '' || !name.checkValidity())
        return this.#announce('A name has letters, digits, dots, dashes or underscores.');
      this.#freeField = { name: name.value, type: type.value, ...(type.value === 'integer' && { min: 1, max: 5 }) };
      this.#fields = [this.#freeField];
      this.#rebuildCards();
    });
    return element('div', { class: 'free' }, name, type, use);
  }

  #rebuildCards(): void {
    for (const [id, old] of this.#cards) {
      const card = new Card(old.item, old.asOf, this.#owner);
      old.node.replaceWith(card.node);
      this.#cards.set(id, card);
    }
    this.#current = undefined;
    const [first] = this.#cards.values();
    if (first) this.#focusCard(first);
    this.#draftsChanged();
  }

  #changeFilter(): void {
    const filter = filterOf(
      this.#filter.value as FilterKind,
      this.#page?.filter ?? {},
      this.#shell.arguments?.filter as Filter,
    );
    void this.#reload(filter);
  }

  #updateCounts(): void {
    const { remaining, total } = this.#page?.queue ?? {};
    this.#progress.hidden = total === undefined;
    if (total === undefined || remaining === undefined) return;
    this.#progress.max = Math.max(total, 1);
    this.#progress.value = total - remaining;
    setText(
      this.#counts,
      `${this.#shell.formats.number(total - remaining)} of ${countOf(total, 'item', this.#shell.formats)} finished`,
    );
  }

  #setCurrent(card: Card): void {
    if (card === this.#current) return;
    if (this.#current) setAttribute(this.#current.node, 'tabindex', -1);
    setAttribute(card.node, 'tabindex', 0);
    this.#current = card;
  }

  #focusCard(card: Card): void {
    this.#setCurrent(card);
    card.focus();
  }

  /** Gives the focus to the current card, unless something else on the page has it. */
  #focusCurrent(): void {
    const { activeElement, body } = document;
    if (activeElement === null || activeElement === body || this.#footer.contains(activeElement))
      this.#current?.focus();
  }

  #move(by: number): void {
    const cards = [...this.#cards.values()];
    const at = this.#current ? cards.indexOf(this.#current) : -1;
    const next = cards[at + by];
    if (next) this.#focusCard(next);
    else if (by > 0) void this.#loadMore();
  }

  #chooseByKey(index: number): void {
    const card = this.#current;
    if (!card || !this.#owner.canWrite()) return;
    if (card.choose(index) && !card.selected) this.#move(1);
  }

  #act(key: string): void {
    const card = this.#current;
    if (!card) return;
    const actions: Record<string, () => void> = {
      o: () => card.toggleOthers(),
      x: () => {
        card.selected = !card.selected;
        card.update();
        this.#draftsChanged();
      },
      a: () => this.#selectAll(),
      s: () => {
        this.#owner.setState(card, card.draft.state === 'skipped' ? undefined : 'skipped');
        if (!card.selected) this.#move(1);
      },
      f: () => this.#owner.setState(card, card.draft.state === 'completed' ? undefined : 'completed'),
      u: () => card.clear(),
      n: () => card.openNote(),
      e: () => card.editField(),
      c: () => card.acceptSuggestions(),
    };
    if (key === 'o' || this.#owner.canWrite()) actions[key]?.();
  }

  #selectAll(): void {
    const cards = [...this.#cards.values()];
    const selects = cards.some(({ selected }) => !selected);
    for (const card of cards) {
      card.selected = selects;
      card.update();
    }
    this.#announce(
      selects
        ? `${countOf(cards.length, 'item')} selected. What you judge now counts for all of them.`
        : 'Nothing is selected.',
    );
    this.#draftsChanged();
  }

  #give(card: Card, field: string, value: unknown): void {
    this.#forAll(
      card,
      ({ item, draft }) => {
        draft.retracted.delete(field);
        if (value === undefined || isSameValue(item.judgements?.[field], value)) draft.judgements.delete(field);
        else draft.judgements.set(field, value);
      },
      `${plainText(field)} ${value === undefined ? 'removed' : labelOf(value)}`,
    );
  }

  /** Does the same with a card, and with all selected ones if it is one of them. */
  #forAll(card: Card, change: (card: Card) => void, what: string): void {
    const cards = card.selected ? [...this.#cards.values()].filter(({ selected }) => selected) : [card];
    for (const each of cards) {
      change(each);
      each.problem = undefined;
      each.update();
    }
    this.#announce(cards.length === 1 ? what : `${what}, for ${countOf(cards.length, 'item')}`);
    this.#draftsChanged();
  }

  #staged(): Card[] {
    return [...this.#cards.values()].filter(({ draft }) => !draft.isEmpty);
  }

  #draftsChanged(): void {
    this.#awaitsSecondPress = false;
    this.#updateWrite();
  }

  #updateWrite(): void {
    const count = this.#staged().length;
    this.#footer.hidden = count === 0;
    const items = countOf(count, 'item');
    const label = this.#awaitsSecondPress ? `Really write ${items}` : `Write ${items}`;
    setText(this.#write, this.#isWriting ? `Writing ${items} …` : label);
    setAttribute(this.#write, 'aria-disabled', this.#isWriting ? 'true' : undefined);
  }

  #writeOrAsk(): void {
    const staged = this.#staged();
    if (this.#isWriting) return;
    if (staged.length === 0) {
      this.#announce('There is nothing to write yet.');
      return;
    }
    if (staged.length > maxUnasked && !this.#awaitsSecondPress) {
      this.#awaitsSecondPress = true;
      this.#updateWrite();
      this.#announce(
        `This writes ${countOf(staged.length, 'item')}, and finished states are final. Press Enter or the button again to write.`,
      );
      return;
    }
    void this.#writeStaged(staged);
  }

  async #writeStaged(staged: Card[]): Promise<void> {
    this.#awaitsSecondPress = false;
    this.#isWriting = true;
    this.#updateWrite();
    let written = 0;
    let failure = '';
    let hint = '';
    for (const cards of batchesOf(staged)) {
      try {
        const result = await this.#writeBatch(cards);
        written += result.written;
        hint = result.hint;
      } catch (error) {
        const { sentence, detail } = problemOfFailure(error);
        failure = ` ${sentence}${detail === undefined ? '' : ` ${detail}`}`;
        break;
      }
    }
    this.#isWriting = false;
    this.#updateCounts();
    this.#updateWrite();
    const refused = staged.filter(({ problem }) => problem !== undefined).length;
    const rest = refused === 0 ? '' : ` ${countOf(refused, 'item')} refused; the reason is on the card.`;
    this.#announce(`${countOf(written, 'item')} written.${rest}${failure}${hint}`);
    const firstRefused = staged.find(({ problem }) => problem !== undefined);
    if (firstRefused) this.#focusCard(firstRefused);
    // The button that was pressed is gone.
    else if (this.#footer.hidden) this.#focusCurrent();
    if (written > 0) await this.#tellModel(refused);
  }

  async #writeBatch(cards: readonly Card[]): Promise<{ written: number; hint: string }> {
    const { queue } = this.#page!;
    const [first] = cards;
    const changes = cards.map(({ item, draft }) => draftedChange(item, draft, this.#fields));
    const result = await this.#shell.call<WrittenItems>('update_queue_items', {
      queue_id: queue.id,
      project_id: queue.project_id,
      items: changes,
      as_of: first!.asOf,
      ...(first!.isReread && { expected_state: first!.item.annotation_state }),
      by_user: true,
      // The person has pressed a button that names the number.
      ...(cards.length > maxUnasked && { confirm: true }),
    });
    const results = new Map(result.items.map((each) => [each.item_id, each]));
    let written = 0;
    for (const [index, card] of cards.entries()) {
      const own = results.get(card.item.id);
      if (own?.error) {
        card.problem = problemOf(own.error.code, own.error.message, itemSentences);
        card.refusedAtMs = performance.now();
        card.update();
        continue;
      }
      written += 1;
      this.#told.set(card.item.id, JSON.stringify(changes[index]));
      this.#settle(card, own?.annotation_state ?? result.annotation_state);
    }
    return { written, hint: result.hint ? ` ${plainText(result.hint)}` : '' };
  }

  /** Makes what was decided on a card its stored state. */
  #settle(card: Card, state = card.item.annotation_state): void {
    const { item, draft } = card;
    const isFinal = (each: string): boolean => each === 'completed' || each === 'skipped';
    const { queue } = this.#page!;
    if (isFinal(state) && !isFinal(item.annotation_state) && queue.remaining) queue.remaining -= 1;
    const judgements = Object.entries({ ...item.judgements, ...Object.fromEntries(draft.judgements) });
    const kept = judgements.filter(([field]) => !draft.retracted.has(field));
    card.item = {
      ...item,
      annotation_state: state,
      judgements: Object.fromEntries(kept),
      ...(draft.note?.trim() && { note: draft.note.trim() }),
    };
    draft.clear();
    card.problem = undefined;
    card.isWritten = true;
    card.selected = false;
    card.update();
  }

  async #tellModel(refused: number): Promise<void> {
    const { id } = this.#page!.queue;
    const lines = [...this.#told.values()];
    const rest = lines.length - maxTold;
    await this.#shell.host.tellModel(
      [
        `The user judged ${countOf(lines.length, 'item')} of queue ${id} on the review board. All of this is stored already: do not write it again.`,
        ...(refused > 0 ? [`${countOf(refused, 'item')} refused by the service; the user sees why.`] : []),
        ...lines.slice(-maxTold),
        ...(rest > 0 ? [`and ${rest} more`] : []),
      ].join('\n'),
    );
  }

  async #loadValue({ item }: Card, path: string): Promise<unknown> {
    const { project_id } = this.#page!.queue;
    const { values } = await this.#shell.call<{ values?: Record<string, unknown> }>('read_call', {
      call_id: item.call_id,
      project_id,
      paths: [path],
      max_value_chars: 30_000,
    });
    return values?.[path];
  }

  async #loadJudgements({ item }: Card): Promise<GivenJudgement[]> {
    const { id, project_id } = this.#page!.queue;
    const { items } = await this.#shell.call<{ items: { judgements?: GivenJudgement[] }[] }>('query_queue_items', {
      queue_id: id,
      project_id,
      filter: { id: item.id },
      include_judgements: true,
      fields: ['id'],
      limit: 1,
    });
    return items[0]?.judgements ?? [];
  }

  /** Reads an item again that was refused; what the person decided stays on its card. */
  async #reread(card: Card): Promise<void> {
    const waitMs = card.refusedAtMs + clockDoubtMs - performance.now();
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    try {
      const page = await this.#shell.call<ReviewPage>(
        'review_queue',
        this.#request({ filter: { id: card.item.id }, limit: 1 }),
      );
      const [item] = page.items;
      if (!item) return this.#announce('The item is no longer in the queue.');
      card.problem = undefined;
      card.isReread = true;
      card.receive(item, page.as_of);
      card.focus();
      this.#announce('This is the item as it is now. Write it again if your judgement stands.');
    } catch (error) {
      card.update();
      this.#announce(problemOfFailure(error).sentence);
    }
  }
}

/**
 * Returns the cards to write together: those with the same `as_of`, since one tool call takes one, and of those that were
 * reread after a refusal, those with the same state, for `expected_state`.
 */
function batchesOf(cards: readonly Card[]): Card[][] {
  const groups = new Map<string, Card[]>();
  for (const card of cards) {
    const key = `${card.asOf} ${card.isReread ? card.item.annotation_state : ''}`;
    const group = groups.get(key);
    if (group) group.push(card);
    else groups.set(key, [card]);
  }
  return [...groups.values()].flatMap((group) =>
    Array.from({ length: Math.ceil(group.length / maxWritten) }, (_, index) =>
      group.slice(index * maxWritten, (index + 1) * maxWritten),
    ),
  );
}
