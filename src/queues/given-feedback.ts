import type { StoredFeedback } from '../contract/feedback.ts';
import { groupBy } from '../core/append-to.ts';
import type { Members } from '../core/json/json-object.ts';
import { cell, memberPair } from '../text/compact-table.ts';
import { hasValue, type ItemsFilter, isByNamed } from './items-filter.ts';
import { byCall, goldOf, type Judgement, judgementsOf, latestJudgements, notesOf } from './judgements.ts';
import type { QueueAccess } from './queue-access.ts';

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
  const groups = groupBy(list, ({ annotator }) => annotator);
  const sorted = [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(sorted.map(([name, entries]) => [name, read(entries)]));
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
