import { distance } from 'fastest-levenshtein';
import { cutValue } from './call-values.ts';

/** Characters of a name that count; a comparison takes as long as the product of two lengths. */
const maxNameChars = 100;
const maxNearest = 3;

/**
 * Returns the entries of which a name is most like a text, whatever their case: first those that begin with it, then those that
 * contain it or are its last word, then those that are spelled most like it.
 */
export function nearest<Entry>(text: string, entries: readonly Entry[], namesOf: (entry: Entry) => string[]): Entry[] {
  return entries
    .map((entry) => ({ entry, far: Math.min(...namesOf(entry).map((name) => farness(name, text))) }))
    .sort((a, b) => a.far - b.far)
    .slice(0, maxNearest)
    .map(({ entry }) => entry);
}

/** Returns a sentence with the known names of a kind that are spelled most like a text; empty if none is known. */
export function nearestSentence(kind: string, text: string, known: readonly string[]): string {
  const names = nearest(text, known, (name) => [name]).map(shortName);
  return names.length === 0 ? '' : `The nearest ${kind} are ${names.join(', ')}.`;
}

/** Returns the known name that a mistyped one is likely to mean, if there is one. */
export function meantName(text: string, known: readonly string[]): string | undefined {
  const near = known.filter((name) => isNear(text, name));
  return nearest(text, near, (name) => [name])[0];
}

/**
 * Returns whether a name is so near to a text that it may be meant: at most a third of the shorter one differs, since `filter` is
 * not meant by `file`, and of as many words no two but by a letter or a third, since `remove_items` is not meant by
 * `remove_fields`.
 */
export function isNear(text: string, name: string): boolean {
  const [words, others] = [text.split('_'), name.split('_')];
  if (words.length > 1 && words.length === others.length) {
    return words.every((word, index) => nameDistance(word, others[index]!) === 1 || isNear(word, others[index]!));
  }
  const length = Math.min(maxNameChars, text.length, name.length);
  return nameDistance(text, name) * 3 <= length;
}

/** Returns a name in the form that messages have it: cut if it is long. */
export function shortName(name: string): string {
  return String(cutValue(name, maxNameChars));
}

/** Returns how unlike a text a name is: what is spelled alike comes after every name that contains the text, and `id` for `item_id`. */
function farness(name: string, text: string): number {
  const place = text.trim() === '' ? -1 : comparedPart(name).indexOf(comparedPart(text));
  const isLastWord = comparedPart(text).endsWith(`_${comparedPart(name)}`);
  const rank = isLastWord ? 1 : Math.min(place, 1);
  return nameDistance(name, text) + (rank === -1 ? 2 : rank) * maxNameChars;
}

function comparedPart(name: string): string {
  return name.slice(0, maxNameChars).toLowerCase();
}

/** Returns how many letters differ. Two that were typed in the wrong order count as one. */
function nameDistance(a: string, b: string): number {
  const [one, other] = [comparedPart(a), comparedPart(b)];
  const far = distance(one, other);
  return far === 2 && sortedLetters(one) === sortedLetters(other) ? 1 : far;
}

function sortedLetters(text: string): string {
  return [...text].sort().join('');
}
