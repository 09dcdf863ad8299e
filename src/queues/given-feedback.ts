import type { StoredFeedback } from '../contract/feedback.ts';
import { appendTo } from '../core/append-to.ts';
import { cell, memberPair } from '../text/compact-table.ts';
import { hasValue, type ItemsFilter, isByNamed } from './items-filter.ts';
import { byCall, goldOf, type Judgement, judgementsOf, latestJudgements, notesOf } from './judgements.ts';
import type { QueueAccess } from './queue-access.ts';

type Members = Record<string, unknown>;

/** What was given on an item, as a reader sees it. */
export interface GivenFeedback {
  /** Values by field, by annotator. */
  judgements: Record<string, Members>;
  /** The values that settle disputes, by field, and the reasons. */
  gold?: Members;
  gold_reasons?: Members;
  /** Who settled each field. */
  gold_by?: Members;
  /** Notes by annotator. */
  notes?: Record<string, string[]>;
  /** Times of the judgements by field, by annotator. */
  judged_at?: Record<string, Members>;
  /** Versions of the guidelines that the judgements followed, by field, by annotator. */
  guidelines?: Record<string, Members>;
}

/**
 * Returns what was given on items, by recorded call: gold, and of judgements and notes those that the filter selects. A judgement
 * that was replaced is left out.
 */
export function givenFeedback(
  feedback: readonly StoredFeedback[],
  filter: ItemsFilter,
  queue: QueueAccess,
): Map<string, GivenFeedback> {
  const isMeant = isByNamed(filter, queue);
  const selected = latestJudgements(judgementsOf(feedback)).filter(
    (judgement) =>
      isMeant(judgement) &&
      (filter.field === undefined || judgement.field === filter.field) &&
      hasValue(judgement, filter),
  );
  const judgements = byCall(selected);
  const notes = byCall(notesOf(feedback).filter(isMeant));
  const gold = byCall(goldOf(feedback));
  const calls = new Set([...judgements.keys(), ...notes.keys(), ...gold.keys()]);
  return new Map(
    [...calls].map((call) => {
      const [given = [], settled = []] = [judgements.get(call), gold.get(call)];
      const guided = given.filter(({ guidelines }) => guidelines !== undefined);
      const reasons = settled.filter(({ reason }) => reason !== undefined);
      return [
        call,
        {
          judgements: byAnnotator(given, valuesByField),
          ...(settled.length > 0 && {
            gold: valuesByField(settled),
            gold_by: byField(settled, ({ user }) => user),
          }),
          ...(reasons.length > 0 && { gold_reasons: byField(reasons, ({ reason }) => reason) }),
          notes: byAnnotator(notes.get(call) ?? [], (list) => list.map(({ note }) => note)),
          judged_at: byAnnotator(given, (list) => byField(list, ({ at }) => at)),
          ...(guided.length > 0 && {
            guidelines: byAnnotator(guided, (list) => byField(list, ({ guidelines }) => guidelines)),
          }),
        },
      ];
    }),
  );
}

/** Returns the values of judgements of one field by their annotators. */
export function valuesByAnnotator(judgements: readonly Judgement[]): Members {
  return byAnnotator(judgements, ([judgement]) => judgement!.value);
}

function valuesByField(judgements: readonly Judgement[]): Members {
  return byField(judgements, ({ value }) => value);
}

function byField(judgements: readonly Judgement[], read: (judgement: Judgement) => unknown): Members {
  return Object.fromEntries(judgements.map((judgement) => [judgement.field, read(judgement)]));
}

function byAnnotator<Entry extends { annotator: string }, Value>(
  list: readonly Entry[],
  read: (entries: Entry[]) => Value,
): Record<string, Value> {
  const groups = new Map<string, Entry[]>();
  for (const entry of list) appendTo(groups, entry.annotator, entry);
  const sorted = [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(sorted.map(([name, entries]) => [name, read(entries)]));
}

/** Characters that repeated names of annotators may take on a page before the long ones get letters, and those of a short name. */
const maxRepeatedChars = 1000;
const maxCharsOfShortName = 4;

/** Writes letters for the long names of annotators where these would take much of a page, and returns the names by the letters. */
export function withLettersForNames<Item extends Partial<GivenFeedback>>(
  items: readonly Item[],
): { items: readonly Item[]; annotators?: Members } {
  const used = items.flatMap(({ judgements = {} }) => Object.keys(judgements));
  const names = [...new Set(used)].sort();
  if (used.join('').length - names.join('').length <= maxRepeatedChars) return { items };
  const free = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ', ...names.map((_, index) => `A${index + 1}`)].filter(
    (letter) => !names.includes(letter),
  );
  const letters = new Map(
    names.filter((name) => name.length > maxCharsOfShortName).map((name, index) => [name, free[index]!]),
  );
  if (letters.size === 0) return { items };
  const withLetters = (byName: Members) =>
    Object.fromEntries(Object.entries(byName).map(([name, given]) => [letters.get(name) ?? name, given]));
  const byAnnotatorOf = ({ judgements, notes, judged_at, guidelines }: Item) =>
    Object.entries({ judgements, notes, judged_at, guidelines }).flatMap(([member, byName]) =>
      byName ? [[member, withLetters(byName)]] : [],
    );
  return {
    items: items.map((item) => ({ ...item, ...Object.fromEntries(byAnnotatorOf(item)) })),
    annotators: Object.fromEntries([...letters].map(([name, letter]) => [letter, name])),
  };
}

/** Renders judgements as one line, like `ana: severity=5 correct=true; ben: severity=4`. */
export function judgementLine(judgements: GivenFeedback['judgements']): string {
  const lines = Object.entries(judgements).map(([annotator, values]) => {
    const name = cell(annotator);
    const isClear = name.startsWith('"') || !/[:;]/.test(name);
    return `${isClear ? name : JSON.stringify(name)}: ${valueLine(values)}`;
  });
  return lines.join('; ') || 'none';
}

/** Renders values by field as one line, like `severity=5 correct=true`. */
export function valueLine(values: Members): string {
  return Object.entries(values)
    .map(([field, value]) => memberPair(field, value))
    .join(' ');
}
