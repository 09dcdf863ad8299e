import type { ServiceClient } from '../../../../client/service-client.ts';
import { type ErrorCode, HeddleError } from '../../../../core/errors.ts';
import type { ContentKind, ProjectReader } from '../../../../service/start-service.ts';
import type { CopiedNames } from './copied-names.ts';

/** A copy of one project that is under way. */
export interface ProjectCopy {
  reader: ProjectReader;
  /** The target, with the account that copies. */
  target: ServiceClient;
  /** Clients of the accounts here that have an account of their own at the target, by their names here. */
  ownAccounts: ReadonlyMap<string, ServiceClient>;
  names: CopiedNames;
  tally: CopyTally;
  /** Looks up what the target has, and writes nothing. */
  isDryRun: boolean;
}

/** Numbers of the entries of one kind that were found and copied. */
export interface KindCounts {
  here: number;
  /** That the target had before. */
  there: number;
  copied: number;
}

/** Entries that the target has in another form than here, or not at all. */
export interface CopyNote {
  kind: ContentKind;
  note: string;
  count: number;
  /** Ids of the first of them. */
  first: string[];
}

const maxFirst = 3;

/** Counts what a copy finds, writes and cannot take along. */
export class CopyTally {
  readonly counts = new Map<ContentKind, KindCounts>();
  readonly #left = new Map<string, CopyNote>();
  readonly #changed = new Map<string, CopyNote>();
  readonly #leftIds = new Set<string>();
  readonly #onProgress: (kind: ContentKind, counts: KindCounts) => void;

  constructor(here: Record<ContentKind, number>, onProgress: (kind: ContentKind, counts: KindCounts) => void) {
    for (const [kind, count] of Object.entries(here)) {
      this.counts.set(kind as ContentKind, { here: count, there: 0, copied: 0 });
    }
    this.#onProgress = onProgress;
  }

  /** Counts entries that the target has, from an earlier copy or from this one. */
  count(kind: ContentKind, added: Partial<Pick<KindCounts, 'there' | 'copied'>>): void {
    const counts = this.counts.get(kind)!;
    counts.there += added.there ?? 0;
    counts.copied += added.copied ?? 0;
    this.#onProgress(kind, counts);
  }

  /** Notes an entry that the target does not get. */
  leave(kind: ContentKind, reason: string, id: string, count = 1): void {
    this.#leftIds.add(`${kind} ${id}`);
    addNote(this.#left, { kind, note: reason, count, first: [id] });
  }

  /** Notes an entry that is not the same at the target. */
  change(kind: ContentKind, change: string, id: string): void {
    addNote(this.#changed, { kind, note: change, count: 1, first: [id] });
  }

  isLeft(kind: ContentKind, id: string): boolean {
    return this.#leftIds.has(`${kind} ${id}`);
  }

  get left(): CopyNote[] {
    return [...this.#left.values()];
  }

  get changed(): CopyNote[] {
    return [...this.#changed.values()];
  }
}

function addNote(notes: Map<string, CopyNote>, note: CopyNote): void {
  const key = `${note.kind} ${note.note}`;
  const known = notes.get(key);
  if (!known) {
    notes.set(key, note);
    return;
  }
  known.count += note.count;
  if (known.first.length < maxFirst) known.first.push(...note.first);
}

/** Errors that concern what was sent rather than the service, so that the rest may be taken. */
const refusals = new Set<ErrorCode>(['invalid_request', 'validation_failed', 'too_large', 'conflict']);
/** Number of entries at which a service is considered broken, because it answers each of them with status 500. */
const maxCrashes = 10;

/**
 * Sends entries together. If the service refuses them, sends them in halves, until it has taken those that it takes.
 * @param onRefused receives each entry that it does not take, with the error.
 * @throws HeddleError for any other failure, after which the copy can be run again.
 */
export async function sendInHalves<Entry>(
  entries: readonly Entry[],
  send: (entries: readonly Entry[]) => Promise<unknown>,
  onRefused: (entry: Entry, error: HeddleError) => void,
): Promise<void> {
  let crashes = 0;
  const attempt = async (part: readonly Entry[]): Promise<void> => {
    if (part.length === 0) return;
    try {
      await send(part);
    } catch (error) {
      if (!(error instanceof HeddleError)) throw error;
      // The public service answers some values that it cannot store with 500.
      const isCrash = error.status === 500;
      if (!refusals.has(error.code) && !isCrash) throw error;
      if (part.length > 1) {
        const middle = Math.ceil(part.length / 2);
        await attempt(part.slice(0, middle));
        return attempt(part.slice(middle));
      }
      if (isCrash) crashes += 1;
      if (crashes === maxCrashes) throw error;
      onRefused(part[0]!, error);
    }
  };
  await attempt(entries);
}

/** Splits entries into lists that each have a key at most once, and those with the same key in their order. */
export function inRounds<Entry>(entries: readonly Entry[], keyOf: (entry: Entry) => string): Entry[][] {
  const rounds: Entry[][] = [];
  const seen = new Map<string, number>();
  for (const entry of entries) {
    const round = seen.get(keyOf(entry)) ?? 0;
    seen.set(keyOf(entry), round + 1);
    rounds[round] ??= [];
    rounds[round].push(entry);
  }
  return rounds;
}
