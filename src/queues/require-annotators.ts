import { annotatorOf } from '../contract/judgement-test.ts';
import { invalidArgument } from '../core/errors.ts';
import { nearestSentence, shortName } from '../text/names.ts';
import { creatorOf, isOwn, meansCaller } from './authorship.ts';
import type { Judgement } from './judgements.ts';
import type { QueueAccess } from './queue-access.ts';

/** Annotators of one account that an error names. */
const maxNamed = 5;
/** Says why no name of an annotator or a field fits. */
export const nobodyJudged = 'Nobody has judged there.';

/**
 * Returns the annotator whom a name means: the one with this whole name, or else the only one of the account with this name, which is
 * noted for the result; undefined if there is none. Case counts only where somebody has exactly this name.
 * @param path the argument that has the name.
 * @param alternative what else the name can be replaced by, as the end of a sentence.
 * @throws HeddleError for a name that several annotators share; it lists their whole names.
 */
export function annotatorMeant(
  name: string,
  judgements: readonly Judgement[],
  path: string | readonly string[],
  queue: QueueAccess,
  alternative = '',
): string | undefined {
  const wanted = name.trim();
  const exact = judgements.filter(({ annotator, user }) => annotator === wanted || user === wanted);
  const isAlike = (each: string) => each.toLowerCase() === wanted.toLowerCase();
  const meant =
    exact.length > 0 ? exact : judgements.filter(({ annotator, user }) => isAlike(annotator) || isAlike(user));
  const named = new Set(meant.map(({ annotator }) => annotator));
  const whole = [...named].filter(isAlike);
  const [annotator, ...others] = whole.length > 0 ? whole : named;
  if (annotator !== undefined && others.length > 0) {
    const names = [annotator, ...others].slice(0, maxNamed).map(shortName);
    throw invalidArgument(path, {
      fault: `${JSON.stringify(shortName(name))} names ${others.length + 1} annotators of queue ${queue.id}: ${names.join(', ')}`,
      hint: `Pass one of these names${alternative}.`,
    });
  }
  if (annotator !== undefined && whole.length === 0) queue.noteMeant?.(name, annotator);
  return annotator;
}

/**
 * Returns the annotators whom names mean; `me` is the caller, whose account must be known.
 * @param path the argument that has the names.
 * @param unknown says what is wrong with a name that means nobody, and what holds if nobody has judged.
 * @throws HeddleError for a name by which nothing was judged, with the nearest, or for one that several annotators have.
 */
export function requireAnnotators(
  names: readonly string[],
  judgements: readonly Judgement[],
  path: string | readonly string[],
  queue: QueueAccess,
  unknown = { fault: 'No judgement is by', nobody: nobodyJudged },
): Set<string> {
  const known = [...new Set(judgements.map(({ annotator }) => annotator))];
  const own = judgements.find((judgement) => isOwn(judgement, queue));
  return new Set(
    names.map((name) => {
      const isCaller = meansCaller(name);
      const annotator = (isCaller ? own?.annotator : undefined) ?? annotatorMeant(name, judgements, path, queue);
      if (annotator !== undefined) return annotator;
      const account = queue.service.facts.userId;
      throw invalidArgument(path, {
        fault: isCaller
          ? `No judgement is yours${account === undefined ? '' : `, ${annotatorOf(account, creatorOf(queue)).annotator}`}`
          : `${unknown.fault} ${JSON.stringify(shortName(name))}`,
        hint: annotatorsHint((isCaller ? account : undefined) ?? name, known, unknown.nobody),
      });
    }),
  );
}

/** Returns which annotators are nearest to a name, or that there are none. */
export function annotatorsHint(name: string, annotators: readonly string[], nobody = nobodyJudged): string {
  return annotators.length === 0 ? nobody : nearestSentence('annotators', name, annotators);
}
