import type * as z from 'zod';
import { canonicalJson } from '../core/json/canonical-json.ts';
import type { judgementConditions } from './queue-items.ts';

/** The name of an annotator. */
export interface AnnotatorName {
  /** The account, and the author that it named, like the MCP client of an agent. */
  user: string;
  creator: string | undefined;
  /** The account and the author, for display: one annotator. */
  annotator: string;
}

/** A judgement as conditions see it: the latest of its annotator in its field of its call. */
export interface TestedJudgement extends AnnotatorName {
  call_id: string;
  field: string;
  value: unknown;
}

type JudgementConditions = z.output<typeof judgementConditions>;

/** Returns the name of an annotator in all its parts. */
export function annotatorOf(user: string, creator: string | undefined): AnnotatorName {
  const annotator = creator === undefined || creator === user ? user : `${user} (${creator})`;
  return { user, creator, annotator };
}

/** Returns whether a filter has conditions on judgements. */
export function hasJudgementConditions(conditions: JudgementConditions): boolean {
  const { judged_by, field, value, judged_at_least, disagreement, unjudged_by_me } = conditions;
  return [judged_by, field, value, judged_at_least, disagreement, unjudged_by_me].some((member) => member != null);
}

/**
 * Returns a function that tells whether a call fulfils the conditions on judgements: one by the named annotator, with the value in the
 * field; as many annotators, whoever they are, with that value; and a dispute in which the named one takes part.
 * @param judgements the latest of each annotator, field and call.
 * @param isOwn tells the judgements of the caller.
 */
export function judgementTest<Tested extends TestedJudgement>(
  conditions: JudgementConditions,
  judgements: readonly Tested[],
  isOwn: (judgement: Tested) => boolean,
): (callId: string) => boolean {
  const { judged_by, field, value, judged_at_least, disagreement, unjudged_by_me } = conditions;
  const isNamed = annotatorTest(judged_by, isOwn);
  const wanted = value == null ? undefined : canonicalJson(value);
  const annotators = new Map<string, Set<string>>();
  const places = new Map<string, Place>();
  const byNamed = new Set<string>();
  const own = new Set<string>();
  for (const judgement of judgements) {
    const { call_id } = judgement;
    if (unjudged_by_me != null && isOwn(judgement)) own.add(call_id);
    if (field != null && judgement.field !== field) continue;
    const given = wanted === undefined && disagreement == null ? undefined : canonicalJson(judgement.value);
    const isByNamed = isNamed(judgement);
    if (given !== undefined && disagreement != null) {
      const key = JSON.stringify([call_id, judgement.field]);
      const place = places.get(key) ?? { call_id, first: given, isDisputed: false, hasNamed: false };
      place.isDisputed ||= place.first !== given;
      place.hasNamed ||= isByNamed;
      places.set(key, place);
    }
    if (wanted !== undefined && given !== wanted) continue;
    if (isByNamed) byNamed.add(call_id);
    const ofCall = annotators.get(call_id) ?? new Set();
    annotators.set(call_id, ofCall.add(judgement.annotator));
  }
  const disputed = new Set<string>();
  for (const { call_id, isDisputed, hasNamed } of places.values()) if (isDisputed && hasNamed) disputed.add(call_id);
  const needsJudgement = [judged_by, field, value].some((member) => member != null);
  return (callId) =>
    (!needsJudgement || byNamed.has(callId)) &&
    (annotators.get(callId)?.size ?? 0) >= (judged_at_least ?? 0) &&
    (disagreement == null || disputed.has(callId) === disagreement) &&
    (unjudged_by_me == null || own.has(callId) !== unjudged_by_me);
}

/** A field of a call. */
interface Place {
  call_id: string;
  /** The first value, as text. */
  first: string;
  isDisputed: boolean;
  /** True once the named annotator has judged it. */
  hasNamed: boolean;
}

/**
 * Returns a function that tells whether an annotator has a name, whatever its case: the whole name, or one that begins with what is
 * before a final `*`. `me` is the caller, whom `isOwn` recognizes; without a name, everyone is meant.
 */
export function annotatorTest<Name extends AnnotatorName>(
  name: string | null | undefined,
  isOwn: (name: Name) => boolean,
): (name: Name) => boolean {
  if (name == null) return () => true;
  const wanted = name.toLowerCase();
  if (wanted === 'me') return isOwn;
  if (!wanted.endsWith('*')) return ({ annotator }) => annotator.toLowerCase() === wanted;
  const beginning = wanted.slice(0, -1);
  return ({ annotator }) => annotator.toLowerCase().startsWith(beginning);
}
