import { distance } from 'fastest-levenshtein';

const maxNearest = 3;
/** Characters that are compared; the time grows with the product of both lengths. */
const maxChars = 256;

/** Returns the entries of which a name is spelled most like a text, the nearest first, whatever their case. */
export function nearest<Entry>(text: string, entries: readonly Entry[], namesOf: (entry: Entry) => string[]): Entry[] {
  const start = (name: string): string => name.slice(0, maxChars).toLowerCase();
  return entries
    .map((entry) => ({ entry, far: Math.min(...namesOf(entry).map((name) => distance(start(name), start(text)))) }))
    .sort((a, b) => a.far - b.far)
    .slice(0, maxNearest)
    .map(({ entry }) => entry);
}

/** Returns whether a name is so near to a text that one may be meant by the other: at most a third differs. */
export function isNear(text: string, name: string): boolean {
  return distance(text.slice(0, maxChars), name.slice(0, maxChars)) * 3 <= Math.max(text.length, name.length);
}
