import { invalidArgument } from '../core/errors.ts';
import { nearestSentence, shortName } from '../text/names.ts';
import type { Judgement } from './judgements.ts';

/**
 * Returns the annotators with these names, whatever their case.
 * @param path the argument that has the names.
 * @throws HeddleError for a name by which nothing was judged; it names the nearest.
 */
export function requireAnnotators(
  names: readonly string[],
  judgements: readonly Pick<Judgement, 'annotator'>[],
  path: string | readonly string[],
): Set<string> {
  const known = new Map(judgements.map(({ annotator }) => [annotator.toLowerCase(), annotator]));
  return new Set(
    names.map((name) => {
      const annotator = known.get(name.toLowerCase());
      if (annotator !== undefined) return annotator;
      throw invalidArgument(path, {
        fault: `No judgement is by ${JSON.stringify(shortName(name))}`,
        hint: annotatorsHint(name, [...known.values()]),
      });
    }),
  );
}

/** Returns which annotators are nearest to a name, or that there are none. */
export function annotatorsHint(name: string, annotators: readonly string[]): string {
  return annotators.length === 0 ? 'Nobody has judged there.' : nearestSentence('annotators', name, annotators);
}
