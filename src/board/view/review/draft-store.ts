import type { Review } from '../../../tools/review-queue.ts';
import { keepValue, lastingStorage } from '../shared/host.ts';
import { type Draft, draftText, emptyDraft, isUntouched, parseDraft } from './draft.ts';

const prefix = 'heddle-draft ';
const accountPrefix = 'heddle-account ';

/**
 * Keeps what is decided and not written in the browser, by queue and account, so that it survives a reload, a closed tab and
 * the end of the command. Each item has an entry of its own, so that two tabs never overwrite each other's items.
 */
export class DraftStore {
  /** False where the browser keeps nothing, as in the frames of some chats, or no longer has room. */
  isKeeping: boolean;
  readonly #storage: Storage | undefined;
  #scope = '';
  /** Scope of what is decided about disputes. */
  #goldScope = '';
  /** Drafts as they were last read or written, by item. */
  readonly #known = new Map<string, Draft>();

  constructor() {
    this.#storage = lastingStorage();
    this.isKeeping = this.#storage !== undefined;
  }

  /** Chooses the queue and the account whose drafts are kept. A service may tell the account only later. */
  open({ queue: { id, project_id }, account, filter }: Pick<Review, 'queue' | 'account' | 'filter'>): void {
    const queue = JSON.stringify([project_id, id]);
    const name = account ?? this.#storage?.getItem(accountPrefix + queue) ?? '';
    // What settles a dispute is no judgement of the same item.
    const kind = filter.disagreement ? ['gold'] : [];
    const scopeOf = (...of: string[]): string => `${prefix}${JSON.stringify([project_id, id, ...of])} `;
    const scope = scopeOf(name, ...kind);
    this.#goldScope = scopeOf(name, 'gold');
    if (account !== undefined) this.#set(accountPrefix + queue, account);
    if (scope === this.#scope) return;
    const unnamed = scopeOf('', ...kind);
    this.#scope = scope;
    this.#known.clear();
    // Decisions made before the account was known are this account's.
    if (name !== '') for (const key of this.#keys(unnamed)) this.#rename(key, scope + key.slice(unnamed.length));
  }

  /** Returns the drafts of the queue by item, in the order in which they were made. */
  read(): Map<string, Draft> {
    const drafts = this.#keys(this.#scope).flatMap((key) => {
      const entry = parseEntry(this.#storage?.getItem(key));
      return entry ? [{ id: key.slice(this.#scope.length), ...entry }] : [];
    });
    drafts.sort((a, b) => a.atMs - b.atMs);
    const read = new Map(drafts.map(({ id, draft }) => [id, draft]));
    for (const [id, draft] of read) this.#known.set(id, draft);
    return read;
  }

  /** Returns the number of the kept drafts about disputes. */
  countGold(): number {
    return this.#keys(this.#goldScope).length;
  }

  /** Keeps the draft of an item, or drops it if nothing is decided. */
  write(id: string, draft: Draft): void {
    if (this.#known.get(id) === draft) return;
    this.#known.set(id, draft);
    const key = this.#scope + id;
    if (isUntouched(draft)) this.#storage?.removeItem(key);
    // The time of the last change, then the text.
    else this.#set(key, `${Date.now()} ${draftText(draft)}`);
  }

  /** Calls back with the draft of an item that another tab has changed. */
  onChange(changed: (id: string, draft: Draft) => void): void {
    window.addEventListener('storage', ({ key, newValue, storageArea }) => {
      if (this.#scope === '' || storageArea !== this.#storage || !key?.startsWith(this.#scope)) return;
      const id = key.slice(this.#scope.length);
      const draft = parseEntry(newValue)?.draft ?? emptyDraft;
      this.#known.set(id, draft);
      changed(id, draft);
    });
  }

  #keys(start: string): string[] {
    return Object.keys(this.#storage ?? {}).filter((key) => key.startsWith(start));
  }

  #rename(from: string, to: string): void {
    const value = this.#storage?.getItem(from);
    if (value == null || this.#storage?.getItem(to) != null || !this.#set(to, value)) return;
    this.#storage?.removeItem(from);
  }

  #set(key: string, value: string): boolean {
    this.isKeeping = keepValue(key, value);
    return this.isKeeping;
  }
}

/** Reads an entry of a draft; undefined for anything else that stands there. */
function parseEntry(text: string | null | undefined): { atMs: number; draft: Draft } | undefined {
  const [time = '', ...rest] = text?.split(' ') ?? [];
  try {
    return { atMs: Number(time), draft: parseDraft(rest.join(' ')) };
  } catch {
    return undefined;
  }
}
