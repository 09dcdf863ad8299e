import { isNear, nearest, shortName } from '../../text/names.ts';

/** Returns ` (did you mean NAME?)` if a known name is spelled nearly like a text, else an empty text. */
export function didYouMean(text: string, known: readonly string[]): string {
  const [name] = nearest(text, known, (each) => [each]);
  return name !== undefined && isNear(shortName(text), name) ? ` (did you mean ${name}?)` : '';
}
