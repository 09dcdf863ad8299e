import { annotatorOf } from '../contract/judgement-test.ts';
import { invalidArgument } from '../core/errors.ts';
import { nearestSentence, shortName } from '../text/names.ts';
import { creatorOf, isOwn, meansCaller } from './authorship.ts';
import type { Judgement } from './judgements.ts';
import type { QueueAccess } from './queue-access.ts';

/**
 * Returns the annotators with these names, whatever their case; `me` is the caller, whose account must be known.
 * @param path the argument that has the names.
 * @param queue the queue and the caller; without them, `me` is a name like any other.
 * @throws HeddleError for a name by which nothing was judged; it names the nearest.
 */
export function requireAnnotators(
  names: readonly string[],
  judgements: readonly Judgement[],
  path: string | readonly string[],
  queue?: QueueAccess,
): Set<string> {
  const known = new Map(judgements.map(({ annotator }) => [annotator.toLowerCase(), annotator]));
  const own = queue && judgements.find((judgement) => isOwn(judgement, queue));
  return new Set(
    names.map((name) => {
      const annotator = meansCaller(name) && own ? own.annotator : known.get(name.trim().toLowerCase());
      if (annotator !== undefined) return annotator;
      const isCaller = queue !== undefined && meansCaller(name);
      const account = queue?.service.facts.userId;
      throw invalidArgument(path, {
        fault: isCaller
          ? `No judgement is yours${account === undefined ? '' : `, ${annotatorOf(account, creatorOf(queue)).annotator}`}`
          : `No judgement is by ${JSON.stringify(shortName(name))}`,
        hint: annotatorsHint((isCaller ? account : undefined) ?? name, [...known.values()]),
      });
    }),
  );
}

/** Returns which annotators are nearest to a name, or that there are none. */
export function annotatorsHint(name: string, annotators: readonly string[]): string {
  return annotators.length === 0 ? 'Nobody has judged there.' : nearestSentence('annotators', name, annotators);
}
