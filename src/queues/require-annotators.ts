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
        hint: nearestSentence('annotators', name, [...known.values()]),
      });
    }),
  );
}
