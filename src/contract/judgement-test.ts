import type * as z from 'zod';
import { canonicalJson } from '../core/json/canonical-json.ts';
import { judgementConditions } from './queue-items.ts';

export interface AnnotatorName {
  /** The account, and the author that it named, like the MCP client of an agent. */
  user: string;
  creator: string | undefined;
  /** The account and the author, for display: one annotator. */
  annotator: string;
}

/** A judgement as conditions see it: the latest of its annotator in its field of a call. */
export interface TestedJudgement extends AnnotatorName {
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
  const names = Object.keys(judgementConditions.shape) as (keyof JudgementConditions)[];
  return names.some((name) => conditions[name] != null);
}

/**
 * Returns a function that tells from the judgements of a call, the latest of each annotator and field, whether it fulfils the
 * conditions: one by the named annotator, with the value in the field; as many annotators, whoever they are, with that value; a
 * dispute in which the named one takes part; and a field that nobody has judged.
 * @param isOwn tells the judgements of the caller.
 */
export function judgementTest<Tested extends TestedJudgement>(
  conditions: JudgementConditions,
  isOwn: (judgement: Tested) => boolean,
): (judgements: readonly Tested[]) => boolean {
  const { judged_by, field, value, judged_at_least, disagreement, unjudged_by_me, lacks_value_of } = conditions;
  const isNamed = annotatorTest(judged_by, isOwn);
  const wanted = value == null ? undefined : canonicalJson(value);
  const needsJudgement = [judged_by, field, value].some((member) => member != null);
  return (judgements) => {
    if (unjudged_by_me != null && judgements.some(isOwn) === unjudged_by_me) return false;
    if (lacks_value_of?.every((name) => judgements.some((judgement) => judgement.field === name))) return false;
    const inField = field == null ? judgements : judgements.filter((judgement) => judgement.field === field);
    if (disagreement != null && isDisputed(inField, isNamed) !== disagreement) return false;
    const counted = wanted === undefined ? inField : inField.filter(({ value }) => canonicalJson(value) === wanted);
    if (needsJudgement && !counted.some(isNamed)) return false;
    return judged_at_least == null || new Set(counted.map(({ annotator }) => annotator)).size >= judged_at_least;
  };
}

/** Returns whether judgements of a call differ in a field that the named annotator has judged. */
function isDisputed<Tested extends TestedJudgement>(
  judgements: readonly Tested[],
  isNamed: (judgement: Tested) => boolean,
): boolean {
  const withValue = judgements.filter(({ value }) => value !== undefined);
  const values = new Map<string, string>();
  const disputed = new Set<string>();
  for (const { field, value } of withValue) {
    const given = canonicalJson(value);
    if ((values.get(field) ?? given) !== given) disputed.add(field);
    values.set(field, given);
  }
  return withValue.some((judgement) => disputed.has(judgement.field) && isNamed(judgement));
}

/**
 * Returns a function that tells whether an annotator has a name: this whole name, or, whatever its case, one that begins with what is
 * before a final `*`. Spaces around it do not count. `me` is the caller, whom `isOwn` recognizes; without a name, everyone is meant.
 */
export function annotatorTest<Name extends AnnotatorName>(
  name: string | null | undefined,
  isOwn: (name: Name) => boolean,
): (name: Name) => boolean {
  if (name == null) return () => true;
  const wanted = name.trim();
  if (wanted.toLowerCase() === 'me') return isOwn;
  if (!wanted.endsWith('*')) return ({ annotator }) => annotator === wanted;
  const beginning = wanted.slice(0, -1).toLowerCase();
  return ({ annotator }) => annotator.toLowerCase().startsWith(beginning);
}
